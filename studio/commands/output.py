"""Standard output and standard error as they are: of any encoding, and maybe full or closed."""

import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, TextIO

from engine.texts import tr
from studio.commands.wording import say

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _OutputError(OSError):
    """What an output stream raised, and no other file."""


class _Raw(io.FileIO):
    """An output stream whose errors are known from those of other files."""

    def write(self, data: "ReadableBuffer", /) -> int:
        try:
            return super().write(data)
        except OSError as cause:
            raise _OutputError(cause.errno, cause.strerror) from cause


@contextmanager
def writable_output() -> Iterator[None]:
    """Replace characters that the terminal cannot show; end in one sentence where nothing can be written.
    A pipe whose reader has left ends the command without a word."""
    sys.stdout, sys.stderr = _lenient(sys.stdout), _lenient(sys.stderr)
    try:
        try:
            yield
        finally:
            for stream in filter(None, (sys.stdout, sys.stderr)):
                stream.flush()
    except _OutputError as cause:
        if cause.errno != errno.EPIPE:
            with suppress(OSError):  # standard error may be full too
                say(tr("The output cannot be written ({strerror}): write it somewhere else.", strerror=cause.strerror))
        for stream in filter(None, (sys.stdout, sys.stderr)):
            _discard(stream)
        raise SystemExit(1) from cause


def _lenient(stream: TextIO) -> TextIO:
    """Return a stream of the process that replaces what its encoding lacks; others, as those of tests, as they are."""
    if not isinstance(stream, io.TextIOWrapper) or not isinstance(
        getattr(stream.buffer, "raw", stream.buffer), io.FileIO
    ):
        return stream
    stream.flush()
    # UTF-8 can show all but what is no character: bytes of file names, which a script wants back
    errors = "surrogateescape" if stream.encoding.lower() == "utf-8" else "replace"
    raw = _Raw(stream.fileno(), "wb", closefd=False)
    return io.TextIOWrapper(
        io.BufferedWriter(raw),
        stream.encoding,
        errors,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _discard(stream: TextIO) -> None:
    """Send what a stream still holds nowhere, so that Python does not complain about it at the end."""
    with suppress(OSError, ValueError):
        stream.flush()
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
