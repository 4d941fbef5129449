"""Parts of a file, and bytes between them, as a file for FFmpeg: so it sees only what has been looked at before."""

import io
from collections.abc import Sequence
from typing import BinaryIO

Part = tuple[int, int] | bytes  # the first byte of a file, and the one after the last; or bytes that it does not have


def length_of(part: Part) -> int:
    """Return the bytes of a part."""
    return len(part) if isinstance(part, bytes) else part[1] - part[0]


class Spliced:
    """Parts of a file, one after the other, as a file for FFmpeg."""

    def __init__(self, file: BinaryIO, parts: Sequence[Part]) -> None:
        self._file, self._parts = file, parts
        self._length = sum(map(length_of, parts))
        self._place = 0

    def read(self, count: int) -> bytes:
        """Return the next bytes: fewer at the end of a part, none after the last."""
        passed = self._place
        for part in self._parts:
            length = length_of(part)
            if passed < length:
                content = self._read_of(part, passed, min(count, length - passed))
                self._place += len(content)
                return content
            passed -= length
        return b""

    def _read_of(self, part: Part, first: int, count: int) -> bytes:
        if isinstance(part, bytes):
            return part[first : first + count]
        self._file.seek(part[0] + first)
        return self._file.read(count)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move as a file does."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._length}[whence]
        self._place = max(0, base + offset)
        return self._place

    def tell(self) -> int:
        """Return the position."""
        return self._place
