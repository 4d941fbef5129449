"""Audio in memory, audio streamed from and to files, and resampling.

`read_audio` and `write_audio` are for audio that fits in memory; `AudioSource` and `AudioWriter` hold one block at a
time, so hours need no more memory than seconds. Samples are always float32 (channels, samples), full scale -1..1.
Every problem with a file is an AudioError with a one-sentence message for the user.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np

from engine.audio.channels import Samples, fold
from engine.audio.containers import refuse_outside_limits
from engine.audio.decoder import Decoder
from engine.audio.encoders import open_encoder, refuse_unwritable
from engine.audio.result_format import DEPTHS
from engine.audio.streams import Reader
from engine.audio.structure import no_sound
from engine.errors import AudioError, ProvenanceError
from engine.files import replacing, writing_errors
from engine.provenance.installation import SWITCHED_OFF, Installation
from engine.provenance.statement import Statement

_LARGEST_SAMPLE = 1e10  # above the largest 32-bit integer, which some programs write unscaled as floats
READ_BLOCK = 1 << 18  # samples per channel that read_audio reads at a time


@dataclass(frozen=True, eq=False)
class Audio:
    """A recording in memory: `samples` float32 (channels, samples) at `rate` Hz. Raises ValueError for another shape.

    statement: how it was made, if it is synthetic; a file that it is written to says so.

    >>> Audio(np.zeros((2, 44100), np.float32), 44100).duration_s
    1.0
    """

    samples: Samples
    rate: int
    statement: Statement | None = None

    def __post_init__(self) -> None:
        if self.samples.ndim != 2:
            raise ValueError(f"samples must be (channels, samples), not {self.samples.shape}")
        if self.samples.shape[0] == 0:
            raise ValueError("samples must have at least one channel")
        if not 0 < self.rate < math.inf:
            raise ValueError(f"rate must be above 0 Hz, not {self.rate}")
        object.__setattr__(self, "samples", np.asarray(self.samples, np.float32))

    @property
    def channels(self) -> int:
        """Number of channels."""
        return int(self.samples.shape[0])

    @property
    def sample_count(self) -> int:
        """Samples per channel."""
        return int(self.samples.shape[1])

    @property
    def duration_s(self) -> float:
        """Duration in seconds."""
        return self.sample_count / self.rate

    def mono(self) -> Samples:
        """Return the voice that the channels hold, float32 (samples,): their mean where they are equal (see `fold`)."""
        return fold(self.samples, self.rate)

    def blocks(self, samples_per_block: int) -> Iterator[Samples]:
        """Yield float32 (channels, samples_per_block), the last block possibly shorter. Raises AudioError for NaN."""
        for start in range(0, self.sample_count, samples_per_block):
            block = self.samples[:, start : start + samples_per_block]
            refuse_no_sound(block, "The recording")
            yield block


# ---- in ----


class AudioSource:
    """An audio file, read once from its beginning.

    `sample_count` comes from the header: good enough for a progress bar, None if unknown. Raises AudioError if the file
    is missing, damaged, incomplete or unsupported.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._decoder = Decoder(self.path)
        self.rate = self._decoder.rate
        self.channels = self._decoder.channels
        self.sample_count = self._decoder.sample_count
        try:
            refuse_outside_limits(self.path, self.rate, self.channels)
            if self.sample_count == 0:
                raise no_sound(self.path)
        except AudioError:
            self.close()
            raise

    @property
    def duration_s(self) -> float | None:
        """Duration in seconds according to the header; None if unknown."""
        return None if self.sample_count is None else self.sample_count / self.rate

    def blocks(self, samples_per_block: int) -> Iterator[Samples]:
        """Yield float32 (channels, samples_per_block), the last block possibly shorter.

        Raises AudioError where the file proves to be damaged, incomplete or empty, or holds NaN or infinity.
        """
        if samples_per_block < 1:
            raise ValueError(f"samples_per_block must be at least 1, not {samples_per_block}")
        reader = Reader(self._checked_chunks(), self.channels)
        while (block := reader.read(samples_per_block)).shape[1]:
            yield block

    def _checked_chunks(self) -> Iterator[Samples]:
        """Yield the decoder's chunks, checking that all are finite and that there are any."""
        count = 0
        for chunk in self._decoder.chunks():
            refuse_no_sound(chunk, f'"{self.path.name}"', count / self.rate)
            count += chunk.shape[1]
            yield chunk
        if count == 0:
            raise no_sound(self.path)

    def close(self) -> None:
        """Close the file; a `with` statement does this."""
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
    """Read a whole audio file. Raises AudioError, with a one-sentence message, for any problem with it.

    >>> vocal = read_audio("vocal.flac")
    >>> vocal.rate, vocal.channels, vocal.duration_s
    (44100, 1, 3.0)
    >>> read_audio("no-such-file.wav")
    Traceback (most recent call last):
    engine.errors.AudioError: ...
    """
    with open_audio(path) as source:
        return Audio(np.concatenate(list(source.blocks(READ_BLOCK)), axis=1), source.rate)


# ---- out ----


class AudioWriter:
    """Write an audio file; the suffix selects .wav (of any length), .flac or .aiff, .mp3, .m4a or .ogg.

    Use it in a `with` statement. The samples go to a temporary file in the same folder, which is renamed to the target
    when the block succeeds and deleted when it raises. Raises AudioError if the format does not support the rate or
    channels, the folder is missing or not writable, the disk is full, or nothing was written.

    statement: how the recording was made, if it is synthetic: it becomes a tag, and where the format can hold them
    content credentials, signed by `installation` (by default that of the environment). If they cannot be signed, the
    file is written without them, and `unsigned` gives the reason. time_reference, mp3_kbps, bits: see
    `open_encoder`.
    """

    def __init__(
        self,
        path: Path | str,
        rate: int,
        channels: int,
        statement: Statement | None = None,
        installation: Installation | None = None,
        time_reference: int | None = None,
        mp3_kbps: int = 0,
        bits: int = DEPTHS[0],
    ) -> None:
        self.path, self.rate, self.channels = Path(path), rate, channels
        self._count = 0
        self._suffix = self.path.suffix.lower()
        self._installation = installation or Installation.from_environment()
        self._statement = statement if self._installation.signs else None
        self.unsigned = SWITCHED_OFF if statement and not self._installation.signs else None
        refuse_outside_limits(self.path, rate, channels)
        refuse_unwritable(self._suffix, rate, channels)
        comment = self._statement.as_tag() if self._statement else ""
        with ExitStack() as stack, writing_errors(self.path):
            if self.path.is_dir():
                raise AudioError(f'"{self.path}" is a folder; choose a file name.')
            self._unfinished = stack.enter_context(replacing(self.path))
            self._file: BinaryIO = self._unfinished.open("x+b")
            stack.callback(self._close)
            self._encoder = open_encoder(
                self._file, self._suffix, rate, channels, comment, time_reference, mp3_kbps, bits
            )
            stack.callback(self._encoder.abandon)  # which does nothing once it has finished
            self._stack = stack.pop_all()

    def write(self, block: Samples) -> None:
        """Append float32 (channels, samples), clipped at full scale. Raises AudioError for NaN and infinity."""
        if block.ndim != 2 or block.shape[0] != self.channels:
            raise ValueError(f"block must be ({self.channels}, samples), not {block.shape}")
        if not np.isfinite(block).all():
            raise AudioError(f'"{self.path.name}" was not written: the audio holds NaN or infinity.')
        with writing_errors(self.path):
            self._encoder.write(block)
        self._count += block.shape[1]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self._stack.__exit__(kind, error, trace)
            return
        with writing_errors(self.path), self._stack:
            self._finish()

    def _finish(self) -> None:
        if self._count == 0:
            raise AudioError(f'"{self.path.name}" was not written: there is no audio to write (0 samples).')
        self._encoder.finish()
        self._file.close()
        if self._statement:
            self._sign(self._statement)

    def _sign(self, statement: Statement) -> None:
        from engine.provenance.manifest import MEDIA_TYPES, attach_credentials  # a moment to load, for synthetic ones

        if self._suffix not in MEDIA_TYPES:
            return  # its tags say it
        try:
            attach_credentials(self._unfinished, self._suffix, statement, self._installation.identity())
        except ProvenanceError as cause:
            self.unsigned = str(cause)

    def _close(self) -> None:
        with suppress(OSError):  # a full disk refuses the last flush too
            self._file.close()


def write_audio(path: Path | str, audio: Audio) -> None:
    """Write a whole recording. Raises AudioError as AudioWriter does, leaving any existing file untouched.

    A synthetic recording is signed (see AudioWriter); where that fails, a warning gives the reason.

    >>> write_audio("louder.mp3", Audio(1.2 * read_audio("vocal.flac").samples, 44100))
    """
    with AudioWriter(path, audio.rate, audio.channels, audio.statement) as writer:
        writer.write(audio.samples)
    if writer.unsigned not in (None, SWITCHED_OFF):
        warnings.warn(f'"{writer.path.name}" has no content credentials. {writer.unsigned}', stacklevel=2)


def refuse_no_sound(samples: Samples, holder: str, from_s: float | None = None) -> None:
    """Raise AudioError for invalid samples: NaN, infinity, or values far beyond full scale, which is 1.

    holder, from_s: for the message: the name of the recording, and where in it the samples begin. Unscaled integers
    stored as floats are allowed.
    """
    peak = float(np.abs(samples).max(initial=0.0))
    if not math.isfinite(peak):
        if from_s is None:
            raise AudioError(f"{holder} holds invalid samples (NaN or infinity).")
        raise AudioError(f"{holder} holds invalid samples (NaN or infinity), {from_s:.1f} seconds in or just after.")
    if peak > _LARGEST_SAMPLE:
        beyond = f"samples of {peak:.0e}, where full scale is 1"
        if from_s is None:
            raise AudioError(f"{holder} holds {beyond}: export it again with another program.")
        raise AudioError(
            f"{holder} holds {beyond}, {from_s:.1f} seconds in or just after: export it again with another program."
        )
