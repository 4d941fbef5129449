"""Sound as a value, sound streamed from and to files, and resampling.

`read_audio` and `write_audio` are for sound that fits in memory; `AudioSource` and `AudioWriter` hold one block at a
time, so hours of sound need no more memory than seconds. Everywhere: float32 (channels, samples), full scale is -1..1.
All that can be wrong with a file is an AudioError whose text is one sentence for the user.
"""

import errno
import math
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self, cast

import numpy as np
import numpy.typing as npt
import soxr

from engine.audio.decoders import open_decoder, truncated
from engine.audio.encoders import open_encoder, refuse_unwritable
from engine.errors import AudioError, is_full_disk

Samples = npt.NDArray[np.float32]

LOWEST_RATE = 8_000  # Hz
HIGHEST_RATE = 192_000  # Hz
MOST_CHANNELS = 8
_LARGEST_SAMPLE = 1e10  # more than the largest of 32 bits, which some programs write as floats as they are
READ_BLOCK = 1 << 18  # samples per channel that read_audio asks for at a time
QUALITY = "HQ"  # soxr: 20-bit precision, linear phase


@dataclass(frozen=True, eq=False)
class Audio:
    """A recording in memory: `samples` float32 (channels, samples) at `rate` Hz. ValueError for another shape.

    >>> Audio(np.zeros((2, 44100), np.float32), 44100).duration_s
    1.0
    """

    samples: Samples
    rate: int

    def __post_init__(self) -> None:
        if self.samples.ndim != 2:
            raise ValueError(f"samples must be (channels, samples), not {self.samples.shape}")
        if self.samples.shape[0] == 0:
            raise ValueError("samples must have a channel or more")
        if not 0 < self.rate < math.inf:
            raise ValueError(f"rate must be above 0 Hz, not {self.rate}")
        object.__setattr__(self, "samples", np.asarray(self.samples, np.float32))

    @property
    def channels(self) -> int:
        """How many there are."""
        return int(self.samples.shape[0])

    @property
    def sample_count(self) -> int:
        """Samples per channel."""
        return int(self.samples.shape[1])

    @property
    def duration_s(self) -> float:
        """Seconds."""
        return self.sample_count / self.rate

    def mono(self) -> Samples:
        """The mean of the channels, float32 (samples,)."""
        return cast(Samples, self.samples.mean(axis=0, dtype=np.float32))


# ---- in ----


class AudioSource:
    """An audio file being read from its beginning, once. `sample_count` is the header's word: good enough for a
    progress bar, None when unknown. AudioError when the file is missing, damaged, cut short or outside our limits."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._decoder = open_decoder(self.path)
        self.rate = self._decoder.rate
        self.channels = self._decoder.channels
        self.sample_count = self._decoder.sample_count
        try:
            refuse_outside_limits(self.path, self.rate, self.channels)
            if self.sample_count == 0 and self._decoder.slack == 0:
                raise _no_sound(self.path)
        except AudioError:
            self.close()
            raise

    @property
    def duration_s(self) -> float | None:
        """Seconds, by the header's word; None when unknown."""
        return None if self.sample_count is None else self.sample_count / self.rate

    def blocks(self, samples_per_block: int) -> Iterator[Samples]:
        """float32 (channels, samples_per_block), the last one shorter. AudioError on the way when the file turns out
        damaged, cut short or without sound, or holds NaN or infinity."""
        return _reblocked(self._checked_chunks(), samples_per_block)

    def _checked_chunks(self) -> Iterator[Samples]:
        """The decoder's chunks, each finite, and together as long as the header promised."""
        count = 0
        for chunk in self._decoder.chunks():
            refuse_no_sound(chunk, f'"{self.path.name}"', f", {count / self.rate:.1f} seconds in or just after")
            count += chunk.shape[1]
            yield chunk
        slack = self._decoder.slack
        if self.sample_count and slack is not None and count + slack < self.sample_count:
            raise truncated(self.path)
        if count == 0:
            raise _no_sound(self.path)

    def close(self) -> None:
        """Let go of the file; a `with` statement does."""
        self._decoder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_audio(path: Path | str) -> AudioSource:
    """Open an audio file to read block by block: `with open_audio(path) as source`, then `source.blocks(n)`.

    >>> with open_audio("vocal.flac") as source:
    ...     sum(block.shape[1] for block in source.blocks(44100))
    132300
    """
    return AudioSource(path)


def read_audio(path: Path | str) -> Audio:
    """A whole audio file. AudioError, one sentence, for anything wrong with it.

    >>> vocal = read_audio("vocal.flac")
    >>> vocal.rate, vocal.channels, vocal.duration_s
    (44100, 1, 3.0)
    >>> read_audio("no-such-file.wav")
    Traceback (most recent call last):
    engine.errors.AudioError: ...
    """
    with open_audio(path) as source:
        return Audio(np.concatenate(list(source.blocks(READ_BLOCK)), axis=1), source.rate)


def refuse_outside_limits(path: Path, rate: int, channels: int) -> None:
    """AudioError when a file's rate or channels are outside what the engine handles."""
    if not LOWEST_RATE <= rate <= HIGHEST_RATE:
        raise AudioError(f'"{path.name}" is at {rate} Hz; this program handles {LOWEST_RATE} to {HIGHEST_RATE} Hz.')
    if not 1 <= channels <= MOST_CHANNELS:
        raise AudioError(f'"{path.name}" has {channels} channels; this program handles 1 to {MOST_CHANNELS}.')


def _no_sound(path: Path) -> AudioError:
    return AudioError(f'"{path.name}" holds no sound (0 samples).')


def _reblocked(chunks: Iterator[Samples], size: int) -> Iterator[Samples]:
    """The same sound in blocks of exactly `size` samples, the last one shorter."""
    if size < 1:
        raise ValueError(f"samples_per_block must be at least 1, not {size}")
    held: list[Samples] = []
    held_count = 0
    for chunk in chunks:
        held.append(chunk)
        held_count += chunk.shape[1]
        if held_count < size:
            continue
        joined = np.concatenate(held, axis=1)
        whole = held_count - held_count % size
        for start in range(0, whole, size):
            yield joined[:, start : start + size]
        held, held_count = [joined[:, whole:].copy()], held_count - whole
    if held_count:
        yield np.concatenate(held, axis=1)


# ---- out ----


class AudioWriter:
    """An audio file being written; the suffix chooses .wav (24-bit, any length), .flac (24-bit), .mp3 or .ogg.

    Use it in a `with` statement. The sound goes to a temporary file in the same folder, which takes the target's name
    when the block ends well, and is deleted when it ends in any exception. AudioError when the format cannot hold the
    sound, the folder is missing or not writable, the disk is full, or nothing was written."""

    def __init__(self, path: Path | str, rate: int, channels: int) -> None:
        self.path, self.rate, self.channels = Path(path), rate, channels
        self._count = 0
        self._suffix = self.path.suffix.lower()
        refuse_outside_limits(self.path, rate, channels)
        refuse_unwritable(self._suffix, rate, channels)
        self._temporary = self.path.with_name(f".{secrets.token_hex(8)}.part")
        with writing_errors(self.path):
            if self.path.is_dir():
                raise AudioError(f'"{self.path}" is a folder, so no file can be written there.')
            self._file: BinaryIO = self._temporary.open("x+b")
        try:
            with writing_errors(self.path):
                self._encoder = open_encoder(self._file, self._suffix, rate, channels)
        except BaseException:
            self._delete_temporary()
            raise

    def write(self, block: Samples) -> None:
        """Append float32 (channels, samples). Beyond full scale it is clipped; NaN and infinity are AudioErrors."""
        if block.ndim != 2 or block.shape[0] != self.channels:
            raise ValueError(f"block must be ({self.channels}, samples), not {block.shape}")
        if not np.isfinite(block).all():
            raise AudioError(f'"{self.path.name}" was not written: the sound holds NaN or infinity.')
        with writing_errors(self.path):
            self._encoder.write(block)
        self._count += block.shape[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is not None:
            self._discard()
            return
        try:
            with writing_errors(self.path):
                self._publish()
        except BaseException:
            self._discard()
            raise

    def _publish(self) -> None:
        if self._count == 0:
            raise AudioError(f'"{self.path.name}" was not written: there is no sound to write (0 samples).')
        self._encoder.finish()
        self._file.close()
        os.replace(self._temporary, self.path)

    def _discard(self) -> None:
        self._encoder.abandon()
        self._delete_temporary()

    def _delete_temporary(self) -> None:
        with suppress(OSError):  # a full disk refuses the last flush too
            self._file.close()
        with suppress(OSError):
            self._temporary.unlink()


def write_audio(path: Path | str, audio: Audio) -> None:
    """Write a whole recording. AudioError as AudioWriter; then no file is left, or the old one untouched.

    >>> write_audio("louder.mp3", Audio(1.2 * read_audio("vocal.flac").samples, 44100))
    """
    with AudioWriter(path, audio.rate, audio.channels) as writer:
        writer.write(audio.samples)


def refuse_no_sound(samples: Samples, holder: str, place: str = "") -> None:
    """Raises AudioError for samples that are no sound: NaN, infinity, or values far beyond full scale, which is 1.

    holder, place: of the sentence: whose they are and where in it. Integers that were written as float are let through.
    """
    peak = float(np.abs(samples).max(initial=0.0))
    if not math.isfinite(peak):
        raise AudioError(f"{holder} holds values that are not numbers (NaN or infinity){place}.")
    if peak > _LARGEST_SAMPLE:
        beyond = f"samples of {peak:.0e}, where full scale is 1"
        raise AudioError(f"{holder} holds {beyond}{place}: export it again with another program.")


@contextmanager
def writing_errors(path: Path) -> Iterator[None]:
    """Turn the system's refusal to write `path` into an AudioError that says why."""
    folder = path.absolute().parent
    try:
        yield
    except OSError as error:
        if is_full_disk(error):
            raise AudioError(f'The disk is full, so "{path.name}" was not written.') from error
        if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            raise AudioError(f'The folder "{folder}" is not writable.') from error
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            raise AudioError(f'The folder "{folder}" does not exist.') from error
        raise AudioError(f'"{path.name}" could not be written: {error.strerror or error}.') from error


# ---- resampling ----


def resampled_length(sample_count: int, from_rate: int, to_rate: int) -> int:
    """sample_count * to_rate / from_rate, halves rounded up."""
    return (2 * sample_count * to_rate + from_rate) // (2 * from_rate)


def resample(samples: npt.NDArray[np.floating], from_rate: int, to_rate: int) -> Samples:
    """float (..., samples) at another rate: float32 (..., resampled_length(samples, from_rate, to_rate)).

    >>> resample(np.zeros((2, 44100), np.float32), 44100, 16000).shape
    (2, 16000)
    """
    *outer, count = samples.shape
    if from_rate == to_rate:
        return samples.astype(np.float32)
    rows = samples.reshape(int(np.prod(outer)), count).astype(np.float32)
    return Resampler(from_rate, to_rate, len(rows)).push(rows, last=True).reshape(*outer, -1)


class Resampler:
    """Resamples a stream block by block; the blocks given back join to what `resample` gives for the whole."""

    def __init__(self, from_rate: int, to_rate: int, channels: int) -> None:
        self._stream = soxr.ResampleStream(from_rate, to_rate, channels, dtype="float32", quality=QUALITY)
        self._from_rate, self._to_rate = from_rate, to_rate
        self._taken = self._given = 0

    def push(self, block: Samples, last: bool = False) -> Samples:
        """Take float32 (channels, n), give float32 (channels, m). m is often 0 at first: soxr answers late. With `last`
        all that is left comes out, so that the total is exactly resampled_length of the total taken."""
        frames = np.ascontiguousarray(block.T, np.float32)
        ready = self._stream.resample_chunk(frames, last=last)
        self._taken += len(frames)
        if last:
            due = resampled_length(self._taken, self._from_rate, self._to_rate) - self._given
            ready = np.pad(ready[:due], ((0, max(0, due - len(ready))), (0, 0)))
        self._given += len(ready)
        return np.ascontiguousarray(ready.T)


# ---- where to cut ----


def quietest_frame(loudness_db: npt.NDArray[np.floating], start: int, stop: int) -> int:
    """The quietest frame in start..stop-1, a good place to cut; among equals the one nearest the middle of the range.
    ValueError when the range holds no frame."""
    start, stop = max(start, 0), min(stop, len(loudness_db))
    if start >= stop:
        raise ValueError(f"no frame between {start} and {stop}")
    quietest = start + np.flatnonzero(loudness_db[start:stop] == loudness_db[start:stop].min())
    return int(quietest[np.argmin(np.abs(quietest - (start + stop - 1) / 2))])
