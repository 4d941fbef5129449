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
from engine.analysis.pitch import VOICED
from engine.audio.channels import fold
from engine.audio.files import Audio, AudioSource, Recording, audio_of, open_audio
from engine.audio.resampling import Resampler, resample
from engine.conversion.pitch_shaping import folding_semitones
from engine.errors import AudioError, EngineError
from engine.progress import Report, no_report
from engine.reprs import Brief
from engine.units import FRAME_RATE, hertz_to_semitones

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
EMBEDDING_LEVEL_DB = -30.0  # quieter recordings are raised to this before the speaker embedding
EVALUATION_PEAK = 0.7  # peak level that the quality and word networks receive
NOTHING_TO_SCORE = "A recording without any samples cannot be scored."


@dataclass(frozen=True, repr=False)
class Performance(Brief):
    """Pitch, voicing and level of a recording.

    Attributes
    ----------
    duration_s : float
        Seconds.
    hertz, confidence : float64 (pitch frames,)
        Fundamental frequency in Hz and confidence 0..1, on the detector's own grid of 16 ms.
    level_db : float64 (level frames,)
        In dB of full scale, every 10 ms.
    """

    duration_s: float
    hertz: np.ndarray
    confidence: np.ndarray
    level_db: np.ndarray

    @property
    def voiced(self) -> np.ndarray:
        """bool (pitch frames,)."""
        return self.confidence > VOICED


@dataclass(frozen=True, repr=False)
class Measurement(Brief):
    """Everything measured in one recording.

    Attributes
    ----------
    performance : Performance
        Pitch, voicing and level.
    embedding : float32 (256,) or None
        Of the speaker; None for a recording without any sound.
    ovrl, p808 : float
        DNSMOS, 1 to 5: overall, and as a listening test by ITU-T P.808 would rate it.
    text : str or None
        Recognised words; None unless they were asked for.
    """

    performance: Performance
    embedding: np.ndarray | None
    ovrl: float
    p808: float
    text: str | None


@dataclass(frozen=True)
class PerformanceScores:
    """Scores of melody, voicing, silence and length; None where one does not apply.

    Attributes
    ----------
    pitch_accuracy : float or None
        Share of frames voiced in both that are within 50 cents of the wanted pitch, 0..1.
    pitch_corr : float or None
        Correlation of log pitch on those frames, -1..1.
    voicing_error : float or None
        Share of frames voiced in one and not in the other, 0..1.
    leak_db : float or None
        Level of the output where the source is silent, against the output's voice, in dB; lower is better.
    length_error : float
        Seconds by which the output is longer.
    pitch_seconds : float
        Voiced in both, that the first two scores are of.
    """

    pitch_accuracy: float | None
    pitch_corr: float | None
    voicing_error: float | None
    leak_db: float | None
    length_error: float
    pitch_seconds: float


@dataclass(frozen=True)
class Scores(PerformanceScores):
    """All scores; None where one does not apply.

    Attributes
    ----------
    pitch_accuracy, pitch_corr, voicing_error, leak_db, length_error, pitch_seconds : float or None
        As of PerformanceScores.
    speaker_similarity : float or None
        Cosine of the speaker embeddings of output and target: about 0.93 for one speaker, 0.58 for strangers.
    source_similarity : float or None
        The same against the source; high means that the source's speaker is still recognisable.
    word_error : float or None
        Recognised text of the output against that of the source; 0 is best.
    ovrl, p808 : float
        DNSMOS of the output, 1 to 5.
    source_ovrl, source_p808 : float
        The same of the source.
    """

    speaker_similarity: float | None
    source_similarity: float | None
    word_error: float | None
    ovrl: float
    p808: float
    source_ovrl: float
    source_p808: float


# ---------------------------------------------------------------- one call


def score_performance(source: Path | str, output: Path | str, transpose: float = 0.0) -> PerformanceScores:
    """Score melody, silence and length of a conversion; about 0.02 s of work per second.

    Parameters
    ----------
    source, output : Path or str
        Files of any length, before and after.
    transpose : float
        Semitones by which the output is meant to be higher.

    Returns
    -------
    PerformanceScores
        Of the output.

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


def score_conversion(
    source: Path | str, output: Path | str, targets: Sequence[Path | str], transpose: float = 0.0, words: bool = True
) -> Scores:
    """Compute all scores of one conversion; for many, keep an `Evaluator`.

    Parameters
    ----------
    source, output : Path or str
        Clips of seconds to minutes, before and after.
    targets : sequence of Path or str
        Recordings of the voice, best ten or more.
    transpose : float
        Semitones by which the output is meant to be higher.
    words : bool
        Whether words are recognised.

    Returns
    -------
    Scores
        Of the output.

    Raises
    ------
    AudioError
        If a file cannot be read.
    EngineError
        Naming a package that is missing.
    """
    evaluator = Evaluator(words)
    return compare(evaluator.measure(source), evaluator.measure(output), evaluator.target_embedding(targets), transpose)


def mean_scores(scores: Iterable[Scores]) -> dict[str, float | None]:
    """Average each score over those that have it; None if none has."""
    return known_means(Scores, scores)


# ---------------------------------------------------------------- the networks


class Evaluator:
    """The networks that score conversions, loaded once for any number of recordings.

    Not for use from several threads at once.

    Parameters
    ----------
    words : bool
        False leaves the recogniser of words out: faster, and pocketsphinx and jiwer are not needed.

    Raises
    ------
    EngineError
        Naming a package that is missing.
    """

    def __init__(self, words: bool = True) -> None:
        """Load the networks."""
        if words:
            _import_package("pocketsphinx")
            _import_package("jiwer")
        self._words = words
        self._dnsmos = _import_package("speechmos.dnsmos")
        self._encoder = _import_package("resemblyzer").VoiceEncoder("cpu", verbose=False)

    def measure(self, recording: Recording, words: bool = True) -> Measurement:
        """Measure a recording with every network.

        Parameters
        ----------
        recording : Audio, Path, str or pair (samples, rate)
            Seconds to minutes.
        words : bool
            Whether words are recognised.

        Returns
        -------
        Measurement
            For `compare`.

        Raises
        ------
        AudioError
            For what is no recording, or one without any samples.
        """
        audio = audio_of(recording)
        samples = _evaluation_samples(audio)
        ovrl, p808 = self._quality(samples)
        return Measurement(
            performance=trace(audio),
            embedding=self._embedding(samples),
            ovrl=ovrl,
            p808=p808,
            text=_recognise(samples) if words and self._words else None,
        )

    def embed(self, recording: Recording) -> np.ndarray | None:
        """Return the speaker embedding of a recording.

        Parameters
        ----------
        recording : Audio, Path, str or pair (samples, rate)
            Seconds to minutes.

        Returns
        -------
        float32 (256,) or None
            Of length 1; None for silence.

        Raises
        ------
        AudioError
            For what is no recording, or one without any samples.
        """
        return self._embedding(_evaluation_samples(audio_of(recording)))

    def target_embedding(self, recordings: Iterable[Recording]) -> np.ndarray:
        """Average the speaker embeddings of a voice's recordings.

        Parameters
        ----------
        recordings : iterable of Audio, Path, str or pair (samples, rate)
            Best ten or more.

        Returns
        -------
        float32 (256,)
            For `compare`.

        Raises
        ------
        AudioError
            If all are silent, or one is no recording.
        """
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
    """Score a conversion by what an `Evaluator` measured.

    Parameters
    ----------
    source, output : Measurement
        Before and after.
    target : float32 (256,)
        Embedding of the voice, as `Evaluator.target_embedding` returns it.
    transpose : float
        Semitones by which the output is meant to be higher.

    Returns
    -------
    Scores
        Of the output.
    """
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
    for block in recording.blocks(round(PIECE_S * recording.rate)):
        yield block
        read_s += block.shape[1] / recording.rate
        report(min(1.0, read_s / recording.duration_s) if recording.duration_s else 0.5, "scoring")


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
        For what is no recording.

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
        Semitones by which the output is meant to be higher.

    Returns
    -------
    PerformanceScores
        Of the output.

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
