"""Names in any script: composed when they come in, shown as typed, found without regard to case and accents.

And paths, as people paste them.
"""

import os
import re
import socket
import unicodedata
from collections.abc import Collection
from difflib import get_close_matches
from urllib.parse import unquote

from engine.errors import SettingsError
from engine.texts import tr

# letters that Unicode does not take apart, though people type them without their mark
_PLAIN = str.maketrans(
    {"æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ـ": ""}  # noqa: RUF001
)
_QUOTED = {'"': '"', "'": "'", "“": "”", "„": "“", "‘": "’", "«": "»"}  # noqa: RUF001
# spaces, and the signs for the direction of a script, which file managers copy along
_AROUND = " \t\r\n\f\v\u00a0\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff"
_ESCAPED = re.compile(r"\\(\W)")
_FILE_SCHEME = "file:"
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


def pasted_path(text: str) -> str:
    r"""Return the path that a text means, as terminals, file managers and browsers give it to be pasted.

    What is there is meant as it stands. Otherwise spaces and quotes around it are left out, a file:// address is the
    path in it, and what a shell has escaped is itself. ~ is the user's folder, as in a shell. Raises SettingsError for
    the address of a file on another machine.

    >>> pasted_path("'/songs/a b.wav' "), pasted_path("file:///songs/a%20b.wav"), pasted_path("/songs/a\\ b.wav")
    ('/songs/a b.wav', '/songs/a b.wav', '/songs/a b.wav')
    """
    reading = os.path.expanduser(text)  # noqa: PTH111 - a user who is not there is left for whoever opens the path
    for change in (_stripped, _unquoted, _stripped, _located, os.path.expanduser, _unescaped):
        if os.path.lexists(reading):
            return reading
        reading = change(reading)
    spelled = (reading, composed(reading), unicodedata.normalize("NFD", reading))
    return next(filter(os.path.lexists, spelled), reading)


def _stripped(text: str) -> str:
    return text.strip(_AROUND)


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and _QUOTED.get(text[0]) == text[-1] else text


def _located(text: str) -> str:
    """Return the path of a file URI (RFC 8089); other texts as they are."""
    if text[: len(_FILE_SCHEME)].lower() != _FILE_SCHEME:
        return text
    path = text[len(_FILE_SCHEME) :]
    if path.startswith("//"):
        host, slash, path = path[2:].partition("/")
        if host.lower() not in ("", "localhost", socket.gethostname().lower()):
            raise SettingsError(tr("{address} is on another machine: copy the file to this one.", address=text))
        path = slash + path
    if os.name != "nt":
        return unquote(path, errors="surrogateescape")
    from urllib.request import url2pathname  # brings all that calls over a network

    return url2pathname(path)


def _unescaped(text: str) -> str:
    return text if os.sep == "\\" else _ESCAPED.sub(r"\1", text)
