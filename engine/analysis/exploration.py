"""Explore a recording: its analysis, notes, loudness and waveform, and its spectrograms as image files.

The recording is read twice, block by block; the size of the result does not grow with the length of a long recording.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from engine.analysis.clipping import ClippingMeter
from engine.analysis.notes import Note, audible, find_notes, measure_histogram
from engine.analysis.pitch import TRUSTED
from engine.analysis.programme_loudness import LoudnessMeter
from engine.analysis.recording import Analysis, analyse_file, mono_from
from engine.analysis.spectrogram import SCALES, Scale, Shades, measure_spectrograms
from engine.audio.files import AudioSource, open_audio
from engine.errors import AudioError
from engine.progress import Report, no_report
from engine.texts import tr
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE, in_words

MOST_POINTS = 60_000  # of each curve: ten minutes at 10 ms
MOST_COLUMNS = 30_000  # of each spectrogram: five minutes at 10 ms
COLUMNS_PER_TILE = 2_000
MOST_NOTES = 4_000
_ANALYSIS_SHARE = 0.6  # of the processing time
_SILENT_DB = -120.0
_PNG_EFFORT = 4  # of 9


@dataclass(frozen=True)
class Curves:
    """Curves over time, one value every `step_s` from 0 s; hertz is 0 where there is no pitch."""

    step_s: float
    hertz: np.ndarray  # float32 (points,)
    confidence: np.ndarray  # float32 (points,), 0..1
    loudness_db: np.ndarray  # float32 (points,), the loudest within the step
    lowest: np.ndarray  # float32 (points,), the waveform within the step: -1..1
    highest: np.ndarray


@dataclass(frozen=True)
class Tile:
    """An image file of part of a spectrogram: greyscale, loud is white, the highest frequency at the top."""

    path: Path
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Picture:
    """A spectrogram: an overview, and tiles at full resolution if it is wider than the overview."""

    scale: Scale
    overview: Tile
    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Exploration:
    """The result of `explore_file`."""

    analysis: Analysis
    curves: Curves
    notes: Sequence[Note]  # the first MOST_NOTES
    histogram: np.ndarray  # seconds, (128,) by MIDI number
    pitch_quantiles: tuple[float, float, float] | None  # semitones: 5th percentile, median, 95th percentile
    loudness_lufs: float | None  # None for silence
    peak_db: float  # sample peak; not below -120
    clipped_runs: int  # flat tops
    pictures: Sequence[Picture]


def explore_file(
    path: Path | str,
    folder: Path,
    longest_s: float = float("inf"),
    scales: Sequence[Scale] = SCALES,
    report: Report = no_report,
) -> Exploration:
    """Explore a recording of any length, and write its spectrograms as PNG files into an existing folder.

    Raises AudioError if it cannot be read or is longer than `longest_s`; `report` may raise Cancelled.
    """

    def listening(fraction: float, message: str) -> None:
        report(_ANALYSIS_SHARE * fraction, message)

    def drawing(fraction: float) -> None:
        report(_ANALYSIS_SHARE + (1 - _ANALYSIS_SHARE) * fraction, tr("Drawing"))

    analysis = analyse_file(path, listening)
    if analysis.duration_s > longest_s:
        raise AudioError(
            tr("The recording is longer than {longest_s}, the maximum length.", longest_s=in_words(longest_s))
        )
    frames = range(0, len(analysis.pitch), -(-len(analysis.pitch) // MOST_COLUMNS))
    reading = _Reading(path, -(-len(analysis.pitch) // MOST_POINTS) * HOP)
    shades = measure_spectrograms(reading.pieces(), frames, scales, drawing)
    column_s = frames.step / FRAME_RATE
    voiced = analysis.pitch.semitones[audible(analysis.pitch, analysis.loudness_db)]
    low, middle, high = np.percentile(voiced, (5, 50, 95)).tolist() if len(voiced) else (0.0, 0.0, 0.0)
    return Exploration(
        analysis=analysis,
        curves=_curves(analysis, reading),
        notes=find_notes(analysis.pitch, analysis.loudness_db)[:MOST_NOTES],
        histogram=measure_histogram(analysis.pitch, analysis.loudness_db),
        pitch_quantiles=(low, middle, high) if len(voiced) else None,
        loudness_lufs=reading.meter.lufs(),
        peak_db=max(20.0 * np.log10(max(reading.peak, 1e-12)), _SILENT_DB),
        clipped_runs=reading.clipping.runs,
        pictures=[_drawn(one, scale, column_s, folder) for one, scale in zip(shades, scales, strict=True)],
    )


class _Reading:
    """The second pass over a recording: measure loudness and waveform while the spectrogram is computed."""

    def __init__(self, path: Path | str, samples_per_point: int) -> None:
        self._path, self._step = path, samples_per_point
        self._extremes: list[np.ndarray] = []
        self.peak = 0.0
        self.meter, self.clipping = LoudnessMeter(SAMPLE_RATE, 1), ClippingMeter(SAMPLE_RATE)

    def pieces(self) -> Iterator[np.ndarray]:
        """Yield the recording as mono at SAMPLE_RATE, float32 (samples,), a few seconds at a time."""
        rest = np.zeros(0, np.float32)
        with open_audio(self._path) as source:
            self.meter, self.clipping = LoudnessMeter(source.rate, source.channels), ClippingMeter(source.rate)
            for mono in mono_from(self._metered(source), source.rate):
                rest = self._take_in(np.concatenate((rest, mono)))
                yield mono
            self._take_in(rest, last=True)

    def _metered(self, source: AudioSource) -> Iterator[np.ndarray]:
        for block in source.blocks():
            self.meter.push(block)
            self.clipping.add(block)
            self.peak = max(self.peak, float(np.abs(block).max(initial=0.0)))
            yield block

    def extremes(self, points: int) -> np.ndarray:
        """Return the lowest and highest sample in each point's step, float32 (2, points)."""
        found = np.concatenate([np.zeros((2, 0), np.float32), *self._extremes], axis=1)[:, :points]
        return np.pad(found, ((0, 0), (0, points - found.shape[1])))

    def _take_in(self, samples: np.ndarray, last: bool = False) -> np.ndarray:
        """Record the extremes of all whole steps; return the remaining samples."""
        if last and len(samples) % self._step:
            samples = np.pad(samples, (0, self._step - len(samples) % self._step), mode="edge")
        steps = len(samples) // self._step
        if steps:
            rows = samples[: steps * self._step].reshape(steps, self._step)
            self._extremes.append(np.stack((rows.min(axis=1), rows.max(axis=1))))
        return samples[steps * self._step :]


def _curves(analysis: Analysis, reading: _Reading) -> Curves:
    """Return the curves with at most MOST_POINTS points, taking the frame with the highest confidence of each step."""
    frames = len(analysis.pitch)
    step = -(-frames // MOST_POINTS)
    starts = np.arange(0, frames, step)
    padded = np.pad(analysis.pitch.voicing, (0, len(starts) * step - frames), constant_values=-1.0)
    surest = starts + padded.reshape(len(starts), step).argmax(axis=1)
    confidence = analysis.pitch.voicing[surest]
    lowest, highest = np.clip(reading.extremes(len(starts)), -1.0, 1.0)
    return Curves(
        step_s=step / FRAME_RATE,
        hertz=np.where(confidence > TRUSTED, analysis.pitch.hertz[surest], 0.0).astype(np.float32),
        confidence=confidence,
        loudness_db=np.maximum.reduceat(analysis.loudness_db, starts),
        lowest=lowest,
        highest=highest,
    )


def _drawn(shades: Shades, scale: Scale, column_s: float, folder: Path) -> Picture:
    columns = shades.shape[1]
    together = -(-columns // COLUMNS_PER_TILE)
    small = shades if together == 1 else np.maximum.reduceat(shades, np.arange(0, columns, together), axis=1)
    end_s = small.shape[1] * together * column_s
    overview = Tile(_written(small, folder / f"{scale.name}.png"), 0.0, end_s)
    tiles = []
    for number, start in enumerate(range(0, columns, COLUMNS_PER_TILE) if together > 1 else ()):
        part = shades[:, start : start + COLUMNS_PER_TILE]
        path = _written(part, folder / f"{scale.name}-{number:02d}.png")
        tiles.append(Tile(path, start * column_s, (start + part.shape[1]) * column_s))
    return Picture(scale, overview, tiles)


def _written(shades: Shades, path: Path) -> Path:
    coarse = shades[::-1] & 0xFC  # 64 shades look the same and take a third less space
    Image.fromarray(coarse).save(path, "PNG", compress_level=_PNG_EFFORT)
    return path
