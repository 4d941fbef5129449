"""Names of the files in a ZIP, whose code page old programs of Windows do not state.

Names are UTF-8 where the flag says so, where an extra field gives them so (Info-ZIP, Unicode Path), and where all of
them can be. Else the code page is guessed: each is a model of how names in it look, by the bits that they take. Letters
cost as much as they are rare in the language, characters of Chinese, Japanese and Korean by the level of their
standard, and what hardly occurs in a name (box drawing, fractions, a capital inside a word, an accent beside a Chinese
character) more. The cheapest wins. All names of an archive count together, since one alone is short.
"""

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import log2

_UTF8_NAME = 0x800
_UNICODE_PATH = 0x7075
_UNSTATED = "cp437"  # as zipfile reads what is not UTF-8
_Bits = Callable[[str, bytes], float]  # of a character, and how it is written
_ODD = 18.0  # bits of a character that hardly occurs in a name
_BREAK = 7.0  # between two characters that hardly stand side by side
_FREQUENT = 7.0  # of a frequent character
# by frequency in texts, most frequent first
_LATIN = "éäöüáíóßèçñãåàúêøæâõôîìùûòëï"
_CENTRAL = "łáéóíśęąěýčřšžżćńúůöźüőťňďűäôâđ"
_CYRILLIC = "оеаинтсрвлкмдпуяыьгзбчйхжшюцщэфёъ"
# frequent characters, and those of the names of recordings
_JAPANESE = (
    "日一人年大十二本中長出三時行見月分後前生五間上東四今金九入学高円子外八六下来気小七山話女北午百書先名川千水半男西電"
    "校語土木聞食車何南万毎白天母火右読友左休父雨声音歌録唱曲練習新夜春桜城君番表演奏素材裏地宅版完成修正予備示能力鈴田村"
)
_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年过发后作里用道行所然家种事"
    "成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理心她本前开但因只从想实录音声歌唱曲伴奏测试男女朗读配月"
    "亮青花清干童高低话语训练素材数据段片第遍终版王李张伟明晴爱新"
)
_TRADITIONAL = (
    "的一是不了在人有我他這個們中來上大為和國地到以說時要就出會可也你對生能而子那得於著下自之年過發後作裡用道行所然家種事"
    "成方多經麼去法學如都同現當沒動面起看定天分還進好小部其些主樣理心她本前開但因只從想實錄音聲歌唱曲伴奏測試男女朗讀配月"
    "亮青花清乾童高低話語訓練素材資料訊段片第遍終版王李張偉明晴愛新"
)
_KOREAN = (
    "이다에의는로하을가고지서한은기으년대사시를리도인스일나자어라아들해여정부수전제구게보음노래목소컬녹새테트연습남샘플성낭독"
    "레션터최종본봄날랑좋밤편너창크원김박영대더빙말국발모첫두번째마우주상동장오그문진세경위만있것조요바신민선학안용무방공생과"
)


@dataclass(frozen=True)
class _CodePage:
    """A code page: the bits of a character, which pairs of them break a word, and bits for being less common."""

    name: str
    bits: _Bits
    breaks: Callable[[str, str], bool]
    prior: float = 0.0


def names_of(entries: Sequence[zipfile.ZipInfo]) -> list[str]:
    """Return the names of these entries as their owner wrote them.

    >>> one = zipfile.ZipInfo("Запись.wav".encode("cp866").decode("cp437"))
    >>> names_of([one])
    ['Запись.wav']
    """
    unstated = [None if _stated(one) else one.orig_filename.encode(_UNSTATED) for one in entries]
    page = guess_code_page([name for name in unstated if name is not None])
    return [
        _stated(one) or one.orig_filename if name is None else name.decode(page)
        for one, name in zip(entries, unstated, strict=True)
    ]


def guess_code_page(names: Sequence[bytes]) -> str:
    """Return the code page in which all of these names most probably are, as Python calls it.

    >>> guess_code_page(["Größe.wav".encode("cp850"), "Übung.wav".encode("cp850")])
    'cp437'
    """
    try:
        b"".join(names).decode()
    except UnicodeError:
        pass
    else:
        return "utf-8"  # macOS sets no flag
    costs = {page.name: cost for page in _PAGES if (cost := _cost(page, names)) is not None}
    return min(costs, key=costs.__getitem__)  # some read any bytes


def _stated(entry: zipfile.ZipInfo) -> str | None:
    """Return a name that is stated in UTF-8, by its flag or by the extra field for the name as it is written."""
    if entry.flag_bits & _UTF8_NAME:
        return entry.orig_filename
    written, extra = entry.orig_filename.encode(_UNSTATED), entry.extra
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<HH", extra)
        content, extra = extra[4 : 4 + length], extra[4 + length :]
        if kind == _UNICODE_PATH and content[:5] == struct.pack("<BL", 1, zlib.crc32(written)):
            return content[5:].decode(errors="replace")
    return None


def _cost(page: _CodePage, names: Iterable[bytes]) -> float | None:
    """Return the bits that these names cost in a code page; None if they cannot be in it."""
    cost = page.prior
    for name in names:
        try:
            characters = [(one, one.encode(page.name)) for one in name.decode(page.name)]
        except UnicodeError:
            return None
        cost += sum(page.bits(*one) for one in characters if not one[0].isascii())
        cost += sum(_BREAK for (one, _), (two, _) in pairwise(characters) if page.breaks(one, two))
    return cost


def _alphabet(letters: str) -> _Bits:
    """Return the bits of letters by their rank, which follow Zipf's law roughly; capitals cost two more."""
    ranked = {letter: 3.0 + log2(2.0 + rank) for rank, letter in enumerate(letters)}
    return lambda one, _: ranked.get(one) or 2.0 + ranked.get(one.lower(), _ODD)


def _levels(frequent: str, usual: Callable[[bytes], bool], size: int, kana: bool = False) -> _Bits:
    """Return the bits of characters of two bytes: frequent ones, the usual others (so many), the rest."""

    def bits(one: str, written: bytes) -> float:
        if one in frequent or (kana and "\u3041" <= one <= "\u30fc"):
            return _FREQUENT
        if len(written) == 1:  # half-width katakana
            return 0.7 * _ODD
        if not one.isalnum():
            return 2.0 * _ODD
        return log2(size) if usual(written) else _ODD

    return bits


def _breaks_latin(one: str, two: str) -> bool:
    """Whether two accents stand side by side, or a capital follows a small letter."""
    both = one.isalpha() and two.isalpha()
    return both and ((not one.isascii() and not two.isascii()) or (one.islower() and two.isupper()))


def _breaks_other(one: str, two: str) -> bool:
    """Whether a letter of another script stands beside one of ASCII, or a capital follows a small letter."""
    both = one.isalpha() and two.isalpha()
    return both and (one.isascii() != two.isascii() or (one.islower() and two.isupper()))


def _within(first: int, last: int, trail: int = 0) -> Callable[[bytes], bool]:
    return lambda written: first <= written[0] <= last and written[1] >= trail


_PAGES = (
    _CodePage("cp437", _alphabet(_LATIN), _breaks_latin),
    _CodePage("cp850", _alphabet(_LATIN), _breaks_latin, 0.1),
    _CodePage("cp852", _alphabet(_CENTRAL), _breaks_latin, 1.0),
    _CodePage("cp1252", _alphabet(_LATIN), _breaks_latin, 2.0),
    _CodePage("cp1250", _alphabet(_CENTRAL), _breaks_latin, 3.0),
    _CodePage("cp866", _alphabet(_CYRILLIC), _breaks_other),
    _CodePage("cp1251", _alphabet(_CYRILLIC), _breaks_other, 2.0),
    # the first levels of JIS X 0208, GB 2312 and Big5, and the syllables of KS X 1001, of which few are in use
    _CodePage("cp932", _levels(_JAPANESE, _within(0x88, 0x98), 2_965, kana=True), _breaks_other),
    _CodePage("gbk", _levels(_SIMPLIFIED, _within(0xB0, 0xD7, 0xA1), 3_755), _breaks_other),
    _CodePage("cp950", _levels(_TRADITIONAL, _within(0xA4, 0xC6), 5_401), _breaks_other),
    _CodePage("cp949", _levels(_KOREAN, _within(0xB0, 0xC8, 0xA1), 4 * 2_350), _breaks_other),
)
