"""The outer structure of audio files, which FFmpeg reads leniently: whether they are whole, and which parts to decode.

A recording that was cut off must be refused, not read as a shorter one; sizes that a pipe or an interrupted recorder
left open must not.
"""

import io
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.audio.containers import Container
from engine.errors import AudioError
from engine.files import shown_name
from engine.texts import numeral, tr

Part = tuple[int, int]  # the first byte, and the one after the last

STREAMING_SIZES = {0, 0x7FFF_F000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**64 - 1}  # "unknown", as written by pipes
_MOST_CHUNKS = 10_000  # scanned before giving up: zeros would parse as endless empty chunks
_MOST_LINKS = 1_000  # of an Ogg
_MOST_BLOCKS = 1_000_000  # of a WebM without sizes: 16 hours, as browsers record it
_SEGMENT, _CLUSTER = 0x18538067, 0x1F43B675  # of a WebM, which holds them in this order


@dataclass(frozen=True)
class _Layout:
    """Chunks: where the first one lies, name and size, what they are padded to, and bytes of both if they count."""

    first: int
    header: str
    aligned: int
    counted: int = 0


_LAYOUTS = {
    "wav": _Layout(12, "<4sI", 2),
    "aiff": _Layout(12, ">4sI", 2),
    "caf": _Layout(8, ">4sQ", 1),
    "w64": _Layout(40, "<16sQ", 8, 24),
}
_NARROW = ("wav", "aiff")  # whose sizes have 32 bits


def parts_of(path: Path, container: Container, start: int) -> list[list[Part]]:
    """Return the recordings in a file, each as the parts of the file that hold it: several only in a chained Ogg.

    Raises AudioError if the file is shorter than its structure says, or holds no sound.
    """
    length = path.stat().st_size
    with path.open("rb") as file:
        if container.name == "ogg":
            return [[link] for link in _ogg_links(path, file, start, length)]
        if container.name == "matroska":
            _refuse_cut_webm(path, file, start, length)
        if container.name in _LAYOUTS:
            return [_chunked_parts(path, file, start, length, container.name)]
    return [[(start, length)]]


def truncated(path: Path) -> AudioError:
    """Return the error for a file that ends before the length in its header."""
    return AudioError(tr('"{name}" is incomplete: it is shorter than its header says.', name=shown_name(path)))


def no_sound(path: Path) -> AudioError:
    """Return the error for a file without samples."""
    return AudioError(tr('"{name}" holds no audio (0 samples).', name=shown_name(path)))


def damaged(path: Path) -> AudioError:
    """Return the error for a file that cannot be decoded from beginning to end."""
    return AudioError(tr('"{name}" is damaged or incomplete.', name=shown_name(path)))


def changes(path: Path) -> AudioError:
    """Return the error for a file whose parts do not fit together."""
    return AudioError(tr(
        '"{name}" changes its sample rate or number of channels midway: export it as WAV or FLAC.',
        name=shown_name(path),
    ))


class Spliced:
    """Parts of a file, one after the other, as a file for FFmpeg."""

    def __init__(self, file: BinaryIO, parts: list[Part]) -> None:
        self._file, self._parts = file, parts
        self._length = sum(stop - start for start, stop in parts)
        self._place = 0

    def read(self, count: int) -> bytes:
        """Return the next bytes: fewer at the end of a part, none after the last."""
        passed = self._place
        for start, stop in self._parts:
            if passed < stop - start:
                self._file.seek(start + passed)
                content = self._file.read(min(count, stop - start - passed))
                self._place += len(content)
                return content
            passed -= stop - start
        return b""

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move as a file does."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._length}[whence]
        self._place = max(0, base + offset)
        return self._place

    def tell(self) -> int:
        """Return the position."""
        return self._place


# ---- chunks: WAV, AIFF, CAF, W64 ----


def _chunked_parts(path: Path, file: BinaryIO, start: int, length: int, name: str) -> list[Part]:
    """Check the chunk with the samples; leave out chunks that lack their padding, where FFmpeg gets lost."""
    file.seek(start + 4)
    outer = int.from_bytes(file.read(4), "little")  # of a WAV
    parts: list[Part] = []
    kept, long_size = start, 0
    for chunk, body, size, stop in _chunks(file, start, length, _LAYOUTS[name]):
        if chunk == b"ds64" and size >= 16:
            file.seek(body + 8)
            long_size = int.from_bytes(file.read(8), "little")
        if chunk in (b"data", b"SSND"):
            size = long_size if size == 0xFFFF_FFFF and 0 < long_size < 2**63 else size
            if name == "wav" and size == 0 and body <= start + 8 + outer <= length:
                raise no_sound(path)
            if size not in STREAMING_SIZES and body + size > length:
                raise truncated(path)
            return [*parts, (kept, length)]
        if name in _NARROW and stop == body + size and size % 2:
            parts, kept = [*parts, (kept, body - 8)], stop
    return [(start, length)]


def _chunks(file: BinaryIO, start: int, length: int, layout: _Layout) -> Iterator[tuple[bytes, int, int, int]]:
    """Yield the first letters of a chunk's name, where its body begins, its size, and where the next chunk begins."""
    header = struct.Struct(layout.header)
    place = start + layout.first
    for _ in range(_MOST_CHUNKS):
        if place > length:
            return
        file.seek(place)
        read = file.read(header.size)
        if len(read) < header.size:
            return
        name, size = header.unpack(read)
        body, size = place + header.size, size if size in STREAMING_SIZES else max(0, size - layout.counted)
        place = body + size + -size % layout.aligned
        if layout.aligned == 2 and size % 2 and not _is_padded(file, body + size):
            place = body + size
        yield name[:4], body, size, place


def _is_padded(file: BinaryIO, place: int) -> bool:
    """Return whether a byte of padding lies here, and no name of a chunk."""
    file.seek(place)
    name = file.read(4)
    return not (len(name) == 4 and all(0x20 <= byte < 0x7F for byte in name))


# ---- pages: Ogg ----


def _ogg_links(path: Path, file: BinaryIO, start: int, length: int) -> list[Part]:
    """Return the links of a chain (RFC 3533): a first page of a stream after another that is none begins one."""
    starts, was_first, place = [], False, start
    while place < length:
        file.seek(place)
        header = file.read(27)
        if header[:4] != b"OggS":  # damage, or old tags: for the decoder to judge
            break
        table = file.read(header[26]) if len(header) == 27 else b""
        if len(header) < 27 or len(table) < header[26] or place + 27 + len(table) + sum(table) > length:
            raise truncated(path)
        is_first = bool(header[5] & 2)
        if is_first and not was_first:
            starts.append(place)
        was_first, place = is_first, place + 27 + len(table) + sum(table)
    if len(starts) > _MOST_LINKS:
        raise AudioError(tr(
            '"{name}" is a chain of more than {most_links} recordings: split it.',
            name=shown_name(path), most_links=numeral(_MOST_LINKS, ","),
        ))
    starts = starts or [start]
    return list(zip(starts, [*starts[1:], length], strict=True))


# ---- elements: WebM, Matroska ----


def _refuse_cut_webm(path: Path, file: BinaryIO, start: int, length: int) -> None:
    """Raise AudioError if an element reaches beyond the file. Browsers record without the sizes of the outer elements;
    then the blocks in them are followed."""
    for _ in range(_MOST_BLOCKS):
        if start >= length:
            break
        file.seek(start)
        (name, name_bytes), (size, size_bytes) = _ebml_number(file), _ebml_number(file)
        if not (name_bytes and size_bytes):
            if file.tell() >= length:  # its header is cut off
                raise truncated(path)
            return  # no element: for the decoder to judge
        size -= 1 << 7 * size_bytes  # the bit that marks the width
        is_unknown = size == (1 << 7 * size_bytes) - 1
        start = file.tell() + (0 if is_unknown and name in (_SEGMENT, _CLUSTER) else size)
    if start > length:
        raise truncated(path)


def _ebml_number(file: BinaryIO) -> tuple[int, int]:
    """Return a number with the bit that marks its width, and its width in bytes; 0 bytes if there is none."""
    first = file.read(1)
    width = 9 - first[0].bit_length() if first and first[0] else 0
    rest = file.read(max(0, width - 1))
    return (0, 0) if len(rest) < width - 1 else (int.from_bytes(first + rest), width)
