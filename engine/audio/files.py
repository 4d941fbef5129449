"""Audio in memory, audio streamed from and to files, and resampling.

`read_audio` and `write_audio` are for audio that fits in memory; `AudioSource` and `AudioWriter` hold one block at a
time, so hours need no more memory than seconds. Samples are always float32 (channels, samples), full scale -1..1.
Every problem with a file is an AudioError with a one-sentence message for the user.
"""

import io
import math
import os
import shutil
import tempfile
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import numpy as np
import numpy.typing as npt
from typing_extensions import TypeAliasType

from engine.audio.arrays import rate_of, refuse_unscaled, samples_of
from engine.audio.channels import Samples, fold
from engine.audio.containers import refuse_outside_limits
from engine.audio.decoder import Decoder
from engine.audio.players import player
from engine.audio.result_format import DEPTHS
from engine.audio.session_metadata import SessionPlace, place_of
from engine.audio.streams import BLOCK_S, Reader
from engine.audio.structure import no_sound
from engine.audio.written_formats import open_encoder, refuse_unwritable
from engine.errors import AudioError, ProvenanceError
from engine.files import as_path, named, on_track, replacing, shown_name, writing_errors
from engine.provenance.installation import SWITCHED_OFF, Installation
from engine.provenance.statement import Statement
from engine.texts import ntr, numeral, tr

_LARGEST_SAMPLE = 1e10  # above the largest 32-bit integer, which some programs write unscaled as floats
_LONGEST_PLAYED_S = 600.0  # in a notebook, which then holds the samples


@dataclass(frozen=True, eq=False, repr=False)
class Audio:
    """A recording in memory.

    - samples: array of numbers (samples,) or (channels, samples), full scale is -1..1; integers of 8, 16 and 32 bits
      are scaled to it. Kept as float32 (channels, samples).
    - rate: samples per second, in Hz
    - statement: how it was made, if it is synthetic; files written from it state this
    - place: the position of its file in a session; a .wav written from it has the same position
    - notes: sentences about how it was read, as in `AudioSource`

    Raises AudioError for more than 8 channels, as (samples, channels) would be, and for anything else that is no
    recording.

    Examples
    --------
    >>> Audio(np.zeros(44100), 44100)
    Audio(1.0 s, 1 channel, 44100 Hz)
    """

    samples: Samples
    rate: int
    statement: Statement | None = None
    place: SessionPlace | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "samples", samples_of(self.samples))
        object.__setattr__(self, "rate", rate_of(self.rate))

    def __repr__(self) -> str:
        channels = "1 channel" if self.channels == 1 else tr("{channels} channels", channels=self.channels)
        return f"Audio({self.duration_s:.1f} s, {channels}, {self.rate} Hz)"

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        """Return the samples (channels, samples): so `np.asarray(audio)` is them."""
        return np.array(self.samples, dtype, copy=copy)

    def _repr_html_(self) -> str | None:
        """Return a player, which notebooks show; None for a recording too long to be part of one."""
        return player(self.as_flac()) if self.duration_s <= _LONGEST_PLAYED_S else None

    def as_flac(self) -> bytes:
        """Return the recording as a FLAC of 24 bits, clipped at full scale. Raises AudioError for a rate it cannot
        hold."""
        refuse_unwritable(".flac", self.rate, self.channels)
        file = io.BytesIO()
        encoder = open_encoder(file, ".flac", self.rate, self.channels)
        encoder.write(self.samples)
        encoder.finish()
        return file.getvalue()

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
        """Return the single voice that the channels contain, float32 (samples,).

        The mean of the channels if they are equal; otherwise they are aligned in phase and time first (see `fold`).
        """
        return fold(self.samples, self.rate)

    def blocks(self, samples_per_block: int | None = None) -> Iterator[Samples]:
        """Yield blocks (channels, samples_per_block), by default of four seconds; the last may be
        shorter.

        Raises AudioError for NaN, infinity, and values far beyond full scale.
        """
        count = BLOCK_S * self.rate if samples_per_block is None else samples_per_block
        for start in range(0, self.sample_count, count):
            block = self.samples[:, start : start + count]
            refuse_no_sound(block, tr("The recording"))
            yield block


# ---- in ----


class AudioSource:
    """An audio file, read once from its beginning.

    - path: the file
    - rate: samples per second, in Hz
    - channels: how many it has, 1 to 8
    - sample_count: samples per channel by the header: good enough for a progress bar, None if unknown
    - notes: sentences about how the file is read: which of several sound tracks, and that it holds more than its header
      says
    - timing_note: that it may begin late because its encoder's delay is unknown, which matters next to other recordings
    - tracks: the sound tracks, if this kind of file can have several
    - track: the number of the track that is read, 1 for the first

    Raises AudioError if the file is missing, damaged, incomplete or unsupported.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = as_path(path)
        self._decoder = Decoder(self.path)
        self.rate = self._decoder.rate
        self.channels = self._decoder.channels
        self.sample_count = self._decoder.sample_count
        self.notes, self.timing_note = self._decoder.notes, self._decoder.timing_note
        self.tracks, self.track = self._decoder.tracks, self._decoder.track
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

    def blocks(self, samples_per_block: int | None = None) -> Iterator[Samples]:
        """Yield blocks (channels, samples_per_block), by default of four seconds; the last may be
        shorter.

        Raises AudioError if the file turns out to be damaged, incomplete or empty, or holds NaN or infinity.
        """
        count = BLOCK_S * self.rate if samples_per_block is None else samples_per_block
        if count < 1:
            raise ValueError(f"samples_per_block must be at least 1, not {count}")
        reader = Reader(self._checked_chunks(), self.channels)
        while (block := reader.read(count)).shape[1]:
            yield block

    def _checked_chunks(self) -> Iterator[Samples]:
        """Yield the decoder's chunks, checking that all are finite and that there are any."""
        count = 0
        for chunk in self._decoder.chunks():
            refuse_no_sound(chunk, f'"{shown_name(self.path)}"', count / self.rate)
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


def open_audio(path: Path | str, track: int | None = None) -> AudioSource:
    """Open an audio file to read block by block: `with open_audio(path) as source`, then `source.blocks()`.

    Parameters
    ----------
    path : Path or str
        A file of any kind and length.
    track : int, optional
        Which sound track of several to read, 1 for the first; by default the one of `on_track`, else the one that
        players play, or another one where that is silent or cannot be read.

    Returns
    -------
    AudioSource
        The open file, to be read once from its beginning.

    Raises
    ------
    AudioError
        If the file is missing, damaged or unsupported.

    Examples
    --------
    >>> with open_audio("vocal.flac") as source:
    ...     sum(block.shape[1] for block in source.blocks(44100))
    132300
    """
    return AudioSource(path if track is None else on_track(path, track))


def notes_of(paths: Iterable[Path], is_timed: bool = False) -> list[str]:
    """Return sentences on how files are read, each once; raises AudioError if one cannot be read.

    is_timed: whether they lie beside each other, so that those whose start is not known are named too.

    >>> notes_of([Path("vocal.flac")])
    []
    """
    found: dict[str | None, None] = {}
    for path in paths:
        with open_audio(path) as source:
            found |= dict.fromkeys((*source.notes, source.timing_note if is_timed else None))
    return [note for note in found if note]


def read_audio(path: Path | str | BinaryIO, track: int | None = None) -> Audio:
    """Read a whole audio file.

    Parameters
    ----------
    path : Path, str or open file
        A file of any kind and length that fits in memory; it may be open for reading bytes, such as BytesIO.
    track : int, optional
        Which sound track to read, as for `open_audio`.

    Returns
    -------
    Audio
        Float32 (channels, samples) at the file's own rate.

    Raises
    ------
    AudioError
        If the file is missing, damaged, incomplete or unsupported.

    Examples
    --------
    >>> vocal = read_audio("vocal.flac")
    >>> vocal.rate, vocal.channels, vocal.duration_s
    (44100, 1, 3.0)
    >>> read_audio("no-such-file.wav")
    Traceback (most recent call last):
    engine.errors.AudioError: ...
    """
    if not isinstance(path, str | os.PathLike):
        return _read_open(path, track)
    with open_audio(path, track) as source:
        samples = np.concatenate(list(source.blocks()), axis=1)
        return Audio(samples, source.rate, place=place_of(source.path), notes=source.notes)


# in memory, a file, or samples and their rate in Hz; an alias with a name, which signatures show
Recording = TypeAliasType("Recording", Audio | Path | str | BinaryIO | tuple[npt.ArrayLike, float])


def audio_of(recording: Recording) -> Audio:
    """Return a recording in memory, however it is given: an Audio, a file, also an open one, or a pair (samples, rate).

    Raises AudioError for anything else, for a file that cannot be read, and for floats that were integers.

    >>> audio_of((np.zeros(44100), 44100)).duration_s, audio_of("vocal.flac").duration_s
    (1.0, 3.0)
    """
    if isinstance(recording, tuple) and len(recording) == 2:
        audio = Audio(*recording)  # type: ignore[arg-type]  # it checks them
        refuse_unscaled(audio.samples)
        return audio
    if isinstance(recording, Audio):  # which may be far above full scale on purpose
        return recording
    return read_audio(recording)  # which says what is no file


def _no_recording(given: object) -> AudioError:
    return AudioError(
        tr(
            "A recording is the path of a file, an open file, an Audio, or a pair (samples, rate), not {name}.",
            name=type(given).__name__,
        )
    )


def _read_open(recording: BinaryIO, track: int | None) -> Audio:
    """Read an open file, such as BytesIO, from its beginning: by a file on the disk, as all else that reads files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording"
        try:
            if recording.seekable():
                recording.seek(0)
            with path.open("wb") as copied:
                shutil.copyfileobj(recording, copied)
        except (AttributeError, TypeError) as cause:  # it is no file, or one of text
            raise _no_recording(recording) from cause
        except (ValueError, OSError) as cause:
            raise AudioError(tr("The open file cannot be read: {cause}.", cause=str(cause).rstrip("."))) from cause
        return read_audio(named(path, str(getattr(recording, "name", type(recording).__name__))), track)


# ---- out ----


class AudioWriter:
    """Write an audio file block by block.

    Use it in a `with` statement. The samples go to a temporary file in the same folder, which is renamed to the target
    when the block succeeds and deleted when it raises.

    - path: the suffix selects the format: .wav (of any length), .flac or .aiff, .mp3, .m4a or .ogg
    - rate: samples per second, in Hz
    - channels: how many each block has, 1 to 8
    - statement: how the recording was made, if it is synthetic: it becomes a tag, and where the format can hold them
      content credentials. If they cannot be signed, the file is written without, and `unsigned` gives the reason.
    - installation: signs the credentials; by default that of the environment
    - place: the file's position in a session, counted at any rate; only .wav can hold it
    - mp3_kbps: constant rate of .mp3 in thousands of bits per second; 0 is the best variable rate
    - bits: of each sample of .wav, .flac and .aiff; see `engine.audio.result_format`

    Raises AudioError if the format does not support the rate or channels, the folder is missing or not writable, the
    disk is full, or nothing was written.
    """

    def __init__(
        self,
        path: Path | str,
        rate: int,
        channels: int,
        statement: Statement | None = None,
        installation: Installation | None = None,
        place: SessionPlace | None = None,
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
                raise AudioError(tr('"{path}" is a folder; choose a file name.', path=self.path))
            self._unfinished = stack.enter_context(replacing(self.path))
            self._file: BinaryIO = self._unfinished.open("x+b")
            stack.callback(self._close)
            self._encoder = open_encoder(self._file, self._suffix, rate, channels, comment, place, mp3_kbps, bits)
            stack.callback(self._encoder.abandon)  # which does nothing once it has finished
            self._stack = stack.pop_all()

    def write(self, block: Samples) -> None:
        """Append samples, float32 (channels, samples), clipped at full scale.

        Raises AudioError for NaN and infinity, and if the disk refuses them.
        """
        if block.ndim != 2 or block.shape[0] != self.channels:
            raise ValueError(f"block must be ({self.channels}, samples), not {block.shape}")
        if not np.isfinite(block).all():
            raise AudioError(tr('"{name}" was not written: the audio holds NaN or infinity.', name=self.path.name))
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
            raise AudioError(
                tr('"{name}" was not written: there is no audio to write (0 samples).', name=self.path.name)
            )
        self._encoder.finish()
        self._file.close()
        if self._statement:
            self._sign(self._statement)

    def _sign(self, statement: Statement) -> None:
        from engine.provenance.credentials import (  # a moment to load, for synthetic ones
            MEDIA_TYPES,
            attach_credentials,
        )

        if self._suffix not in MEDIA_TYPES:
            return  # its tags say it
        try:
            attach_credentials(self._unfinished, self._suffix, statement, self._installation.identity())
        except ProvenanceError as cause:
            self.unsigned = str(cause)

    def _close(self) -> None:
        with suppress(OSError):  # a full disk refuses the last flush too
            self._file.close()


def write_audio(path: Path | str, audio: Recording) -> None:
    """Write a whole recording, completely or not at all.

    A synthetic recording is signed (see AudioWriter); if that fails, a warning gives the reason.

    Parameters
    ----------
    path : Path or str
        The suffix selects the format, as in AudioWriter.
    audio : Audio, or a pair (samples, rate)
        The recording to write, clipped at full scale.

    Raises
    ------
    AudioError
        As AudioWriter does; an existing file is then left untouched.

    Examples
    --------
    >>> write_audio("louder.mp3", Audio(1.2 * read_audio("vocal.flac").samples, 44100))
    """
    audio = audio_of(audio)
    with AudioWriter(path, audio.rate, audio.channels, audio.statement, place=audio.place) as writer:
        writer.write(audio.samples)
    if writer.unsigned not in (None, SWITCHED_OFF):
        warnings.warn(
            tr('"{name}" has no content credentials. {unsigned}', name=writer.path.name, unsigned=writer.unsigned),
            stacklevel=2,
        )


def refuse_no_sound(samples: Samples, holder: str, from_s: float | None = None) -> None:
    """Raise AudioError for invalid samples: NaN, infinity, or values far beyond full scale, which is 1.

    holder, from_s: for the message: the name of the recording, and where in it the samples begin. Unscaled integers
    stored as floats are allowed.
    """
    peak = float(np.abs(samples).max(initial=0.0))
    if not math.isfinite(peak):
        if from_s is None:
            raise AudioError(tr("{holder} holds invalid samples (NaN or infinity).", holder=holder))
        raise AudioError(
            ntr(
                "{holder} holds invalid samples (NaN or infinity), {from_s} second in or just after.",
                "{holder} holds invalid samples (NaN or infinity), {from_s} seconds in or just after.",
                from_s=numeral(from_s, ".1f"),
                holder=holder,
            )
        )
    if peak > _LARGEST_SAMPLE:
        beyond = tr("samples of {peak}, where full scale is 1", peak=numeral(peak, ".0e"))
        if from_s is None:
            raise AudioError(
                tr("{holder} holds {beyond}: export it again with another program.", holder=holder, beyond=beyond)
            )
        raise AudioError(
            ntr(
                "{holder} holds {beyond}, {from_s} second in or just after: export it again with another program.",
                "{holder} holds {beyond}, {from_s} seconds in or just after: export it again with another program.",
                from_s=numeral(from_s, ".1f"),
                holder=holder,
                beyond=beyond,
            )
        )
