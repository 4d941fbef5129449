"""Files of chunks (WAV, RF64, AIFF, CAF, W64): where each lies, and where the sound in one of them really ends.

Recorders that were killed, and counts modulo 2**32, leave a size that is too small, or none. What follows the stated
end is then sound too, unless it is chunks, tags, text or zeros. RIFF: Microsoft and IBM, 1991; RF64: EBU Tech 3306;
AIFF: Apple, 1989; CAF: Apple, 2011; W64: Sonic Foundry.
"""

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from engine.framing.remainders import is_filling, without_tags

STREAMING_SIZES = {0, 0x7FFF_F000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF, 2**64 - 1}  # "unknown", as written by pipes
SOUND = (b"data", b"SSND")
MOST_CHUNKS = 10_000  # on either side of the sound
_SEARCHED = 1 << 18  # bytes at the end of a file in which its last chunks are looked for
_MOST_TRIES = 20
_NAMES = (
    b"LIST id3  ID3  bext iXML cue  smpl inst JUNK junk PAD  FLLR filr _PMX acid strc afsp C2PA umid link axml chna "
    b"levl dbmd aXML fact PEAK plst note cart DISP bxml sxml LGWV SNDM AFAn COMM NAME AUTH (c)  ANNO MARK INST APPL "
    b"COMT MIDI AESD SAXL CHAN BASC info strg mark regn midi ovvw peak edct uuid free pakt kuki chan list"
)
KNOWN = frozenset(_NAMES[place : place + 4] for place in range(0, len(_NAMES), 5))
_ANY_KNOWN = re.compile(b"|".join(map(re.escape, sorted(KNOWN))))


@dataclass(frozen=True)
class Layout:
    """Chunks of a container: where the first one lies, name and size, what they are padded to, bytes of both if they
    count, and bytes of the sound's chunk ahead of the sound."""

    first: int
    header: str
    aligned: int
    counted: int = 0
    lead: int = 0

    @property
    def width(self) -> int:
        """Bytes of a name and a size."""
        return struct.calcsize(self.header)

    @property
    def is_narrow(self) -> bool:
        """Whether sizes have 32 bits."""
        return self.header.endswith("I")


LAYOUTS = {
    "wav": Layout(12, "<4sI", 2),
    "aiff": Layout(12, ">4sI", 2, lead=8),
    "caf": Layout(8, ">4sQ", 1, lead=4),
    "w64": Layout(40, "<16sQ", 8, 24),
}


@dataclass(frozen=True)
class Chunk:
    """name: its first four letters; body, size: where its content lies; next: where the next chunk begins."""

    name: bytes
    body: int
    size: int
    next: int


@dataclass(frozen=True)
class ChunkedFile:
    """The chunks of a file. first, stop: where its sound begins and ends; is_longer: whether that is behind the end
    that the header states, which is wrong then; is_cut: whether it would be behind the end of the file.
    """

    others: tuple[Chunk, ...]
    sound: Chunk | None = None
    first: int = 0
    stop: int = 0
    is_longer: bool = False
    is_cut: bool = False
    _named: dict[bytes, Chunk] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for chunk in reversed(self.others):
            self._named[chunk.name] = chunk

    def chunk(self, name: bytes) -> Chunk | None:
        """Return the first chunk of this name."""
        return self._named.get(name)


def read_chunks(file: BinaryIO, start: int, length: int, container: str) -> ChunkedFile:
    """Find the chunks of a file and the end of its sound, in time that grows with the chunks alone.

    start: where the container begins; length: of the file. Without sound in MOST_CHUNKS chunks, `sound` is None.
    """
    layout = LAYOUTS[container]
    before: list[Chunk] = []
    for chunk in iterate(file, start + layout.first, length, layout):
        if chunk.name in SOUND:
            size = _long_size(file, before) if chunk.size == 0xFFFF_FFFF else chunk.size
            break
        before.append(chunk)
    else:
        return ChunkedFile(tuple(before))
    first, stated = chunk.body + layout.lead, chunk.body + size
    if size not in STREAMING_SIZES and stated > length:
        return ChunkedFile(tuple(before), chunk, first, stated, is_cut=True)
    frame = _frame_bytes(file, container, before)
    if size in STREAMING_SIZES:
        stop, is_longer = _stop_of_unstated(file, first, length, layout), False
    else:
        stop = _stop(file, stated, chunk.next, length, layout, frame)
        is_longer = stop > stated
    if stop != stated:
        stop = first + max(0, stop - first) // frame * frame
    others = (*before, *_behind(file, stop, length, layout))
    return ChunkedFile(others, chunk, first, stop, is_longer)


def iterate(file: BinaryIO, place: int, length: int, layout: Layout) -> Iterator[Chunk]:
    """Yield at most MOST_CHUNKS chunks from a place on."""
    header = struct.Struct(layout.header)
    for _ in range(MOST_CHUNKS):
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
        yield Chunk(name[:4], body, size, place)


def _is_padded(file: BinaryIO, place: int) -> bool:
    """Return whether a byte of padding lies here, and no name of a chunk."""
    file.seek(place)
    name = file.read(4)
    return not (len(name) == 4 and _is_name(name))


def _is_name(letters: bytes) -> bool:
    return all(0x20 <= byte < 0x7F for byte in letters)


def _long_size(file: BinaryIO, before: list[Chunk]) -> int:
    """Return the size of the sound in a file with one of 64 bits; that it is not stated, without."""
    wide = next((chunk for chunk in before if chunk.name == b"ds64" and chunk.size >= 16), None)
    if wide is None:
        return 0xFFFF_FFFF
    file.seek(wide.body + 8)
    size = int.from_bytes(file.read(8), "little")
    return size if 0 < size < 2**63 else 0xFFFF_FFFF


def _frame_bytes(file: BinaryIO, container: str, before: list[Chunk]) -> int:
    """Return the bytes of a sample of all channels, or of a block; 1 where that is not known."""
    kind = {"aiff": b"COMM", "caf": b"desc"}.get(container, b"fmt ")
    form = next((chunk for chunk in before if chunk.name == kind), None)
    if form is None:
        return 1
    file.seek(form.body)
    content = file.read(32).ljust(32, b"\0")
    if container == "caf":
        return max(1, int.from_bytes(content[16:20]))
    if container == "aiff":
        return max(1, int.from_bytes(content[:2]) * -(-int.from_bytes(content[6:8]) // 8))
    return max(1, int.from_bytes(content[12:14], "little"))


# ---- where the sound ends ----


def _stop_of_unstated(file: BinaryIO, first: int, length: int, layout: Layout) -> int:
    """Return where sound ends whose size was never written."""
    if _is_chunk(file, first, length, layout):
        return first
    return _last_chunks(file, first, without_tags(file, first, length), layout)


def _stop(file: BinaryIO, stated: int, aligned: int, length: int, layout: Layout, frame: int) -> int:
    """Return where sound ends: at the stated end, unless more sound follows."""
    if length - stated < frame or any(_is_chunk(file, place, length, layout) for place in {aligned, stated}):
        return stated
    end = without_tags(file, stated, length)
    if layout.is_narrow:
        for stop in range(stated + (1 << 32), end + 1, 1 << 32):  # a size modulo 2**32
            if end - stop < 2 or any(_is_chunk(file, place, length, layout) for place in (stop, stop + stop % 2)):
                return stop
    end = _last_chunks(file, stated, end, layout)
    return stated if end - stated < frame or is_filling(file, stated, end) else end


def _behind(file: BinaryIO, stop: int, length: int, layout: Layout) -> Iterator[Chunk]:
    """Yield the chunks behind the sound, perhaps behind padding."""
    if length - stop < layout.width:
        return
    for place in (stop + -stop % layout.aligned, stop):
        if _is_chunk(file, place, length, layout):
            yield from iterate(file, place, length, layout)
            return
    end = without_tags(file, stop, length)
    yield from iterate(file, _last_chunks(file, stop, end, layout), end, layout)


def _is_chunk(file: BinaryIO, place: int, length: int, layout: Layout) -> bool:
    """Return whether a chunk begins here: one of a known name, or any that fits into the file."""
    chunk = next(iterate(file, place, length, layout), None)
    return chunk is not None and _is_name(chunk.name) and (chunk.name in KNOWN or chunk.body + chunk.size <= length)


def _last_chunks(file: BinaryIO, start: int, stop: int, layout: Layout) -> int:
    """Return where the chunks begin that end exactly at `stop`; `stop` if there are none, or only large ones."""
    low = max(start, stop - _SEARCHED)
    file.seek(low)
    content = file.read(stop - low)
    for number, match in enumerate(_ANY_KNOWN.finditer(content)):
        if number == _MOST_TRIES:
            break
        place = low + match.start()
        for chunk in iterate(file, place, stop, layout):
            if not _is_name(chunk.name) or chunk.body + chunk.size > stop:
                break
            if chunk.next >= stop:
                return place
    return stop
