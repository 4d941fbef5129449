"""Scores of a conversion: speaker similarity to the target voice, kept words and melody, and sound quality.

Each recording is measured by itself, and then two measurements are compared, so that a source or a target
of many comparisons is measured once:

    score_performance(source, output, transpose)           melody and silence only; needs no extra packages
    score_conversion(source, output, targets, transpose)   all scores, once
    Evaluator().measure(file or Audio), compare(...)        all scores, many times, networks loaded once

The full scores use third-party networks, none of which takes part in converting: speaker
embeddings by resemblyzer (Wan et al., 2018, generalized end-to-end loss), DNSMOS (Reddy et al., 2021 and
2022) for quality without a reference, PocketSphinx (Huggins-Daines et al., 2006) for words. For orientation:
speaker similarity is about 0.93 between two recordings of one speaker and 0.58 between strangers; DNSMOS
runs from 1 to 5; the word error of a small recogniser is only meaningful as a mean over several clips, compared
with that of copy synthesis.

Conventions: all networks receive mono at 16 kHz. A score that does not apply to a recording (the pitch of a
whisper, the leak into silence where there is none) is None, never NaN, and is left out of means.
"""

import importlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from swift_f0 import SwiftF0

from engine.analysis.passages import PassageLeveller
from engine.audio.channels import fold
from engine.audio.files import Audio, AudioSource, open_audio, read_audio
from engine.audio.resampling import Resampler, resample
from engine.conversion.pitch_shaping import folding_semitones
from engine.errors import AudioError, EngineError
from engine.progress import Report, no_report
from engine.units import FRAME_RATE, hertz_to_semitones

EVALUATION_RATE = 16_000  # hertz, of all networks
VOICED_CONFIDENCE = 0.6  # a frame of the pitch detector above this counts as voiced
SAME_NOTE_CENTS = 50.0  # a frame within this of the target pitch is on the note
FEWEST_FRAMES = 11  # of the pitch detector that a pitch score is given of
LEVEL_HOP = 160  # samples at EVALUATION_RATE: 10 ms
PITCH_HOP = 256  # samples at EVALUATION_RATE: 16 ms, the pitch detector's own grid
LOUD_PERCENTILE = 95  # of the frame levels: "the level of the voice"
SILENCE_BELOW_VOICE_DB = 50.0
SILENCE_FRAMES = 11  # this many silent frames in a row, or the tail of a note would count as leak
FEWEST_SILENT_FRAMES = 6
POWER_FLOOR = 1e-12  # -120 dB
BLOCK_S = 10.0  # recordings are read and analysed in pieces of this length
EMBEDDING_LEVEL_DB = -30.0  # quieter recordings are raised to this before the speaker embedding
EVALUATION_PEAK = 0.7  # peak level that the quality and word networks receive
NOTHING_TO_SCORE = "A recording without any samples cannot be scored."


@dataclass(frozen=True)
class Performance:
    """Pitch, voicing and level of a recording.

    hertz, confidence: float64 (pitch frames,), the detector's own 16 ms grid; level_db: float64 (level frames,), 10 ms.
    """

    duration_s: float
    hertz: np.ndarray
    confidence: np.ndarray
    level_db: np.ndarray

    @property
    def voiced(self) -> np.ndarray:
        """bool (pitch frames,)."""
        return self.confidence > VOICED_CONFIDENCE


@dataclass(frozen=True)
class Measurement:
    """Everything measured in one recording; `text` is None unless words were recognised."""

    performance: Performance
    embedding: np.ndarray | None  # float32 (256,); None for a recording without any sound
    ovrl: float
    p808: float
    text: str | None


@dataclass(frozen=True)
class PerformanceScores:
    """Scores of melody, voicing, silence and length."""

    pitch_accuracy: float | None  # share of frames voiced in both that are within 50 cents of the wanted pitch
    pitch_corr: float | None  # correlation of log pitch on those frames
    voicing_error: float | None  # share of frames voiced in one and not in the other
    leak_db: float | None  # output's level where the source is silent, against the output's voice; lower is better
    length_error: float  # seconds, output minus source
    pitch_seconds: float  # voiced in both, that the first two scores are of


@dataclass(frozen=True)
class Scores(PerformanceScores):
    """All scores; the module's docstring explains the scales."""

    speaker_similarity: float | None  # cosine of speaker embeddings, output against target
    source_similarity: float | None  # the same against the source; high means the source speaker is still recognisable
    word_error: float | None  # recogniser's text of the output against its text of the source; 0 is best
    ovrl: float  # DNSMOS overall, of the output
    p808: float  # DNSMOS as a P.808 listening test would rate it, of the output
    source_ovrl: float
    source_p808: float


# ---------------------------------------------------------------- one call


def score_performance(source: Path | str, output: Path | str, transpose: float = 0.0) -> PerformanceScores:
    """Score melody, silence and length of `output` against `source`, transposed by `transpose` semitones.

    Streams both files: memory does not grow, and work takes about 0.02 s per second. Raises AudioError.

    >>> scores = score_performance("vocal.flac", "vocal.flac")
    >>> scores.pitch_accuracy, scores.voicing_error, scores.length_error
    (1.0, 0.0, 0.0)
    """
    return compare_performances(trace_file(source), trace_file(output), transpose)


def score_conversion(
    source: Path | str, output: Path | str, targets: Sequence[Path | str], transpose: float = 0.0, words: bool = True
) -> Scores:
    """Compute all scores of one conversion; `targets` are recordings of the voice, best ten or more.

    Loads three networks and reads whole recordings: for clips of seconds to minutes. For many conversions keep an
    `Evaluator`. Raises AudioError for files, EngineError naming a missing package.
    """
    evaluator = Evaluator(words)
    return compare(evaluator.measure(source), evaluator.measure(output), evaluator.target_embedding(targets), transpose)


def mean_scores(scores: Iterable[Scores]) -> dict[str, float | None]:
    """Average each score over those that have it; None if none has."""
    return known_means(Scores, scores)


# ---------------------------------------------------------------- the networks


class Evaluator:
    """The loaded networks. Reusable for any number of recordings; not for use from several threads at once."""

    def __init__(self, words: bool = True) -> None:
        """`words=False` leaves the recogniser out: faster, and pocketsphinx and jiwer are not needed.

        Raises EngineError naming the package to install.
        """
        if words:
            _import_package("pocketsphinx")
            _import_package("jiwer")
        self._words = words
        self._dnsmos = _import_package("speechmos.dnsmos")
        self._encoder = _import_package("resemblyzer").VoiceEncoder("cpu", verbose=False)

    def measure(self, recording: Path | str | Audio, words: bool = True) -> Measurement:
        """Measure a whole recording with every network; `words=False` skips the recogniser."""
        audio = recording if isinstance(recording, Audio) else read_audio(Path(recording))
        samples = _evaluation_samples(audio)
        ovrl, p808 = self._quality(samples)
        return Measurement(
            performance=trace(audio),
            embedding=self._embedding(samples),
            ovrl=ovrl,
            p808=p808,
            text=_recognise(samples) if words and self._words else None,
        )

    def embed(self, recording: Path | str | Audio) -> np.ndarray | None:
        """Return the speaker embedding, float32 (256,) of length 1; None for silence."""
        audio = recording if isinstance(recording, Audio) else read_audio(Path(recording))
        return self._embedding(_evaluation_samples(audio))

    def target_embedding(self, recordings: Iterable[Path | str | Audio]) -> np.ndarray:
        """Average the embeddings of a voice's recordings, float32 (256,). Raises AudioError if all are silent."""
        embeddings = [embedding for item in recordings if (embedding := self.embed(item)) is not None]
        if not embeddings:
            raise AudioError("To compare with a voice, give at least one recording of it that is not silent.")
        mean: np.ndarray = np.mean(embeddings, axis=0)
        return mean

    def _embedding(self, samples: np.ndarray) -> np.ndarray | None:
        level = float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))
        if level == 0.0:
            return None
        gain = max(1.0, 10 ** (EMBEDDING_LEVEL_DB / 20) / level)
        embedding: np.ndarray = self._encoder.embed_utterance((samples * gain).astype(np.float32))
        return embedding

    def _quality(self, samples: np.ndarray) -> tuple[float, float]:
        opinion = self._dnsmos.run(_at_evaluation_peak(samples), EVALUATION_RATE)
        return float(opinion["ovrl_mos"]), float(opinion["p808_mos"])


def compare(source: Measurement, output: Measurement, target: np.ndarray, transpose: float = 0.0) -> Scores:
    """Score `output` as a conversion of `source` by `transpose` semitones to the voice with embedding `target`."""
    performance = compare_performances(source.performance, output.performance, transpose)
    return Scores(
        **vars(performance),
        speaker_similarity=speaker_similarity(output.embedding, target),
        source_similarity=speaker_similarity(output.embedding, source.embedding),
        word_error=_word_error(source.text, output.text),
        ovrl=output.ovrl,
        p808=output.p808,
        source_ovrl=source.ovrl,
        source_p808=source.p808,
    )


def speaker_similarity(embedding: np.ndarray | None, other: np.ndarray | None) -> float | None:
    """Return the cosine of two speaker embeddings, (256,) each; None if either recording was silent."""
    if embedding is None or other is None:
        return None
    return float(embedding @ other / (np.linalg.norm(embedding) * np.linalg.norm(other)))


def equal_error_rate(genuine: Sequence[float], others: Sequence[float]) -> float:
    """Return the error rate of a verifier at the threshold with equal false rejections and false acceptances.

    0 if all genuine scores are higher, 0.5 if the two cannot be distinguished.

    >>> equal_error_rate([0.9, 0.8, 0.85], [0.5, 0.6])
    0.0
    """
    thresholds = np.unique([*genuine, *others])
    refused = np.array([np.mean(np.asarray(genuine) < threshold) for threshold in thresholds])
    accepted = np.array([np.mean(np.asarray(others) >= threshold) for threshold in thresholds])
    nearest = int(np.abs(refused - accepted).argmin())
    return float((refused[nearest] + accepted[nearest]) / 2)


def _import_package(name: str) -> Any:
    """Import an optional package. Raises EngineError with the commands that install it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they import deprecated names of their dependencies
            return importlib.import_module(name)
    except ImportError as cause:
        raise EngineError(
            f"Full scores need the package {name.split('.')[0]}, which cannot be loaded ({cause}). "
            'Run in the project\'s folder: pip install ".[evaluation]" && pip install --no-deps resemblyzer'
        ) from cause


def _recognise(samples: np.ndarray) -> str:
    """Recognise English words in mono `samples` at EVALUATION_RATE; often none."""
    if not samples.any():
        return ""  # the recogniser would invent words
    # A new decoder for each recording, because it adapts, and scores must not depend on their order.
    decoder = _import_package("pocketsphinx").Decoder(samprate=EVALUATION_RATE, loglevel="FATAL")
    decoder.start_utt()
    decoder.process_raw((_at_evaluation_peak(samples) * 32767).astype(np.int16).tobytes(), full_utt=True)
    decoder.end_utt()
    best = decoder.hyp()
    return str(best.hypstr) if best else ""


def _word_error(source_text: str | None, output_text: str | None) -> float | None:
    if not source_text or output_text is None:
        return None
    return float(_import_package("jiwer").wer(source_text, output_text))


def _evaluation_samples(audio: Audio) -> np.ndarray:
    """Convert to mono at EVALUATION_RATE, float32 (samples,). Raises AudioError if there are no samples."""
    if audio.sample_count == 0:
        raise AudioError(NOTHING_TO_SCORE)
    samples: np.ndarray = resample(audio.mono(), audio.rate, EVALUATION_RATE)
    return samples


def _at_evaluation_peak(samples: np.ndarray) -> np.ndarray:
    return (samples / (np.abs(samples).max() + 1e-9) * EVALUATION_PEAK).astype(np.float32)


# ---------------------------------------------------------------- the performance


def trace_file(path: Path | str, report: Report = no_report) -> Performance:
    """Analyse the performance in a file of any length. Raises AudioError; `report` may raise Cancelled."""
    with open_audio(Path(path)) as recording:
        return _trace(_reporting(recording, report), recording.rate)


def _reporting(recording: AudioSource, report: Report) -> Iterator[np.ndarray]:
    """Yield the pieces of a recording and report progress after each."""
    read_s = 0.0
    for block in recording.blocks(round(BLOCK_S * recording.rate)):
        yield block
        read_s += block.shape[1] / recording.rate
        report(min(1.0, read_s / recording.duration_s) if recording.duration_s else 0.5, "scoring")


def trace(audio: Audio) -> Performance:
    """Analyse the performance in `audio`.

    >>> from engine import read_audio
    >>> vocal = trace(read_audio("vocal.flac"))
    >>> compare_performances(vocal, vocal, transpose=0.0).pitch_accuracy
    1.0
    """
    step = round(BLOCK_S * audio.rate)
    blocks = (audio.samples[:, start : start + step] for start in range(0, audio.sample_count, step))
    return _trace(blocks, audio.rate)


def compare_performances(source: Performance, output: Performance, transpose: float = 0.0) -> PerformanceScores:
    """Score `output` as the performance of `source`, `transpose` semitones higher.

    >>> from engine import read_audio
    >>> vocal = trace(read_audio("vocal.flac"))
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


def _trace(blocks: Iterable[np.ndarray], rate: int) -> Performance:
    """blocks: float32 (channels, samples) each, consecutive, at `rate`."""
    resampler = Resampler(rate, EVALUATION_RATE, channels=1)
    detector, leveller = SwiftF0().stream(), PassageLeveller(EVALUATION_RATE)
    meter = _LevelMeter()
    sample_count = 0
    notes = []

    def push(mono: np.ndarray, last: bool) -> None:
        (block,) = resampler.push(mono[None], last)
        notes.append(detector.push(leveller.push(block, last), EVALUATION_RATE))
        meter.push(block)

    for block in blocks:
        sample_count += block.shape[1]
        push(fold(block, rate), last=False)
    if not sample_count:
        raise AudioError(NOTHING_TO_SCORE)
    push(np.zeros(0, np.float32), last=True)
    notes.append(detector.flush())
    return Performance(
        duration_s=sample_count / rate,
        hertz=np.concatenate([piece.pitch_hz for piece in notes]),
        confidence=np.concatenate([piece.confidence for piece in notes]),
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


def known_means(kind: type, rows: Iterable[Any]) -> dict[str, float | None]:
    """Average each field of the dataclass `kind` over the rows that have it; None if none has."""
    held = list(rows)
    means: dict[str, float | None] = {}
    for name in (field.name for field in fields(kind)):
        known = [value for row in held if (value := getattr(row, name)) is not None]
        means[name] = sum(known) / len(known) if known else None
    return means
