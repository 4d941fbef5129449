"""The place of a recording in a session: its time reference (EBU Tech 3285), its markers, and the names of its tracks.

A result has those of its recording, so that another program puts it where the recording was. They are read from WAV,
RF64 and W64, wherever in the file they lie, markers from AIFF too, and written into WAV.
"""

import struct
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from engine.audio.containers import look_at
from engine.audio.ixml import SessionSheet, read_sheet
from engine.framing.chunks import Chunk, ChunkedFile, read_chunks

_LARGEST = 1 << 20  # bytes of a chunk that is read
_MOST_MARKERS = 10_000
_BROADCAST = struct.Struct("<256s32s32s10s8sQH")
_LAST = 2**63
_ORIGINATOR = b"Timbre Studio"


@dataclass(frozen=True)
class Marker:
    """A marker, or a region of `length` samples. Texts are bytes as in the file, in its code page.

    - position: its sample in the file
    - label, note: its name, and a comment
    - length: samples of a region; 0 for a marker
    - purpose: four letters that say what a region is for
    """

    position: int
    label: bytes = b""
    note: bytes = b""
    length: int = 0
    purpose: bytes = b"rgn "


@dataclass(frozen=True)
class SessionPlace:
    """The position of a file in a session.

    - rate: samples per second that the other fields count in, in Hz
    - time_reference: the sample of the session at which the file begins, usually counted from midnight
    - markers: in the file
    - sheet: names of its tracks, scene and take
    - description, date, time: as in a bext chunk; empty if there is none

    Examples
    --------
    >>> SessionPlace(48_000, 96_000, (Marker(480),)).at(44_100).time_reference
    88200
    >>> SessionPlace(48_000, 96_000).from_sample(24_000).time_reference
    120000
    """

    rate: int
    time_reference: int | None = None
    markers: tuple[Marker, ...] = ()
    sheet: SessionSheet | None = None
    description: bytes = b""
    date: bytes = b""
    time: bytes = b""

    def at(self, rate: int) -> "SessionPlace":
        """Return the position counted at another rate in Hz, to within half a sample."""

        def scaled(samples: int) -> int:
            return (2 * samples * rate + self.rate) // (2 * self.rate)

        reference = None if self.time_reference is None else scaled(self.time_reference)
        markers = [replace(one, position=scaled(one.position), length=scaled(one.length)) for one in self.markers]
        return replace(self, rate=rate, time_reference=reference, markers=tuple(markers))

    def from_sample(self, first: int, count: int | None = None) -> "SessionPlace":
        """Return the position of a part, with the markers in it.

        It begins at the sample `first` of the file (negative: earlier than the file) and has `count` samples, or no
        end.
        """
        stop = _LAST if count is None else first + count
        reference = None if self.time_reference is None else max(0, self.time_reference + first)
        markers = [replace(one, position=one.position - first) for one in self.markers if first <= one.position <= stop]
        return replace(self, time_reference=reference, markers=tuple(markers))

    def broadcast_chunk(self) -> bytes:
        """Return the time reference as a bext chunk of a WAV (EBU Tech 3285); empty without one."""
        if self.time_reference is None:
            return b""
        content = _BROADCAST.pack(
            self.description, _ORIGINATOR, b"", self.date, self.time, min(self.time_reference, _LAST), 1
        )
        return _chunk(b"bext", content + bytes(254))

    def marker_chunks(self) -> bytes:
        """Return the chunks `iXML`, `cue ` and LIST of a WAV with the markers and the sheet, as far as there are
        any."""
        made = b""
        if self.sheet:
            made += _chunk(b"iXML", self.sheet.written(self.rate, self.time_reference))
        markers = [one for one in self.markers if 0 <= one.position < 2**32]
        if not markers:
            return made
        points = [
            struct.pack("<II4sIII", number, one.position, b"data", 0, 0, one.position)
            for number, one in enumerate(markers, 1)
        ]
        texts = b"".join(_texts_of(number, one) for number, one in enumerate(markers, 1))
        made += _chunk(b"cue ", struct.pack("<I", len(points)) + b"".join(points))
        return made + (_chunk(b"LIST", b"adtl" + texts) if texts else b"")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack("<4sI", name, len(content)) + content + bytes(len(content) % 2)


def _texts_of(number: int, marker: Marker) -> bytes:
    made = b""
    for name, text in ((b"labl", marker.label), (b"note", marker.note)):
        if text:
            made += _chunk(name, struct.pack("<I", number) + text + b"\0")
    if marker.length:
        made += _chunk(b"ltxt", struct.pack("<II4s8x", number, min(marker.length, 2**32 - 1), marker.purpose))
    return made


def append_place(path: Path, place: SessionPlace) -> None:
    """Append a place, counted at the file's rate, to a finished WAV, unless its size has more than 32 bits."""
    chunks = place.broadcast_chunk() + place.marker_chunks()
    with path.open("r+b") as file:
        is_riff, size = file.read(4) == b"RIFF", file.seek(0, 2)
        chunks = bytes(size % 2) + chunks
        if is_riff and size + len(chunks) <= 0xFFFF_FFFF:
            file.write(chunks)
            file.seek(4)
            file.write(struct.pack("<I", size + len(chunks) - 8))


# ---- in ----


def place_of(path: Path) -> SessionPlace | None:
    """Return the place of a file in its session; None for one that does not say, or cannot be read."""
    with suppress(OSError, ValueError):
        found = look_at(path)
        if found.container is not None and found.container.name in ("wav", "w64", "aiff"):
            with path.open("rb") as file:
                return _place_in(file, found.start, path.stat().st_size, found.container.name)
    return None


def _place_in(file: BinaryIO, start: int, length: int, container: str) -> SessionPlace | None:
    chunks = read_chunks(file, start, length, container)
    form = chunks.chunk(b"COMM" if container == "aiff" else b"fmt ")
    rate = 0 if form is None else _rate(_content(file, form), container)
    if rate <= 0:
        return None
    if container == "aiff":
        marks = chunks.chunk(b"MARK")
        markers = tuple(_marks(_content(file, marks))) if marks else ()
        return SessionPlace(rate, markers=markers) if markers else None
    chunk = chunks.chunk(b"iXML")
    sheet = read_sheet(_content(file, chunk)) if chunk else None
    place = replace(_broadcast(file, chunks, rate), markers=_markers(file, chunks), sheet=sheet)
    if place.time_reference is None and sheet and sheet.stamp:
        samples, counted = sheet.stamp
        place = replace(place, time_reference=SessionPlace(counted, samples).at(rate).time_reference)
    return None if place == SessionPlace(rate) else place


def _content(file: BinaryIO, chunk: Chunk) -> bytes:
    file.seek(chunk.body)
    return file.read(min(chunk.size, _LARGEST))


def _rate(form: bytes, container: str) -> int:
    if container != "aiff":
        return int.from_bytes(form[4:8], "little")
    exponent, mantissa = int.from_bytes(form[8:10]) - 16383 - 63, int.from_bytes(form[10:18])
    return mantissa >> -exponent if -63 <= exponent <= 0 else 0


def _broadcast(file: BinaryIO, chunks: ChunkedFile, rate: int) -> SessionPlace:
    chunk = chunks.chunk(b"bext")
    content = _content(file, chunk) if chunk else b""
    if len(content) < _BROADCAST.size:
        return SessionPlace(rate)
    description, _, _, date, time, reference, _ = _BROADCAST.unpack_from(content)
    plain = [text.partition(b"\0")[0] for text in (description, date, time)]
    return SessionPlace(rate, min(reference, _LAST), (), None, *plain)


def _markers(file: BinaryIO, chunks: ChunkedFile) -> tuple[Marker, ...]:
    cues = chunks.chunk(b"cue ")
    if cues is None:
        return ()
    content = _content(file, cues)
    points = {}
    for place in range(4, min(len(content), 4 + 24 * _MOST_MARKERS) - 23, 24):
        number, position, _, _, _, sample = struct.unpack_from("<II4sIII", content, place)
        points[number] = Marker(sample or position)
    for chunk in chunks.others:
        if chunk.name.upper() == b"LIST":
            for name, text in _inner(_content(file, chunk)):
                number = int.from_bytes(text[:4], "little")
                if number in points:
                    points[number] = _with_text(points[number], name, text[4:])
    return tuple(sorted(points.values(), key=lambda one: one.position))


def _with_text(marker: Marker, name: bytes, content: bytes) -> Marker:
    if name == b"labl":
        return replace(marker, label=content.partition(b"\0")[0])
    if name == b"note":
        return replace(marker, note=content.partition(b"\0")[0])
    if name == b"ltxt" and len(content) >= 8:
        return replace(marker, length=int.from_bytes(content[:4], "little"), purpose=content[4:8])
    return marker


def _inner(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the names and contents of the chunks in a list of texts."""
    place = 4
    while content[:4] == b"adtl" and place + 8 <= len(content):
        size = int.from_bytes(content[place + 4 : place + 8], "little")
        yield content[place : place + 4], content[place + 8 : place + 8 + size]
        place += 8 + size + size % 2


def _marks(content: bytes) -> Iterator[Marker]:
    """Yield the markers of an AIFF: a number, a position and a name that is padded to an even length each."""
    place = 2
    for _ in range(min(int.from_bytes(content[:2]), _MOST_MARKERS)):
        if place + 7 > len(content):
            return
        size = content[place + 6]
        yield Marker(int.from_bytes(content[place + 2 : place + 6]), content[place + 7 : place + 7 + size])
        place += 7 + size + (size + 1) % 2
