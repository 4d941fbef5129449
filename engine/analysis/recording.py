"""Analyse a recording: pitch, loudness, style, range and voice type, on one 10 ms grid.

`analyse` takes audio in memory, `analyse_file` a path. Both feed mono pieces at SAMPLE_RATE into slightly overlapping
windows, so that a frame has the same context whichever window it falls in, and only the curves (1.2 kB per second) are
kept. An hour of audio needs no more memory for its samples than a minute.
"""

import io
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.analysis.dryness import Dryness, DrynessMeter
from engine.analysis.loudness import measure_loudness
from engine.analysis.pitch import TRUSTED, Pitch, detect_pitch
from engine.analysis.style import Style, measure_style
from engine.analysis.vocal_range import VocalRange, measure_range
from engine.audio.channels import fold
from engine.audio.files import AudioSource, Recording, audio_of, open_audio
from engine.audio.resampling import Resampler
from engine.progress import Report, no_report
from engine.texts import joined, tr
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE, frame_count, hertz_to_semitones, semitones_to_hertz

# Both are multiples of 80 ms, where the grids of the engine (10 ms) and of the pitch detector (16 ms) meet.
WINDOW_FRAMES = 24 * FRAME_RATE
CONTEXT_FRAMES = 168  # more than a passage and the reach of the detector


@dataclass(frozen=True, eq=False, repr=False)
class Analysis:
    """The analysis of a recording. The curves have one value every 10 ms, frame i centred at i * 10 ms.

    - pitch: of each frame; `pitch.masked_hertz` has NaN where nothing is voiced
    - loudness_db: float32 (frames,), loudness in dB of full scale
    - style: melodic, rhythmic or spoken
    - vocal_range: lowest, highest and middle note; None where nothing is voiced
    - duration_s: seconds, to within a sample at SAMPLE_RATE
    - dryness: whether it is one dry voice
    - notes: sentences about how the file was read, as in `AudioSource`
    """

    pitch: Pitch
    loudness_db: np.ndarray
    style: Style
    vocal_range: VocalRange | None
    duration_s: float
    dryness: Dryness
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.loudness_db.shape != (len(self.pitch),):
            raise ValueError(f"{len(self.pitch)} frames of pitch, but loudness of shape {self.loudness_db.shape}")

    def __repr__(self) -> str:
        notes = (
            tr("{min} to {max}", min=self.vocal_range.min, max=self.vocal_range.max)
            if self.vocal_range
            else tr("no voice")
        )
        return f"Analysis({self.duration_s:.1f} s, {self.style}, {notes}, {len(self.pitch)} frames)"

    def _repr_png_(self) -> bytes:
        """Return a picture of the curves, which notebooks show."""
        from engine import plot_analysis  # a later room, which only the package's door knows

        picture = io.BytesIO()
        plot_analysis(self).savefig(picture, format="png")
        return picture.getvalue()

    @property
    def warning(self) -> str | None:
        """Sentences for the user: how the file was read, and whether it is no dry vocal or leaves the range."""
        return joined(" ", filter(None, (*self.notes, self.dryness.warning, self.pitch.beyond_warning))) or None

    @property
    def times_s(self) -> np.ndarray:
        """Time of each frame, float64 (frames,)."""
        return np.arange(len(self.pitch)) / FRAME_RATE


def analyse(recording: Recording, report: Report = no_report) -> Analysis:
    """Analyse a recording of any length, sample rate and number of channels.

    Parameters
    ----------
    recording : Audio, Path, str or pair (samples, rate)
        In memory, or a file, which is read block by block.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.

    Returns
    -------
    Analysis
        Pitch, loudness, style and range, every 10 ms.

    Raises
    ------
    AudioError
        If it is not a recording, or the file cannot be read.

    Examples
    --------
    >>> found = analyse("vocal.flac")
    >>> found.style, found.vocal_range.max
    ('melodic', 'F3')
    >>> len(found.pitch), float(found.times_s[100])
    (301, 1.0)
    """
    if isinstance(recording, str | os.PathLike):
        return analyse_file(recording, report)
    audio = audio_of(recording)
    return _analyse(mono_from(audio.blocks(), audio.rate), audio.duration_s, report)


def analyse_file(path: Path | str, report: Report = no_report) -> Analysis:
    """Analyse an audio file block by block, in memory that hardly grows with its length.

    Parameters
    ----------
    path : Path or str
        The file.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.

    Returns
    -------
    Analysis
        Pitch, loudness, style and range, every 10 ms.

    Raises
    ------
    AudioError
        If the file cannot be read.

    Examples
    --------
    >>> analyse_file("vocal.flac").duration_s
    3.0
    """
    with open_audio(path) as source:
        return replace(_analyse(mono_pieces(source), source.duration_s, report), notes=source.notes)


def mono_pieces(source: AudioSource) -> Iterator[np.ndarray]:
    """Yield the rest of a source as mono at SAMPLE_RATE, float32 (samples,), a few seconds at a time."""
    return mono_from(source.blocks(), source.rate)


def _analyse(pieces: Iterable[np.ndarray], expected_s: float | None, report: Report) -> Analysis:
    pitches: list[Pitch] = []
    levels: list[np.ndarray] = []
    kept_frames, done_s, meter = 0, 0.0, DrynessMeter()
    for window, kept in _windows(pieces):
        found, level_db = detect_pitch(window, SAMPLE_RATE), measure_loudness(window)
        meter.add(window, found, level_db, kept)
        pitches.append(found[kept])
        levels.append(level_db[kept])
        done_s = ((kept_frames - kept.start) * HOP + len(window)) / SAMPLE_RATE
        kept_frames += len(levels[-1])
        # without a known length it approaches 1
        share = done_s / (done_s + 60.0) if expected_s is None else done_s / max(expected_s, 1e-3)
        report(min(1.0, share), tr("Analysing"))
    pitch, loudness_db = _joined(pitches), np.concatenate(levels)
    return Analysis(
        pitch=pitch,
        loudness_db=loudness_db,
        style=measure_style(pitch, loudness_db),
        vocal_range=measure_range(pitch, loudness_db),
        duration_s=done_s,
        dryness=meter.finish(loudness_db, done_s),
    )


def mono_from(blocks: Iterable[np.ndarray], rate: int) -> Iterator[np.ndarray]:
    """Convert blocks (channels, samples) at `rate` to mono pieces (samples,) at SAMPLE_RATE."""
    if rate == SAMPLE_RATE:
        for block in blocks:
            yield fold(block, rate)
        return
    resampler = Resampler(rate, SAMPLE_RATE, channels=1)
    for block in blocks:
        yield resampler.push(fold(block, rate)[None])[0]
    yield resampler.push(np.zeros((1, 0), np.float32), last=True)[0]


def _windows(pieces: Iterable[np.ndarray]) -> Iterator[tuple[np.ndarray, slice]]:
    """Yield each window's samples with context, and its frames to keep; these together form the whole grid."""
    held = np.zeros(0, np.float32)
    context = 0  # frames at the start of `held` that were already kept
    for piece in pieces:
        held = np.concatenate((held, piece))
        while len(held) > (context + WINDOW_FRAMES + CONTEXT_FRAMES) * HOP:
            stop = context + WINDOW_FRAMES
            yield held[: (stop + CONTEXT_FRAMES) * HOP], slice(context, stop)
            held = held[(stop - CONTEXT_FRAMES) * HOP :]
            context = CONTEXT_FRAMES
    yield held, slice(context, frame_count(len(held)))


def _joined(pitches: list[Pitch]) -> Pitch:
    """Concatenate the windows' curves, interpolating across unvoiced sections as detect_pitch does."""
    whole = Pitch.joined(pitches)
    trusted = np.flatnonzero(whole.voicing > TRUSTED)
    if len(pitches) == 1 or not len(trusted):
        return whole
    hertz = semitones_to_hertz(np.interp(np.arange(len(whole)), trusted, hertz_to_semitones(whole.hertz[trusted])))
    return replace(whole, hertz=hertz.astype(np.float32))
