"""The outer structure of audio files, which FFmpeg reads leniently: whether they are whole, and which parts to decode.

A recording that was cut off must be refused, not read as a shorter one; sizes that a pipe or an interrupted recorder
left open must not. FFmpeg gets only what is needed for the sound, so that padding and junk around it cost no time.
"""

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.audio.containers import Container
from engine.audio.last_frame import last_frame_stop
from engine.audio.spliced_file import Part, length_of
from engine.errors import AudioError
from engine.files import shown_name
from engine.framing.atoms import TooManyAtoms, end_of_atoms
from engine.framing.chunks import LAYOUTS, MOST_CHUNKS, STREAMING_SIZES, Chunk, ChunkedFile, read_chunks
from engine.framing.remainders import PROBE, is_filling, without_padding, without_tags
from engine.texts import numeral, tr

_MOST_LINKS = 1_000  # of an Ogg
_MOST_PAGES = 2_000_000  # of an Ogg: 11 hours with a page for each 20 ms
_MOST_BLOCKS = 1_000_000  # of a WebM without sizes: 16 hours, as browsers record it
_MOST_METADATA = 10_000  # blocks of a FLAC
_MOST_BEHIND = 1_000  # elements after a WebM's segment
_AU_WIDTHS = {3: 2, 4: 3, 5: 4, 6: 4, 7: 8}  # bytes of a sample, of encodings of AU with more than one
_SEGMENT, _CLUSTER = 0x18538067, 0x1F43B675  # of a WebM, which holds them in this order
_OUTER = (0x1A45DFA3, _SEGMENT, 0xEC, 0xBF)  # a header, a segment, filling and a checksum
# chunks that FFmpeg needs to decode the sound
_OF_WAV, _OF_CAF = (b"fmt ", b"fact"), (b"desc", b"chan", b"kuki", b"pakt")
_NEEDED = {"wav": _OF_WAV, "w64": _OF_WAV, "aiff": (b"FVER", b"COMM"), "caf": _OF_CAF}


@dataclass(frozen=True)
class Structure:
    """What of a file is decoded: the parts of each recording, several only in a chained Ogg.

    is_longer: whether it holds more sound than its header states.
    """

    recordings: list[list[Part]]
    is_longer: bool = False


def structure_of(path: Path, container: Container, start: int) -> Structure:
    """Look at the structure of a file. Raises AudioError if it is shorter than that says, or holds no sound."""
    length = path.stat().st_size
    with path.open("rb") as file:
        if container.name in LAYOUTS:
            return _chunked(path, file, start, length, container.name)
        if container.name == "au":
            return _au(file, start, length)
        if container.name == "mov":
            return Structure([[(start, _end_of_atoms(path, file, start, length))]])
        stop = without_padding(file, start, without_tags(file, start, length))
        if container.name == "ogg":
            return Structure([[link] for link in _ogg_links(path, file, start, stop, length)])
        if container.name == "matroska":
            return Structure([[(start, _end_of_webm(path, file, start, stop, length))]])
        if container.name == "flac":
            return Structure([_flac_parts(path, file, start, min(length, stop + PROBE))])
        if container.name == "mpegts":
            file.seek(start)
            packet = 188 if file.read(1) == b"G" else 192  # with a time ahead of each
            return Structure([[(start, min(length, stop + -(stop - start) % packet))]])
        return Structure([[(start, last_frame_stop(file, container.name, start, stop, length))]])


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
    return AudioError(
        tr(
            '"{name}" changes its sample rate or number of channels midway: export it as WAV or FLAC.',
            name=shown_name(path),
        )
    )


def _too_many_parts(path: Path) -> AudioError:
    return AudioError(
        tr(
            '"{name}" consists of too many small parts to be read: export it again as WAV or FLAC.',
            name=shown_name(path),
        )
    )


# ---- chunks: WAV, AIFF, CAF, W64 ----


def _chunked(path: Path, file: BinaryIO, start: int, length: int, name: str) -> Structure:
    """Return the chunks with the sound and its form, with sizes that are right."""
    found = read_chunks(file, start, length, name)
    if found.sound is None:
        raise _too_many_parts(path) if len(found.others) >= MOST_CHUNKS else damaged(path)
    if found.is_cut:
        raise truncated(path)
    if found.stop <= found.first and name == "wav":
        raise no_sound(path)
    kept: list[Part] = []
    for needed in _NEEDED[name]:
        chunk = found.chunk(needed)
        if chunk is not None and not (needed == b"fact" and found.is_longer):  # which counts the samples too
            kept += _copied(file, chunk, found, name)
    return Structure([_with_sound(file, start, found, kept, name)], found.is_longer)


def _copied(file: BinaryIO, chunk: Chunk, found: ChunkedFile, name: str) -> list[Part]:
    """Return a chunk as it is, but for the number of samples where there are more."""
    layout = LAYOUTS[name]
    file.seek(chunk.body - layout.width)
    header, padding = file.read(layout.width), bytes(-chunk.size % layout.aligned)
    if chunk.name != b"COMM" or not found.is_longer or chunk.size < 8:
        return [header, (chunk.body, chunk.body + chunk.size), padding]
    content = file.read(chunk.size)
    frame = int.from_bytes(content[:2]) * -(-int.from_bytes(content[6:8]) // 8)
    samples = min((found.stop - found.first) // max(1, frame), 2**32 - 1)
    return [header, content[:2], samples.to_bytes(4), content[6:], padding]


def _with_sound(file: BinaryIO, start: int, found: ChunkedFile, kept: list[Part], name: str) -> list[Part]:
    """Return a file of these chunks and the sound."""
    layout, sound = LAYOUTS[name], found.sound
    assert sound is not None
    size = found.stop - sound.body
    content: list[Part] = [(sound.body, found.stop), bytes(-size % layout.aligned)]
    if name == "w64":
        file.seek(sound.body - layout.width)
        header = file.read(16) + (size + layout.counted).to_bytes(8, "little")
        return [(start, start + layout.first), *kept, header, *content]
    if name == "caf":
        return [(start, start + layout.first), *kept, b"data" + size.to_bytes(8), *content]
    if name == "aiff":
        kept = [*kept, b"SSND" + min(size, 0xFFFF_FFFF).to_bytes(4), *content]
        inner = min(4 + sum(map(length_of, kept)), 0xFFFF_FFFF)
        return [b"FORM" + inner.to_bytes(4), (start + 8, start + 12), *kept]
    if size < 0xFFFF_FFFF:
        return [b"RIFF\xff\xff\xff\xffWAVE", *kept, struct.pack("<4sI", b"data", size), *content]
    sizes = struct.pack("<4sIQQQI", b"ds64", 28, size + 2**16, size, 0, 0)
    return [b"RF64\xff\xff\xff\xffWAVE", sizes, *kept, b"data\xff\xff\xff\xff", *content]


def _au(file: BinaryIO, start: int, length: int) -> Structure:
    """Return the sound of an AU (Sun, 1992): its header has the place and the size of the sound."""
    file.seek(start)
    header = file.read(24).ljust(24, b"\0")
    first, size = start + int.from_bytes(header[4:8]), int.from_bytes(header[8:12])
    end, stated = without_tags(file, start, length), first + size
    if size in STREAMING_SIZES or stated >= end:  # the decoder says where it is too short
        return Structure([[(start, end if stated < length or size in STREAMING_SIZES else length)]])
    frame = _AU_WIDTHS.get(int.from_bytes(header[12:16]), 1) * int.from_bytes(header[20:24])
    if end - stated < frame or is_filling(file, stated, end):
        return Structure([[(start, stated)]])
    return Structure([[b".snd", (start + 4, start + 8), (end - first).to_bytes(4), (start + 12, end)]], True)


# ---- FLAC, MP4 ----


def _flac_parts(path: Path, file: BinaryIO, start: int, stop: int) -> list[Part]:
    """Return the first block of metadata (RFC 9639), which FFmpeg needs, and the frames."""
    file.seek(start + 4)
    first = file.read(4)
    place = start + 4
    for _ in range(_MOST_METADATA):
        file.seek(place)
        header = file.read(4)
        if len(header) < 4:
            break
        place += 4 + int.from_bytes(header[1:])
        if header[0] & 0x80:
            stop_of_first = start + 8 + int.from_bytes(first[1:])
            return [b"fLaC", bytes([first[0] | 0x80]), (start + 5, stop_of_first), (place, max(place, stop))]
    else:
        raise _too_many_parts(path)
    raise damaged(path)


def _end_of_atoms(path: Path, file: BinaryIO, start: int, length: int) -> int:
    """Return where the last atom with a name of its own ends. Raises AudioError for too many."""
    try:
        return end_of_atoms(file, start, length)
    except TooManyAtoms as many:
        raise _too_many_parts(path) from many


# ---- pages: Ogg ----


def _ogg_links(path: Path, file: BinaryIO, start: int, stop: int, length: int) -> list[tuple[int, int]]:
    """Return the links of a chain (RFC 3533): a first page of a stream after another that is none begins one.

    stop: where padding and tags begin; what follows a page that is a stream's last, and is none, is no sound either.
    """
    starts, was_first, is_last, place = [], False, False, start
    for _ in range(_MOST_PAGES):
        if place >= length:
            break
        file.seek(place)
        header = file.read(27)
        if header[:4] != b"OggS":
            length = place if is_last or place >= stop else length  # else it is damage, for the decoder to judge
            break
        table = file.read(header[26]) if len(header) == 27 else b""
        if len(header) < 27 or len(table) < header[26] or place + 27 + len(table) + sum(table) > length:
            raise truncated(path)
        is_first, is_last = bool(header[5] & 2), bool(header[5] & 4)
        if is_first and not was_first:
            starts.append(place)
        was_first, place = is_first, place + 27 + len(table) + sum(table)
    else:
        raise _too_many_parts(path)
    if len(starts) > _MOST_LINKS:
        raise AudioError(
            tr(
                '"{name}" is a chain of more than {most_links} recordings: split it.',
                name=shown_name(path),
                most_links=numeral(_MOST_LINKS, ","),
            )
        )
    starts = starts or [start]
    return list(zip(starts, [*starts[1:], length], strict=True))


# ---- elements: WebM, Matroska ----


def _end_of_webm(path: Path, file: BinaryIO, start: int, stop: int, length: int) -> int:
    """Return where the elements end. Raises AudioError if one reaches beyond the file. Browsers record without the
    sizes of the outer elements; then the blocks in them are followed.

    stop: where padding and tags begin; what follows a whole segment, and is no element of its level, is junk.
    """
    whole_since = None
    for number in range(_MOST_BLOCKS):
        if start >= stop or (whole_since is not None and number > whole_since + _MOST_BEHIND):
            break
        file.seek(start)
        (name, name_bytes), (size, size_bytes) = _ebml_number(file), _ebml_number(file)
        if whole_since is not None and name not in _OUTER:
            return start
        if not (name_bytes and size_bytes):
            if file.tell() >= length:  # its header is cut off
                raise truncated(path)
            return stop  # no element: for the decoder to judge
        size -= 1 << 7 * size_bytes  # the bit that marks the width
        is_unknown = size == (1 << 7 * size_bytes) - 1
        whole_since = number if name == _SEGMENT and not is_unknown else whole_since
        start = file.tell() + (0 if is_unknown and name in (_SEGMENT, _CLUSTER) else size)
    else:
        raise _too_many_parts(path)
    if start > length:
        raise truncated(path)
    return start


def _ebml_number(file: BinaryIO) -> tuple[int, int]:
    """Return a number with the bit that marks its width, and its width in bytes; 0 bytes if there is none."""
    first = file.read(1)
    width = 9 - first[0].bit_length() if first and first[0] else 0
    rest = file.read(max(0, width - 1))
    return (0, 0) if len(rest) < width - 1 else (int.from_bytes(first + rest), width)
