"""Scores of a conversion: speaker similarity to the target voice, kept words and melody, and sound quality.

Each recording is measured by itself, and then two measurements are compared, so that a source or a target of many
comparisons is measured once:

    score_conversion(source, output, targets, transpose)   all scores, once
    Evaluator().measure(file or Audio), compare(...)        all scores, many times, networks loaded once

For orientation: speaker similarity is about 0.93 between two recordings of one speaker and 0.58 between strangers;
DNSMOS runs from 1 to 5; the word error of a small recogniser is only meaningful as a mean over several clips, compared
with that of copy synthesis. A score that does not apply to a recording is None, never NaN, and is left out of means.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from engine.evaluation.evaluator import Evaluator, Measurement, import_package
from engine.evaluation.performance import PerformanceScores, compare_performances


@dataclass(frozen=True)
class Scores(PerformanceScores):
    """All scores; None where one does not apply.

    - pitch_accuracy, pitch_corr, voicing_error, leak_db, length_error, pitch_seconds: as in PerformanceScores
    - speaker_similarity: cosine of the speaker embeddings of output and target: about 0.93 for one speaker, 0.58 for
      strangers
    - source_similarity: the same against the source; high means that the source's speaker is still recognisable
    - word_error: recognised text of the output against that of the source; 0 is best
    - ovrl, p808: DNSMOS of the output, 1 to 5
    - source_ovrl, source_p808: the same of the source
    """

    speaker_similarity: float | None
    source_similarity: float | None
    word_error: float | None
    ovrl: float
    p808: float
    source_ovrl: float
    source_p808: float


def score_conversion(
    source: Path | str, output: Path | str, targets: Sequence[Path | str], transpose: float = 0.0, words: bool = True
) -> Scores:
    """Compute all scores of one conversion; to score many, keep an `Evaluator`.

    Parameters
    ----------
    source, output : Path or str
        Clips of seconds to minutes, before and after.
    targets : sequence of Path or str
        Recordings of the voice, ideally ten or more.
    transpose : float
        Semitones by which the output should be higher.
    words : bool
        Whether words are recognised.

    Returns
    -------
    Scores
        The scores of the output.

    Raises
    ------
    AudioError
        If a file cannot be read.
    EngineError
        If a package is missing; the message names it.
    """
    evaluator = Evaluator(words)
    return compare(evaluator.measure(source), evaluator.measure(output), evaluator.target_embedding(targets), transpose)


def mean_scores(scores: Iterable[Scores]) -> dict[str, float | None]:
    """Average each score over those that have it; None if none has."""
    return known_means(Scores, scores)


def compare(source: Measurement, output: Measurement, target: np.ndarray, transpose: float = 0.0) -> Scores:
    """Score a conversion by what an `Evaluator` measured.

    Parameters
    ----------
    source, output : Measurement
        Before and after.
    target : float32 (256,)
        Embedding of the voice, as `Evaluator.target_embedding` returns it.
    transpose : float
        Semitones by which the output should be higher.

    Returns
    -------
    Scores
        The scores of the output.
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
    refused = np.searchsorted(np.sort(genuine), thresholds) / len(genuine)
    accepted = 1 - np.searchsorted(np.sort(others), thresholds) / len(others)
    nearest = int(np.abs(refused - accepted).argmin())
    return float((refused[nearest] + accepted[nearest]) / 2)


def _word_error(source_text: str | None, output_text: str | None) -> float | None:
    if not source_text or output_text is None:
        return None
    return float(import_package("jiwer").wer(source_text, output_text))


def known_means(kind: type, rows: Iterable[Any]) -> dict[str, float | None]:
    """Average each field of the dataclass `kind` over the rows that have it; None if none has."""
    held = list(rows)
    means: dict[str, float | None] = {}
    for name in (field.name for field in fields(kind)):
        known = [value for row in held if (value := getattr(row, name)) is not None]
        means[name] = sum(known) / len(known) if known else None
    return means
