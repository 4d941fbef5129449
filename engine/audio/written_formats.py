"""Encode audio files: the encoders behind AudioWriter, each writing to an open binary file.

WAV is written here (PCM of 24 or 16 bits or floats, RIFF with space reserved for RF64, EBU Tech 3306), so its size is
unlimited and its errors are the system's own; FLAC, MP3, OGG and AIFF are written by libsndfile, M4A by FFmpeg. Samples
beyond full scale are clipped, never wrapped, but for floats, which keep them. 16 bits get dither of triangular density,
two steps wide, which makes the error independent of the signal (Lipshitz, Wannamaker and Vanderkooy, "Quantization and
dither", J. Audio Eng. Soc., 1992).
"""

import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, BinaryIO, Protocol

import av
import numpy as np
import soundfile as sf

from engine.audio.channels import Samples
from engine.audio.result_format import DEPTHS, FLOAT, M4A_RATES, MP3_RATES
from engine.audio.session_metadata import SessionPlace
from engine.errors import AudioError
from engine.texts import ntr, tr

FULL_SCALE_24 = 2**23
LARGEST_RIFF = 0xFFFF_FFFF  # bytes; beyond it the file becomes RF64
CHUNK = 65_536  # samples per channel passed to libsndfile at once: its Vorbis encoder overflows the stack on more
LOWEST_MPEG1_RATE = 32_000  # Hz
HIGHEST_ODD_FLAC_RATE = 65_535  # Hz; above, FLAC stores the rate in tens


@dataclass(frozen=True)
class _SndfileOptions:
    """How libsndfile writes a format, by its own names."""

    format: str
    subtype: str
    bitrate_mode: str | None = None
    compression_level: float | None = None


SNDFILE_OPTIONS = {
    ".flac": _SndfileOptions("FLAC", "PCM_24"),
    ".mp3": _SndfileOptions("MP3", "MPEG_LAYER_III", "VARIABLE", 0.1),
    ".ogg": _SndfileOptions("OGG", "VORBIS", compression_level=0.3),
    ".aiff": _SndfileOptions("AIFF", "PCM_24"),
}
M4A = ".m4a"
_M4A_BITS_PER_S = 160_000  # per channel, beyond which AAC is said to be transparent
_M4A_FRAME = 1024  # samples
SUFFIXES = (".wav", *SNDFILE_OPTIONS, M4A)
_DITHER_SEED = 16  # the same samples give the same file


class Encoder(Protocol):
    """A file being encoded block by block."""

    def write(self, block: Samples) -> None:
        """Encode float32 (channels, samples). Raises OSError if writing fails."""

    def finish(self) -> None:
        """Write the remaining data and the final headers. Raises OSError if writing fails."""

    def abandon(self) -> None:
        """Stop encoding; the incomplete file is of no use."""


def refuse_unknown_suffix(suffix: str) -> None:
    """Raise AudioError if no format has this suffix.

    >>> refuse_unknown_suffix(".flac")
    """
    if suffix not in SUFFIXES:
        listed = ", ".join(SUFFIXES)
        what = f'a "{suffix}" file' if suffix else tr("a file without a suffix")
        raise AudioError(tr("Audio cannot be saved as {what}: use one of {listed}.", what=what, listed=listed))


def refuse_unwritable(suffix: str, rate: int, channels: int) -> None:
    """Raise AudioError if the format of this suffix is unknown or does not support the rate or channels."""
    refuse_unknown_suffix(suffix)
    if suffix == ".mp3" and (channels > 2 or rate not in MP3_RATES):
        raise AudioError(
            tr(
                "An MP3 holds 1 or 2 channels at up to 48000 Hz in standard rates, not {channels} at {rate} Hz: use "
                ".wav.",
                channels=channels,
                rate=rate,
            )
        )
    if suffix == M4A and (channels > 2 or rate not in M4A_RATES):
        raise AudioError(
            tr(
                "An M4A holds 1 or 2 channels at up to 96000 Hz in standard rates, not {channels} at {rate} Hz: use "
                ".wav.",
                channels=channels,
                rate=rate,
            )
        )
    if suffix == ".flac" and rate > HIGHEST_ODD_FLAC_RATE and rate % 10:
        raise AudioError(tr("A FLAC file cannot hold a rate of {rate} Hz: use .wav.", rate=rate))


def open_encoder(
    file: BinaryIO,
    suffix: str,
    rate: int,
    channels: int,
    comment: str = "",
    place: SessionPlace | None = None,
    mp3_kbps: int = 0,
    bits: int = DEPTHS[0],
) -> Encoder:
    """Open the encoder for a suffix; `comment` becomes a tag of the file.

    place: of the file in its session; only .wav can hold it. mp3_kbps: the constant rate of .mp3 in thousands of bits
    per second, the nearest that the format has; 0: the best variable rate. bits: 24, 16 or 32 (floats) of .wav and
    .aiff, 24 or 16 of .flac, which has 24 for floats. Raises AudioError if the format does not support the rate or
    channels, most of which `refuse_unwritable` says before.
    """
    if suffix == ".wav":
        return WavEncoder(file, rate, channels, comment, place, bits)
    if suffix == M4A:
        return AacEncoder(file, rate, channels, comment)
    return SndfileEncoder(file, suffix, rate, channels, comment, mp3_kbps, bits)


class Dither:
    """Noise for samples that are rounded to 16 bits."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(_DITHER_SEED)

    def apply(self, block: Samples) -> Samples:
        """Return float32 (channels, samples) on the steps of 16 bits."""
        noise = self._random.random((2, *block.shape), np.float32)
        steps = np.rint(block * np.float32(2**15) + noise[0] - noise[1])
        return (steps / np.float32(2**15)).astype(np.float32)


class WavEncoder:
    """Encode PCM of 24 or 16 bits, or floats. A JUNK chunk reserves space for RF64's ds64, needed only beyond 4 GB."""

    def __init__(
        self,
        file: BinaryIO,
        rate: int,
        channels: int,
        comment: str = "",
        place: SessionPlace | None = None,
        bits: int = DEPTHS[0],
    ) -> None:
        place = (place or SessionPlace(rate)).at(rate)
        self._file, self._rate, self._channels, self._bits = file, rate, channels, bits
        self._dither = Dither()
        self._data_size = 0
        self._tags = place.marker_chunks() + (wav_comment(comment) if comment else b"")
        self._broadcast = place.broadcast_chunk()
        file.write(wav_header(rate, channels, 0, before=self._broadcast, bits=bits))

    def write(self, block: Samples) -> None:
        data = self._encoded(block)
        self._file.write(data)
        self._data_size += len(data)

    def _encoded(self, block: Samples) -> bytes:
        if self._bits == FLOAT:
            return block.T.astype("<f4").tobytes()
        return pcm24(block) if self._bits == DEPTHS[0] else pcm16(self._dither.apply(block))

    def finish(self) -> None:
        if self._data_size % 2:
            self._file.write(b"\0")
        self._file.write(self._tags)
        self._file.seek(0)
        self._file.write(
            wav_header(self._rate, self._channels, self._data_size, len(self._tags), self._broadcast, self._bits)
        )

    def abandon(self) -> None:
        pass


def pcm24(block: Samples) -> bytes:
    """Convert float (channels, samples) to interleaved little-endian 24-bit integers, clipped at full scale."""
    scaled = np.rint(block.T.astype(np.float64) * FULL_SCALE_24)
    integers = np.clip(scaled, -FULL_SCALE_24, FULL_SCALE_24 - 1).astype("<i4")
    return np.ascontiguousarray(integers).view(np.uint8).reshape(-1, 4)[:, :3].tobytes()


def pcm16(block: Samples) -> bytes:
    """Convert float (channels, samples) to interleaved little-endian 16-bit integers, clipped at full scale."""
    return np.clip(np.rint(block.T * 2.0**15), -(2**15), 2**15 - 1).astype("<i2").tobytes()


def wav_comment(text: str) -> bytes:
    """Return a LIST chunk with a comment (RIFF INFO), of even length."""
    content = text.encode() + b"\0"
    content += b"\0" * (len(content) % 2)
    return struct.pack("<4sI4s4sI", b"LIST", len(content) + 12, b"INFO", b"ICMT", len(content)) + content


def wav_header(
    rate: int, channels: int, data_size: int, size_after: int = 0, before: bytes = b"", bits: int = DEPTHS[0]
) -> bytes:
    """Return the 80 bytes before the samples: RIFF, or RF64 if the sizes need more than 32 bits; 12 more for floats.

    size_after: bytes of the chunks after the samples; before: further chunks ahead of them.
    """
    frame = channels * bits // 8
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 3 if bits == FLOAT else 1, channels, rate, rate * frame, frame, bits)
    if bits == FLOAT:  # what is no PCM says its number of samples
        form += struct.pack("<4sII", b"fact", 4, min(data_size // frame, LARGEST_RIFF))
    form = before + form
    riff_size = 48 + len(form) + data_size + data_size % 2 + size_after
    if riff_size <= LARGEST_RIFF:
        start = struct.pack("<4sI4s4sI28x", b"RIFF", riff_size, b"WAVE", b"JUNK", 28)
        return start + form + struct.pack("<4sI", b"data", data_size)
    sizes = struct.pack("<4sIQQQI", b"ds64", 28, riff_size, data_size, data_size // frame, 0)
    start = struct.pack("<4sI4s", b"RF64", LARGEST_RIFF, b"WAVE")
    return start + sizes + form + struct.pack("<4sI", b"data", LARGEST_RIFF)


class SndfileEncoder:
    """Encode FLAC, MP3, OGG and AIFF with libsndfile; `_HonestFile` keeps the cause of a failed write."""

    def __init__(
        self,
        file: BinaryIO,
        suffix: str,
        rate: int,
        channels: int,
        comment: str = "",
        mp3_kbps: int = 0,
        bits: int = DEPTHS[0],
    ) -> None:
        self._target = _HonestFile(file)
        options = SNDFILE_OPTIONS[suffix]
        self._dither = None
        self._limit = np.inf if suffix == ".aiff" and bits == FLOAT else 1.0
        if self._limit > 1.0:
            options = replace(options, subtype="FLOAT")
        elif options.subtype == "PCM_24" and bits < DEPTHS[0]:
            options, self._dither = replace(options, subtype="PCM_16"), Dither()
        if suffix == ".mp3" and mp3_kbps:
            options = replace(options, bitrate_mode="CONSTANT", compression_level=_mp3_level(rate, mp3_kbps))
        try:
            self._file = sf.SoundFile(self._target, "w", rate, channels, **vars(options))
            if comment:
                self._file.comment = comment  # most formats have it before the samples
        except sf.SoundFileError as error:
            self._target.raise_failure()
            raise AudioError(
                ntr(
                    "A {suffix} file cannot hold {channels} channel at {rate} Hz: use .wav.",
                    "A {suffix} file cannot hold {channels} channels at {rate} Hz: use .wav.",
                    channels=channels,
                    suffix=suffix,
                    rate=rate,
                )
            ) from error

    def write(self, block: Samples) -> None:
        clipped = np.clip(self._dither.apply(block) if self._dither else block, -self._limit, self._limit).T
        for start in range(0, len(clipped), CHUNK):
            piece = np.ascontiguousarray(clipped[start : start + CHUNK], np.float32)
            with self._target.raising_the_cause():
                self._file.write(piece)

    def finish(self) -> None:
        with self._target.raising_the_cause():
            self._file.close()

    def abandon(self) -> None:
        with suppress(sf.SoundFileError, AssertionError):
            self._file.close()


def _mp3_level(rate: int, kbps: int) -> float:
    """Return what libsndfile calls the compression level: 0 for the highest constant rate of MPEG 1 or 2, 1 for the
    lowest."""
    highest, lowest = (320, 32) if rate >= LOWEST_MPEG1_RATE else (160, 8)
    return float(np.clip((highest - kbps) / (highest - lowest), 0.0, 1.0))


class AacEncoder:
    """Encode AAC in an MP4 container with FFmpeg, whose errors are OSErrors."""

    def __init__(self, file: BinaryIO, rate: int, channels: int, comment: str = "") -> None:
        # the edit list, which says how many samples count, is exact only in a time scale of samples
        self._container = av.open(file, "w", format="ipod", options={"movie_timescale": str(rate)})
        self._container.metadata["comment"] = comment
        self._stream: Any = self._container.add_stream("aac", rate=rate)
        self._layout = "mono" if channels == 1 else "stereo"
        self._stream.layout, self._stream.bit_rate = self._layout, _M4A_BITS_PER_S * channels
        self._rate, self._count = rate, 0
        self._rest = np.zeros((channels, 0), np.float32)

    def write(self, block: Samples) -> None:
        samples = np.concatenate([self._rest, np.clip(block, -1.0, 1.0)], 1)
        whole = samples.shape[1] // _M4A_FRAME * _M4A_FRAME
        for start in range(0, whole, _M4A_FRAME):
            self._encode(samples[:, start : start + _M4A_FRAME])
        self._rest = samples[:, whole:].copy()

    def finish(self) -> None:
        if self._rest.shape[1]:
            self._encode(self._rest)
        self._mux(None)
        self._container.close()

    def abandon(self) -> None:
        with suppress(OSError):
            self._container.close()

    def _encode(self, samples: Samples) -> None:
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(samples, np.float32), "fltp", self._layout)
        frame.rate, frame.pts, frame.time_base = self._rate, self._count, Fraction(1, self._rate)
        self._count += samples.shape[1]
        self._mux(frame)

    def _mux(self, frame: "av.AudioFrame | None") -> None:
        for packet in self._stream.encode(frame):
            self._container.mux(packet)


class _HonestFile:
    """A binary file for libsndfile that keeps the system's error, which the C library drops."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._failure: OSError | None = None
        self.tell, self.read = file.tell, file.read

    def write(self, data: bytes) -> int:
        try:
            return self._file.write(data)
        except OSError as error:
            self._failure = self._failure or error
            return 0

    def seek(self, place: int, whence: int) -> None:
        try:
            self._file.seek(place, whence)  # flushes the buffer
        except OSError as error:
            self._failure = self._failure or error

    def raise_failure(self) -> None:
        if self._failure:
            raise self._failure

    @contextmanager
    def raising_the_cause(self) -> Iterator[None]:
        """Raise the OSError hidden by a libsndfile write, or one of its own."""
        try:
            yield
        except (sf.SoundFileError, AssertionError) as error:  # soundfile asserts a complete write
            self.raise_failure()
            raise OSError(tr("the encoder failed ({error})", error=error)) from error
        self.raise_failure()
