"""Names in any script: composed when they come in, shown as typed, found without regard to case and accents."""

import unicodedata
from collections.abc import Collection
from difflib import get_close_matches

# letters that Unicode does not take apart, though people type them without their mark
_PLAIN = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ـ": ""}  # noqa: RUF001
)
_PARTS_OF_LETTERS = (8, 9)  # combining classes of the voicing marks of kana, and of virama: without them, other words


def composed(text: str) -> str:
    """Return a text as it is kept: with composed letters (NFC), however the keyboard or the file system made them."""
    return unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """Return a text as searches compare it: without case, accents, points and widths of letters.

    >>> folded("GÖKHAN"), folded("Straße"), folded("İzmir"), folded("ﾊﾞｽ"), folded("مُغَنّي")
    ('gokhan', 'strasse', 'izmir', 'バス', 'مغني')
    """
    apart = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(sign for sign in apart if unicodedata.combining(sign) in (0, *_PARTS_OF_LETTERS))
    return composed(plain.casefold().translate(_PLAIN))


def nearest(word: str, words: Collection[str]) -> str | None:
    """Return the one of `words` that was probably meant; None if none is like it.

    >>> nearest("Likenes", ["likeness", "accent"]), nearest("pitch", ["likeness", "accent"])
    ('likeness', None)
    """
    by_plain = {folded(one): one for one in words}
    found = get_close_matches(folded(word), by_plain, n=1)
    return by_plain[found[0]] if found else None
