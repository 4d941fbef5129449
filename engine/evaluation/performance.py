"""Scores of a performance: how well an output keeps the melody, voicing, silences and length of its source.

    score_performance(source, output, transpose)              of two files; needs no extra packages
    trace(recording), compare_performances(source, output)    a source of many comparisons is measured once

Mono at 16 kHz is measured. A score that does not apply to a recording (the pitch of a whisper, the leak into silence
where there is none) is None, never NaN.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.analysis.passage_levels import PassageLeveller
from engine.analysis.pitch import VOICED, Pitch
from engine.analysis.pitch_detector import detect_stream
from engine.audio.channels import fold
from engine.audio.files import AudioSource, Recording, audio_of, open_audio
from engine.audio.resampling import Resampler
from engine.conversion.pitch_shaping import folding_semitones
from engine.errors import AudioError
from engine.progress import Report, no_report
from engine.reprs import Brief
from engine.texts import tr
from engine.units import FRAME_RATE, hertz_to_semitones, semitones_to_hertz
from engine.workers import Threads, Workers

EVALUATION_RATE = 16_000  # hertz, of all networks
SAME_NOTE_CENTS = 50.0  # a frame within this of the target pitch is on the note
FEWEST_FRAMES = 11  # of the pitch detector that a pitch score is given of
LEVEL_HOP = 160  # samples at EVALUATION_RATE: 10 ms
PITCH_HOP = 256  # samples at EVALUATION_RATE: 16 ms, the pitch detector's own grid
LOUD_PERCENTILE = 95  # of the frame levels: "the level of the voice"
SILENCE_BELOW_VOICE_DB = 50.0
SILENCE_FRAMES = 11  # this many silent frames in a row, or the tail of a note would count as leak
FEWEST_SILENT_FRAMES = 6
POWER_FLOOR = 1e-12  # -120 dB
PIECE_S = 10.0  # recordings are read and analysed in pieces of this length
NOTHING_TO_SCORE = tr("A recording without any samples cannot be scored.")


@dataclass(frozen=True, repr=False)
class Performance(Brief):
    """Pitch, voicing and level of a recording.

    - duration_s: seconds
    - hertz, confidence: float64 (pitch frames,), fundamental frequency in Hz and confidence 0..1, on the detector's own
      grid of 16 ms
    - level_db: float64 (level frames,), in dB of full scale, every 10 ms
    """

    duration_s: float
    hertz: np.ndarray
    confidence: np.ndarray
    level_db: np.ndarray

    @property
    def voiced(self) -> np.ndarray:
        """bool (pitch frames,)."""
        return self.confidence > VOICED


@dataclass(frozen=True)
class PerformanceScores:
    """Scores of melody, voicing, silence and length; None where one does not apply.

    - pitch_accuracy: share of frames voiced in both that are within 50 cents of the wanted pitch, 0..1
    - pitch_corr: correlation of log pitch on those frames, -1..1
    - voicing_error: share of frames voiced in one and not in the other, 0..1
    - leak_db: level of the output where the source is silent, against the output's voice, in dB; lower is better
    - length_error: seconds by which the output is longer
    - pitch_seconds: seconds voiced in both, on which the first two scores are based
    """

    pitch_accuracy: float | None
    pitch_corr: float | None
    voicing_error: float | None
    leak_db: float | None
    length_error: float
    pitch_seconds: float


def score_performance(source: Path | str, output: Path | str, transpose: float = 0.0) -> PerformanceScores:
    """Score melody, silence and length of a conversion; about 0.02 s of work per second of both.

    Parameters
    ----------
    source, output : Path or str
        Files of any length, before and after.
    transpose : float
        Semitones by which the output should be higher.

    Returns
    -------
    PerformanceScores
        The scores of the output.

    Raises
    ------
    AudioError
        If a file cannot be read.

    Examples
    --------
    >>> scores = score_performance("vocal.flac", "vocal.flac")
    >>> scores.pitch_accuracy, scores.voicing_error, scores.length_error
    (1.0, 0.0, 0.0)
    """
    return compare_performances(trace_file(source), trace_file(output), transpose)


def trace_file(path: Path | str, report: Report = no_report, threads: Threads | None = None) -> Performance:
    """Analyse the performance in a file of any length, on that many threads, by default on all cores.

    Raises AudioError; `report` may raise Cancelled.
    """
    with open_audio(path) as recording:
        return _trace(_reporting(recording, report), recording.rate, threads)


def _reporting(recording: AudioSource, report: Report) -> Iterator[np.ndarray]:
    """Yield the pieces of a recording and report progress after each."""
    read_s = 0.0
    for block in recording.blocks(round(PIECE_S * recording.rate)):
        yield block
        read_s += block.shape[1] / recording.rate
        report(min(1.0, read_s / recording.duration_s) if recording.duration_s else 0.5, tr("scoring"))


def trace(recording: Recording) -> Performance:
    """Measure pitch, voicing and level of a recording.

    Parameters
    ----------
    recording : Audio, Path, str or pair (samples, rate)
        Of any length.

    Returns
    -------
    Performance
        For `compare_performances`.

    Raises
    ------
    AudioError
        If it is not a recording.

    Examples
    --------
    >>> vocal = trace("vocal.flac")
    >>> compare_performances(vocal, vocal, transpose=0.0).pitch_accuracy
    1.0
    """
    audio = audio_of(recording)
    step = round(PIECE_S * audio.rate)
    blocks = (audio.samples[:, start : start + step] for start in range(0, audio.sample_count, step))
    return _trace(blocks, audio.rate)


def compare_performances(source: Performance, output: Performance, transpose: float = 0.0) -> PerformanceScores:
    """Score melody, silence and length of a conversion by what `trace` measured.

    Parameters
    ----------
    source, output : Performance
        Before and after.
    transpose : float
        Semitones by which the output should be higher.

    Returns
    -------
    PerformanceScores
        The scores of the output.

    Examples
    --------
    >>> vocal = trace("vocal.flac")
    >>> compare_performances(vocal, vocal, transpose=12.0).pitch_accuracy  # an octave higher was expected
    0.0
    """
    return PerformanceScores(
        pitch_accuracy=_pitch_accuracy(source, output, transpose),
        pitch_corr=_pitch_correlation(source, output),
        voicing_error=_voicing_error(source, output),
        leak_db=_leak_db(source.level_db, output.level_db),
        length_error=output.duration_s - source.duration_s,
        pitch_seconds=len(_notes_in_both(source, output)[0]) * PITCH_HOP / EVALUATION_RATE,
    )


def moved(performance: Performance, semitones: np.ndarray) -> Performance:
    """Return the performance with its pitch moved by `semitones` (frames,), one value every 10 ms."""
    seconds = np.arange(len(performance.hertz)) * PITCH_HOP / EVALUATION_RATE
    there = np.interp(seconds, np.arange(len(semitones)) / FRAME_RATE, semitones)
    return replace(performance, hertz=performance.hertz * 2.0 ** (there / 12.0))


def sung_at(performance: Performance, pitch: Pitch) -> Performance:
    """Return the performance with another melody: the pitch that a take was to have, (frames,)."""
    seconds = np.arange(len(performance.hertz)) * PITCH_HOP / EVALUATION_RATE
    semitones = np.interp(seconds, np.arange(len(pitch)) / FRAME_RATE, pitch.semitones)
    return replace(performance, hertz=semitones_to_hertz(semitones))


def _trace(blocks: Iterable[np.ndarray], rate: int, threads: Threads | None = None) -> Performance:
    """blocks: float32 (channels, samples) each, consecutive, at `rate`."""
    resampler = Resampler(rate, EVALUATION_RATE, channels=1)
    leveller, meter = PassageLeveller(EVALUATION_RATE), _LevelMeter()
    sample_count = 0

    def pushed(mono: np.ndarray, last: bool) -> np.ndarray:
        (block,) = resampler.push(mono[None], last)
        meter.push(block)
        return leveller.push(block, last)

    def levelled() -> Iterator[np.ndarray]:
        nonlocal sample_count
        for block in blocks:
            sample_count += block.shape[1]
            yield pushed(fold(block, rate), last=False)
        if not sample_count:
            raise AudioError(NOTHING_TO_SCORE)
        yield pushed(np.zeros(0, np.float32), last=True)

    with Workers(threads) as workers:
        notes = list(detect_stream(levelled(), workers))
    return Performance(
        duration_s=sample_count / rate,
        hertz=np.concatenate([np.zeros(0), *(part.hertz for part in notes)]),
        confidence=np.concatenate([np.zeros(0), *(part.confidence for part in notes)]),
        level_db=meter.level_db(),
    )


class _LevelMeter:
    """Level of each whole 10 ms of a stream."""

    def __init__(self) -> None:
        self._rest = np.zeros(0, np.float32)
        self._levels: list[np.ndarray] = []

    def push(self, samples: np.ndarray) -> None:
        samples = np.concatenate([self._rest, samples])
        frames = len(samples) // LEVEL_HOP
        whole, self._rest = samples[: frames * LEVEL_HOP], samples[frames * LEVEL_HOP :]
        power = np.square(whole.reshape(frames, LEVEL_HOP), dtype=np.float64).mean(axis=1)
        self._levels.append(10.0 * np.log10(power + POWER_FLOOR))

    def level_db(self) -> np.ndarray:
        return np.concatenate([np.zeros(0), *self._levels])


def _pitch_accuracy(source: Performance, output: Performance, transpose: float) -> float | None:
    if source.voiced.sum() < FEWEST_FRAMES:
        return None
    wanted, found = (hertz_to_semitones(hertz) for hertz in _notes_in_both(source, output))
    if len(wanted) < FEWEST_FRAMES:
        return 0.0
    wanted = wanted + transpose
    cents = 100.0 * (found - wanted - folding_semitones(wanted))
    return float((np.abs(cents) < SAME_NOTE_CENTS).mean())


def _pitch_correlation(source: Performance, output: Performance) -> float | None:
    wanted, found = (np.log(hertz) for hertz in _notes_in_both(source, output))
    if len(wanted) < FEWEST_FRAMES or not (wanted.std() and found.std()):
        return None
    return float(np.corrcoef(wanted, found)[0, 1])


def _notes_in_both(source: Performance, output: Performance) -> tuple[np.ndarray, np.ndarray]:
    """Return the hertz of source and output in the frames where both are voiced."""
    frames = min(len(source.hertz), len(output.hertz))
    both = source.voiced[:frames] & output.voiced[:frames]
    return source.hertz[:frames][both], output.hertz[:frames][both]


def _voicing_error(source: Performance, output: Performance) -> float | None:
    frames = min(len(source.hertz), len(output.hertz))
    if not frames:
        return None
    return float((source.voiced[:frames] != output.voiced[:frames]).mean())


def _leak_db(source_db: np.ndarray, output_db: np.ndarray) -> float | None:
    """Compare the level of the output in the source's silences with the level of its voice."""
    frames = min(len(source_db), len(output_db))
    if frames < SILENCE_FRAMES:
        return None
    source_db, output_db = source_db[:frames], output_db[:frames]
    silent = source_db < np.percentile(source_db, LOUD_PERCENTILE) - SILENCE_BELOW_VOICE_DB
    around = np.convolve(silent, np.ones(SILENCE_FRAMES), "same")
    deep = around > SILENCE_FRAMES - 0.5
    if deep.sum() < FEWEST_SILENT_FRAMES:
        return None
    return float(output_db[deep].mean() - np.percentile(output_db, LOUD_PERCENTILE))
