"""Scores of conversions, their sources, copies and controls, and how a speaker verifier tells them from recordings.

The similarity of the controls to the source (control.py) is the floor: the share above it is the leak.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import Literal

import numpy as np

from engine.audio.files import Audio, write_audio
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.scores import Scores, compare, equal_error_rate, mean_scores, speaker_similarity
from engine.networks.base import load_base
from engine.research.benchmark.control import controlled, share_of_the_leak, share_of_the_way
from engine.research.benchmark.recordings import others_of, target_recordings, turned
from engine.research.benchmark.samples import Sample
from engine.research.command import log
from engine.research.copies import copy_synthesis
from engine.research.tables import score_text, table
from engine.voices.voice import Voice

Output = Literal["unconverted", "copy synthesis", "control", "conversion"]
COPY = "copy"  # the "voice" of a source through copy synthesis
TRANSPOSITIONS = "transpositions.tsv"  # beside kept outputs: file name and semitones
WAY, LEAK = "share_of_way", "share_of_leak"
_OF_SPEAKERS = ("speaker_similarity", WAY, "source_similarity", LEAK)
_OF_SINGING = ("word_error", "pitch_accuracy", "pitch_corr", "voicing_error")
SHOWN_SCORES = (*_OF_SPEAKERS, *_OF_SINGING, "ovrl", "p808", "leak_db", "length_error")


@dataclass(frozen=True)
class QualityRow:
    """Scores of one output."""

    output: Output
    source: str
    voice: str
    transpose: float
    scores: Scores


def measure_quality(
    sources: dict[str, Audio], voices: Sequence[Voice], samples: Sequence[Sample], corpus: Path | None
) -> tuple[QualityRow, ...]:
    """Score every sample, its unchanged source, and copy synthesis of its source."""
    evaluator = Evaluator()
    log("analysing recordings of the voices")
    compared = {voice.card.id: target_recordings(voice, corpus) for voice in voices}
    targets = {voice: evaluator.target_embedding(paths) for voice, paths in compared.items()}
    others = {voice.card.id: others_of(voice, corpus, compared[voice.card.id]) for voice in voices}
    rows: list[QualityRow] = []
    for number, (name, audio) in enumerate(sources.items()):
        log(f"scoring the conversions of {name}")
        own = [sample for sample in samples if sample.source == name]
        rows += _score_source(name, audio, own, targets, evaluator)
        words_of = {voice: turned(paths, number) for voice, paths in others.items()}
        rows += _score_controls(audio, own, targets, words_of, evaluator)
    return tuple(rows)


def measure_verification(voices: Sequence[Voice], rows: Sequence[QualityRow], corpus: Path | None) -> dict[str, float]:
    """Measure the equal error rate between conversions and other recordings of the voice, by voice.

    The recordings are not those the similarity is measured against; voices without any are left out.
    """
    evaluator, rates = Evaluator(words=False), {}
    for voice in voices:
        targets = target_recordings(voice, corpus)
        others = others_of(voice, corpus, targets)
        own = [row.scores for row in rows if row.output == "conversion" and row.voice == voice.card.id]
        converted = [scores.speaker_similarity for scores in own]
        scores = [score for score in converted if score is not None]
        if others and scores:
            target = evaluator.target_embedding(targets)
            genuine = [speaker_similarity(evaluator.embed(recording), target) for recording in others]
            rates[voice.card.id] = equal_error_rate([score for score in genuine if score is not None], scores)
    return rates


def _score_source(
    name: str, audio: Audio, samples: Sequence[Sample], targets: dict[str, np.ndarray], evaluator: Evaluator
) -> list[QualityRow]:
    words = samples[0].style != "melodic"
    source = evaluator.measure(audio, words)
    copy = evaluator.measure(copy_synthesis(audio, load_base().synthesizer), words)
    rows = []
    for sample in samples:
        target = targets[sample.voice]
        converted = evaluator.measure(sample.output, words)
        rows += [
            QualityRow("unconverted", name, sample.voice, 0, compare(source, source, target)),
            QualityRow("copy synthesis", name, sample.voice, 0, compare(source, copy, target)),
            QualityRow(
                "conversion", name, sample.voice, sample.transpose, compare(source, converted, target, sample.transpose)
            ),
        ]
    return rows


def _score_controls(
    audio: Audio,
    samples: Sequence[Sample],
    targets: dict[str, np.ndarray],
    others: dict[str, list[Path]],
    evaluator: Evaluator,
) -> list[QualityRow]:
    """Score the control of each sample whose voice has recordings that it is not compared with."""
    rows, source = [], evaluator.measure(audio, words=False)
    for sample in samples:
        if others[sample.voice]:
            control = evaluator.measure(controlled(audio, others[sample.voice], sample.transpose), words=False)
            scores = compare(source, control, targets[sample.voice], sample.transpose)
            rows.append(QualityRow("control", sample.source, sample.voice, sample.transpose, scores))
    return rows


def quality_means(rows: Sequence[QualityRow]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Average the scores of each output, and of the conversion by voice and by source."""
    return {
        "by_output": {output: _means(rows, output) for output in dict.fromkeys(row.output for row in rows)},
        "by_voice": _conversions(rows, attrgetter("voice")),
        "by_source": _conversions(rows, attrgetter("source")),
    }


def _conversions(
    rows: Sequence[QualityRow], group_of: Callable[[QualityRow], str]
) -> dict[str, dict[str, float | None]]:
    groups = dict.fromkeys(group_of(row) for row in rows if row.output == "conversion")
    return {group: _means([row for row in rows if group_of(row) == group], "conversion") for group in groups}


def _means(rows: Sequence[QualityRow], output: str) -> dict[str, float | None]:
    """Average the scores of an output; the shares are of those that have a control."""
    means = mean_scores(row.scores for row in rows if row.output == output)
    known = {(row.source, row.voice) for row in rows if row.output == "control"}
    own, stranger, control = (
        mean_scores(row.scores for row in rows if row.output == kind and (row.source, row.voice) in known)
        for kind in (output, "unconverted", "control")
    )
    shares: dict[str, float | None] = {WAY: None, LEAK: None}
    ends = [value for one in (own, stranger, control) if (value := one["speaker_similarity"]) is not None]
    leaks = [value for one in (own, control) if (value := one["source_similarity"]) is not None]
    shares[WAY] = share_of_the_way(*ends) if len(ends) == 3 else None
    shares[LEAK] = share_of_the_leak(*leaks) if len(leaks) == 2 else None
    return means | shares


def quality_tables(quality: Sequence[QualityRow], compared_with: str, error_rates: dict[str, float]) -> str:
    """Format the means of the scores, by output, voice and source, and a speaker verifier's equal error rates."""
    means = quality_means(quality)
    shifts = sorted(abs(row.transpose) for row in quality if row.output == "conversion")
    transposed = f"transposed by {shifts[0]:g} to {shifts[-1]:g} semitones, {np.mean(shifts):.1f} on average"
    titles = {
        "by_output": f"Quality, mean over sources x voices; similarity to {compared_with}; {transposed}",
        "by_voice": "The conversion, by voice",
        "by_source": "The conversion, by source",
    }
    tables = [f"{titles[key]}\n\n{_score_table(groups)}" for key, groups in means.items()]
    if error_rates:
        rates = [[voice, f"{rate:.2f}"] for voice, rate in error_rates.items()]
        tables.append(
            f"Equal error rate of a speaker verifier\n\n{table(['', 'conversions against recordings'], rates)}"
        )
    return "\n\n".join(tables)


def _score_table(groups: dict[str, dict[str, float | None]]) -> str:
    rows = [[name, *(score_text(scores[key], key) for key in SHOWN_SCORES)] for name, scores in groups.items()]
    return table(["", *SHOWN_SCORES], rows)


def keep(samples: Iterable[Sample], sources: dict[str, Audio], folder: Path) -> None:
    """Write each output as `source--voice.wav`, its transposition, and each source through copy synthesis."""
    folder.mkdir(parents=True, exist_ok=True)
    transpositions = []
    for sample in samples:
        name = f"{sample.source}--{sample.voice}.wav"
        write_audio(folder / name, sample.output)
        transpositions.append(f"{name}\t{sample.transpose:g}\n")
    (folder / TRANSPOSITIONS).write_text("".join(transpositions), encoding="utf-8")
    for name, audio in sources.items():
        write_audio(folder / f"{name}--{COPY}.wav", copy_synthesis(audio, load_base().synthesizer))
