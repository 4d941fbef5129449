"""Sort names by letters without accents, as the root of the CLDR's collation, and by a language's own letters.
The whole Unicode collation algorithm needs ICU: its bindings have to be compiled, or bring 40 MB for a list's order."""

from engine.spelling import composed, folded

_AFTER = "\U0010ffff"  # sorts a letter behind all words that go on after its base
_OWN_LETTERS = {  # by language: a letter, and the one that it follows
    "tr": {"ç": "c", "ğ": "g", "ı": "h", "ö": "o", "ş": "s", "ü": "u"},  # noqa: RUF001
    "es": {"ñ": "n"},
}
_TURKISH_CAPITALS = str.maketrans({"I": "ı", "İ": "i"})  # noqa: RUF001


def sort_key(name: str, code: str) -> tuple[str, str]:
    """Return what to sort a name by in a language.

    >>> sorted(["Zoe", "Ömer", "Oya", "Ozan"], key=lambda name: sort_key(name, "de"))
    ['Ömer', 'Oya', 'Ozan', 'Zoe']
    >>> sorted(["Zoe", "Ömer", "Oya", "Ozan"], key=lambda name: sort_key(name, "tr"))
    ['Oya', 'Ozan', 'Ömer', 'Zoe']
    """
    own = _OWN_LETTERS.get(code, {})
    text = composed(name)
    text = text.translate(_TURKISH_CAPITALS) if code == "tr" else text
    letters = (own[sign] + _AFTER if sign in own else folded(sign) for sign in text.lower())
    return "".join(letters), name
