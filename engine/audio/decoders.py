"""Decode audio files: recognise the container, check that the file is complete, and read its samples.

WAV, AIFF, FLAC, Ogg (Vorbis, Opus) and a few studio formats go to libsndfile; MP3, M4A/AAC and WebM to FFmpeg (PyAV).
libsndfile is not used for MP3: read block by block, it repeats and drops samples, and without a Xing header it trusts
an estimated length. The first bytes of a file decide, never its suffix, and FFmpeg receives the format by name, so that
a playlist or a name such as "concat:..." can never make it open anything else.

WAV: Microsoft RIFF; RF64: EBU Tech 3306. AIFF: Apple, 1989. Ogg pages: RFC 3533. Xing header: MP3 VBR/LAME tag.
WebM: RFC 8794 (EBML) and RFC 9559 (Matroska).
"""

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Protocol

import av
import numpy as np
import numpy.typing as npt
import soundfile as sf

from engine.errors import AudioError

Samples = npt.NDArray[np.float32]  # (channels, samples), full scale is -1..1

READABLE = "WAV, FLAC, MP3, OGG, OPUS, AIFF, M4A, AAC or WebM"
CHUNK = 65_536  # samples per channel decoded at a time
MP3_SLACK = 1152  # samples a complete MP3 may fall short of its header: some encoders count the header frame too
MP4_SLACK = 2 * 2048  # samples a complete M4A may fall short of its header: two long frames
STREAMING_SIZES = {0, 0x7FFF_F000, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF}  # "size unknown", as written by pipes
CONTAINERS = {
    b"fLaC": "flac",
    b"OggS": "ogg",
    b"riff": "w64",
    b"caff": "caf",
    b".snd": "au",
    b"\x1aE\xdf\xa3": "matroska",
}
MP4_FIRST_BOXES = {b"ftyp", b"moov", b"mdat", b"wide", b"free", b"skip"}
MOST_CHUNKS = 10_000  # scanned before giving up: zeros would parse as endless empty chunks
OGG_LARGEST_PAGE = 65_307  # bytes
MOST_BLOCKS = 1_000_000  # of a WebM without sizes: 16 hours, as browsers record it
SEGMENT, CLUSTER = 0x18538067, 0x1F43B675  # of a WebM, which holds them in this order


class Decoder(Protocol):
    """An open file.

    `sample_count` comes from the header (None if unknown); `slack` is how many samples a complete file may fall short
    of it, None where the header is too vague to rely on.
    """

    rate: int
    channels: int
    sample_count: int | None
    slack: int | None

    def chunks(self) -> Iterator[Samples]:
        """Yield float32 (channels, n) from the beginning. Raises AudioError where the file proves to be damaged."""

    def close(self) -> None:
        """Close the file."""


def open_decoder(path: Path) -> Decoder:
    """Open the decoder for an audio file. Raises AudioError for anything but complete, readable audio."""
    container = recognise_container(path)
    refuse_truncated(path, container)
    if container in ("mp3", "aac", "mov", "matroska"):
        return FFmpegDecoder(path, container)
    if container == "wav" and _wav_never_finished(path):
        return FFmpegDecoder(path, "wav")
    return SndfileDecoder(path)


def recognise_container(path: Path) -> str:
    """Return the container's name from the first bytes of a file.

    Raises AudioError for a file that is missing, empty, unreadable or not audio.
    """
    try:
        if path.is_dir():
            raise AudioError(f'"{path.name}" is a folder, not an audio file.')
        if not path.exists():
            raise AudioError(f'The file "{path}" does not exist.')
        if not path.is_file():
            raise AudioError(f'"{path.name}" is not a regular file.')
        with path.open("rb") as file:
            head = file.read(16)
            tagged = head[:3] == b"ID3"
            if tagged:
                file.seek(_id3_length(head))
                head = file.read(16)
    except (OSError, ValueError) as error:
        raise AudioError(f'"{path.name}" cannot be opened: {getattr(error, "strerror", None) or error}.') from error
    if not head and not tagged:
        raise AudioError(f'"{path.name}" is empty (0 bytes).')
    container = _container_of(head)
    if container is None:
        raise AudioError(f'"{path.name}" is not an audio file in a supported format ({READABLE}).')
    return container


def _id3_length(head: bytes) -> int:
    """Return the length of an ID3v2 tag in bytes, header included; its size has seven bits per byte."""
    size = 0
    for byte in head[6:10]:
        size = size << 7 | byte & 0x7F
    return 10 + size


def _container_of(head: bytes) -> str | None:
    if head[:4] in (b"RIFF", b"RIFX", b"RF64") and head[8:12] == b"WAVE":
        return "wav"
    if head[:4] == b"FORM" and head[8:12] in (b"AIFF", b"AIFC"):
        return "aiff"
    if head[:4] in CONTAINERS:
        return CONTAINERS[head[:4]]
    if head[4:8] in MP4_FIRST_BOXES:
        return "mov"
    if len(head) >= 2 and head[0] == 0xFF and head[1] & 0xF6 == 0xF0:  # ADTS: 12 sync bits, layer 00
        return "aac"
    if len(head) >= 2 and head[0] == 0xFF and head[1] & 0xE0 == 0xE0 and head[1] & 0x06:  # MPEG audio: layer not 00
        return "mp3"
    return None


# ---- completeness ----


def refuse_truncated(path: Path, container: str) -> None:
    """Raise AudioError if the headers of a WAV, AIFF, Ogg or WebM file announce more bytes than the file holds."""
    checks = {"wav": _wav_is_whole, "aiff": _aiff_is_whole, "ogg": _ogg_is_whole, "matroska": _webm_is_whole}
    if container not in checks:
        return
    try:
        with path.open("rb") as file:
            whole = checks[container](file, path.stat().st_size)
    except OSError as error:
        raise AudioError(f'"{path.name}" cannot be read: {error.strerror}.') from error
    if not whole:
        raise truncated(path)


def truncated(path: Path) -> AudioError:
    """Return the error for a file that ends before the length in its header."""
    return AudioError(f'"{path.name}" is incomplete: it is shorter than its header says.')


def _wav_is_whole(file: BinaryIO, length: int) -> bool:
    order = ">" if file.read(4) == b"RIFX" else "<"
    riff_size = struct.unpack(order + "I", file.read(4))[0]
    long_size = 0  # of the data chunk, from RF64's ds64 chunk
    for name, start, size in _iff_chunks(file, length, order):
        if name == b"ds64" and size >= 16:
            long_size = struct.unpack(order + "8xQ", file.read(16).ljust(16, b"\0"))[0]
        if name == b"data":
            promised = long_size if size == 0xFFFF_FFFF and 0 < long_size < 2**63 else size
            return promised in STREAMING_SIZES or start + promised <= length
    return riff_size in STREAMING_SIZES or 8 + riff_size <= length


def _wav_never_finished(path: Path) -> bool:
    """Return whether a WAV's sizes were left at 0, as by pipes or interrupted recorders; libsndfile finds no audio."""
    length = path.stat().st_size
    with path.open("rb") as file:
        order, riff_size = (">" if file.read(4) == b"RIFX" else "<"), file.read(4)
        reach = 8 + int(struct.unpack(order + "I", riff_size)[0])
        for name, start, size in _iff_chunks(file, length, order):
            if name == b"data":
                return size == 0 and start < length and (reach <= start or reach > length)
    return False


def _aiff_is_whole(file: BinaryIO, length: int) -> bool:
    form_size = struct.unpack(">4xI", file.read(8))[0]
    for name, start, size in _iff_chunks(file, length, ">"):
        if name == b"SSND":
            return size in STREAMING_SIZES or start + size <= length
    return form_size in STREAMING_SIZES or 8 + form_size <= length


def _iff_chunks(file: BinaryIO, length: int, order: str) -> Iterator[tuple[bytes, int, int]]:
    """Yield (name, offset of the body, size of the body) of each chunk, with the file positioned at the body."""
    start = 12
    for _ in range(MOST_CHUNKS):
        if start + 8 > length:
            return
        file.seek(start)
        name, size = struct.unpack(order + "4sI", file.read(8))
        yield name, start + 8, size
        start += 8 + size + size % 2


def _ogg_is_whole(file: BinaryIO, length: int) -> bool:
    """Return whether the last page is complete, by its table of segment sizes."""
    file.seek(max(0, length - OGG_LARGEST_PAGE))
    tail = file.read()
    page = tail.rfind(b"OggS")
    if page < 0:
        return True
    header = tail[page : page + 27]
    if len(header) < 27:
        return False
    table = tail[page + 27 : page + 27 + header[26]]
    return len(table) == header[26] and page + 27 + len(table) + sum(table) <= len(tail)


def _webm_is_whole(file: BinaryIO, length: int) -> bool:
    """Return whether no element of a WebM reaches beyond the file. Browsers record without the sizes of the outer
    elements; then the blocks in them are followed."""
    start = 0
    for _ in range(MOST_BLOCKS):
        if start >= length:
            break
        file.seek(start)
        (name, name_bytes), (size, size_bytes) = _ebml_number(file), _ebml_number(file)
        if not (name_bytes and size_bytes):
            return file.tell() < length  # no element: for the decoder to judge, unless its header is cut off
        size -= 1 << 7 * size_bytes  # the bit that marks the width
        is_unknown = size == (1 << 7 * size_bytes) - 1
        start = file.tell() + (0 if is_unknown and name in (SEGMENT, CLUSTER) else size)
    return start <= length


def _ebml_number(file: BinaryIO) -> tuple[int, int]:
    """Return a number with the bit that marks its width, and its width in bytes; 0 bytes if there is none."""
    first = file.read(1)
    width = 9 - first[0].bit_length() if first and first[0] else 0
    rest = file.read(max(0, width - 1))
    return (0, 0) if len(rest) < width - 1 else (int.from_bytes(first + rest), width)


def _mp3_counts_its_frames(path: Path) -> bool:
    """Return whether the first MP3 frame is a Xing/Info/VBRI header, so that the length is exact."""
    with path.open("rb") as file:
        head = file.read(10)
        file.seek(_id3_length(head) if head[:3] == b"ID3" else 0)
        start = file.read(256)
    place = max(start.find(b"Xing"), start.find(b"Info"))
    return (place >= 0 and len(start) > place + 7 and bool(start[place + 7] & 1)) or b"VBRI" in start


# ---- the two decoders ----


class SndfileDecoder:
    """Decode with libsndfile; all header lengths are exact, except Ogg's."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = sf.SoundFile(path)
        except (sf.SoundFileError, TypeError, ValueError, OSError) as error:
            raise AudioError(f'"{path.name}" is damaged or in an unsupported format.') from error
        self.rate = int(self._file.samplerate)
        self.channels = int(self._file.channels)
        frames = int(self._file.frames)
        self.sample_count = frames if 0 <= frames < 2**48 else None  # FLAC streams write "unknown" as a huge number
        self.slack = None if self._file.format == "OGG" else 0

    def chunks(self) -> Iterator[Samples]:
        while True:
            chunk = np.empty((CHUNK, self.channels), np.float32)
            try:
                chunk = self._file.read(out=chunk)  # with its own buffer, soundfile reads past a wrong length
            except (sf.SoundFileError, RuntimeError) as error:
                raise AudioError(f'"{self._path.name}" is damaged or incomplete.') from error
            if not len(chunk):
                return
            yield np.ascontiguousarray(chunk.T)

    def close(self) -> None:
        self._file.close()


class FFmpegDecoder:
    """Decode with FFmpeg through PyAV, which drops the encoder's priming samples if the file gives their number."""

    def __init__(self, path: Path, container: str) -> None:
        self._path, self._kind = path, container
        try:
            self._container = av.open(str(path.resolve()), mode="r", format=container)
        except (av.FFmpegError, OSError, ValueError) as error:
            raise AudioError(f'"{path.name}" is damaged or incomplete, or is not audio.') from error
        if not self._container.streams.audio or self._container.streams.audio[0].codec_context is None:
            self._container.close()
            raise AudioError(f'"{path.name}" holds no audio, or is incomplete.')
        self._stream = self._container.streams.audio[0]
        self.rate = int(self._stream.rate or 0)
        self.channels = int(self._stream.channels or 0)
        self.sample_count = self._header_length()
        self.slack = self._header_slack() if self.sample_count else None

    def _header_length(self) -> int | None:
        if self._stream.duration is None or self._stream.time_base is None:
            return None
        return max(0, round(self._stream.duration * self._stream.time_base * self.rate))

    def _header_slack(self) -> int | None:
        if self._kind == "mp3":
            return MP3_SLACK if _mp3_counts_its_frames(self._path) else None
        return MP4_SLACK if self._kind == "mov" else None

    def chunks(self) -> Iterator[Samples]:
        left = self.sample_count if self._kind == "mov" and self.sample_count else None  # the rest is encoder padding
        for frame in self._frames():
            if frame.sample_rate != self.rate or frame.layout.nb_channels != self.channels:
                raise AudioError(f'"{self._path.name}" changes its sample rate or number of channels midway.')
            chunk = _planar_float(frame, self.channels)
            if left is not None:
                chunk = chunk[:, :left]
                left -= chunk.shape[1]
            yield chunk

    def _frames(self) -> Iterator[av.AudioFrame]:
        """Yield decoded frames. Junk after the last frame of an MP3 (old tags) is allowed; other damage is an error."""
        damage: Exception | None = None
        try:
            for packet in self._container.demux(self._stream):
                try:
                    frames = packet.decode()
                except av.InvalidDataError as error:
                    if self._kind != "mp3":
                        raise
                    damage = error
                    continue
                if frames and damage:
                    raise damage
                yield from frames
        except (av.FFmpegError, OSError, ValueError) as error:
            raise AudioError(f'"{self._path.name}" is damaged or incomplete.') from error

    def close(self) -> None:
        self._container.close()


def _planar_float(frame: av.AudioFrame, channels: int) -> Samples:
    """Convert a decoded frame of any sample format to float32 (channels, samples)."""
    raw = frame.to_ndarray()
    planar = raw if frame.format.is_planar else raw.reshape(-1, channels).T
    if planar.dtype == np.uint8:
        return (planar.astype(np.float32) - 128.0) / 128.0
    if planar.dtype.kind == "i":
        return (planar / 2.0 ** (8 * planar.dtype.itemsize - 1)).astype(np.float32)
    return np.ascontiguousarray(planar, np.float32)
