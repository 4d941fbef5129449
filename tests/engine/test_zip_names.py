import struct
import zipfile
import zlib
from pathlib import PurePosixPath

import pytest
from babel import Locale

from engine.archives import extract_archive
from engine.zip_names import guess_code_page, names_of

NAMES = {
    "cp932": (
        "歌声1 歌声2 ソ表 新しい録音 テスト ボーカル素材 本番テイク ナレーション "
        "夜に駆ける 紅蓮華 荒城の月 母音 裏声 完成版 能力 鈴木"
    ),
    "gbk": (
        "录音一 录音二 人声 清唱 主唱 伴奏 测试 男声 朗读 "
        "月亮代表我的心 小苹果 说话 训练素材 片段 我的声音 高音 普通话 晴天"
    ),
    "cp950": (
        "錄音一 錄音二 人聲 清唱 主唱 伴奏 測試 男聲 朗讀 "
        "月亮代表我的心 青花瓷 告白氣球 說話 訓練素材 片段 我的聲音 高音 國語"
    ),
    "cp949": (
        "녹음1 노래 목소리 보컬 테스트 연습 남자 샘플 음성 낭독 "
        "내레이션 최종 아리랑 봄날 밤편지 독창 김철수 대사 한국어 모음"
    ),
    "cp866": (
        "Запись_1 голос вокал Песня_про_зайцев тест дубль Катюша "
        "Калинка речь Новая_запись микрофон романс Анна колыбельная"
    ),
    "cp1251": (
        "Запись_1 голос вокал Песня_про_зайцев тест дубль Катюша Калинка речь Новая_запись микрофон романс колыбельная"
    ),
    "cp850": (
        "Größe Übung Männerstimme Köln Straße chanson_été voix_féminine "
        "Noël garçon Canción niño coração Åse Sång_på_svenska"
    ),
    "cp437": ("Größe Übung Männerstimme Straße chanson_été garçon théâtre Canción niño Björn città ñandú FRÜHLING"),
}


@pytest.mark.parametrize("page", NAMES)
@pytest.mark.parametrize("together", [1, 2, 5])
def test_guess_code_page_makes_names_of_recordings_readable(page, together):
    names = [f"{name}.wav" for name in NAMES[page].split()]
    for start in range(len(names) - together + 1):
        group = [name.encode(page) for name in names[start : start + together]]
        if not all(name.isascii() for name in group):
            found = guess_code_page(group)
            assert [name.decode(found) for name in group] == names[start : start + together]


@pytest.mark.parametrize(
    ("page", "language", "least"),
    [
        *(("cp932", "ja", 0.99), ("gbk", "zh_Hans", 0.95), ("cp950", "zh_Hant", 0.99), ("cp949", "ko", 0.95)),
        *(("cp866", "ru", 0.99), ("cp1251", "ru", 0.99), ("cp850", "fr", 0.97), ("cp850", "pt", 0.95)),
        ("cp852", "pl", 0.95),
    ],
)
def test_guess_code_page_reads_most_pairs_of_names_it_was_not_made_with(page, language, least):
    places = [name for name in Locale.parse(language).territories.values() if not name.isascii()]
    names = [one.encode(page) for one in places if one.encode(page, "ignore").decode(page) == one]
    pairs = list(zip(names[::2], names[1::2], strict=False))
    right = [all(one.decode(guess_code_page(pair)) == one.decode(page) for one in pair) for pair in pairs]
    assert len(pairs) > 20
    assert sum(right) / len(pairs) >= least


def old_zip(names, extra=b""):
    """A ZIP of old programs: names in bytes, without the flag of UTF-8."""
    content, listing = b"", b""
    for name in names:
        crc, size = zlib.crc32(name), len(name)
        facts = struct.pack("<HHIIIHH", 0, 0x5A21, crc, size, size, size, len(extra))
        start, content = len(content), content + b"PK\3\4" + struct.pack("<HHH", 20, 0, 0) + facts + name + extra + name
        listing += b"PK\1\2" + struct.pack("<HHHH", 20, 20, 0, 0) + facts
        listing += struct.pack("<HHHII", 0, 0, 0, 0, start) + name + extra
    count = len(names)
    return content + listing + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, count, count, len(listing), len(content), 0)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        *(("cp932", ["歌声1.wav", "歌声2.wav", "ソ表.wav"]), ("cp866", ["Запись 1.wav", "Запись 2.wav"])),
        *(("gbk", ["录音一.wav", "录音二.wav"]), ("cp850", ["Größe.wav"]), ("utf-8", ["歌声/ソ.wav", "Größe.wav"])),
    ],
)
def test_extract_archive_reads_names_in_the_code_page_of_their_owner(tmp_path, page, names):
    """The second byte of some characters is a backslash in cp932: it does not part folders."""
    (tmp_path / "a.zip").write_bytes(old_zip([name.encode(page) for name in names]))
    assert extract_archive(tmp_path / "a.zip", tmp_path / "new") == [PurePosixPath(name) for name in names]
    for name in names:
        assert (tmp_path / "new" / name).read_bytes() == name.encode(page)


def entry(written, extra=b""):
    made = zipfile.ZipInfo("x")
    made.orig_filename, made.extra = written.decode("cp437"), extra
    return made


def test_names_of_takes_the_unicode_path_of_the_same_name():
    written = "Запись.wav".encode("cp866", "replace")
    stated = struct.pack("<BL", 1, zlib.crc32(written)) + "歌.wav".encode()
    field = struct.pack("<HH", 0x7075, len(stated)) + stated
    other = struct.pack("<HH", 0x5455, 1) + b"\3"
    assert names_of([entry(written, other + field)]) == ["歌.wav"]
    assert names_of([entry(b"renamed.wav", field)]) == ["renamed.wav"]  # the field is of the name before
    assert names_of([entry(written, field[:7])]) == ["Запись.wav"]
