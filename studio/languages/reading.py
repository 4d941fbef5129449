"""The language of whoever reads what is made now: of a visitor of the page, or of the terminal."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from studio.languages.known import ENGLISH

_READER: ContextVar[str] = ContextVar("reader", default=ENGLISH)


def reader_language() -> str:
    return _READER.get()


@contextmanager
def read_in(code: str) -> Iterator[None]:
    """Let texts be said in this language meanwhile, in the threads too that are given this context."""
    before = _READER.set(code)
    try:
        yield
    finally:
        _READER.reset(before)


def said(value: object) -> str:
    """Return a text or a number in the reader's language; other strings as they are."""
    from studio.languages.translation import translator  # Babel takes a moment to load

    return translator(_READER.get()).say(value)
