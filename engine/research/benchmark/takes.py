"""`python -m engine.benchmark takes --sources DIR --targets CORPUS`

Measure how different the takes of a conversion are, and the cost in quality: every source is converted to every voice
in several takes. Reports the mean pairwise difference (`engine.evaluation.take_difference`), and the scores of the
first take beside the mean scores of the others.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.audio.files import read_audio
from engine.conversion.convert import convert
from engine.conversion.settings import AUTO, by_style
from engine.evaluation.evaluator import Evaluator, Measurement
from engine.evaluation.scores import Scores, compare, mean_scores
from engine.evaluation.take_difference import TakeDifference, mean_difference, pairwise_difference
from engine.research.benchmark.machine import describe_machine
from engine.research.benchmark.recordings import add_inputs, find_recordings, target_recordings
from engine.research.command import log
from engine.research.tables import score_text, table
from engine.voices.card import DEMO_VOICES, list_voices
from engine.voices.voice import Voice, load_voice

TAKES = 3
_SHOWN = ("speaker_similarity", "source_similarity", "word_error", "pitch_accuracy", "p808")


@dataclass(frozen=True)
class TakesRow:
    """The takes of one source in one voice."""

    source: str
    voice: str
    difference: TakeDifference
    first: Scores
    others: tuple[Scores, ...]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the inputs, and the number of takes."""
    add_inputs(parser)
    parser.add_argument("--takes", type=int, default=TAKES, choices=range(2, 11), help=f"of each ({TAKES})")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield the results as tables or JSON."""
    names = options.voices or [card.id for card in list_voices(DEMO_VOICES)]
    voices = [load_voice(name) for name in names]
    rows = measure_takes(find_recordings(options.sources), voices, options.targets, options.takes)
    yield results_as_json(rows) if options.json else results_as_text(rows)


def measure_takes(sources: Sequence[Path], voices: Sequence[Voice], corpus: Path | None, takes: int) -> list[TakesRow]:
    """Convert everything and compare. Raises EngineError for recordings that cannot be read or scored."""
    settings, evaluator = by_style(AUTO, {"takes": takes}), Evaluator()
    targets = {voice.card.id: evaluator.target_embedding(target_recordings(voice, corpus)) for voice in voices}
    rows = []
    for path in sources:
        log(f"{takes} takes of {path.name} in {len(voices)} voices")
        audio = read_audio(path)
        measured: dict[bool, Measurement] = {}
        for voice in voices:
            conversion = convert(audio, voice, settings)
            words = conversion.style != "melodic"
            if words not in measured:
                measured[words] = evaluator.measure(audio, words)
            outputs = [take.audio for take in conversion.takes]
            first, *others = (
                compare(measured[words], evaluator.measure(one, words), targets[voice.card.id], conversion.transpose)
                for one in outputs
            )
            rows.append(TakesRow(path.name, voice.card.id, pairwise_difference(outputs), first, tuple(others)))
    return rows


def results_as_json(rows: Sequence[TakesRow]) -> str:
    """Format all results, with the means in the tables, as JSON."""
    means = {"difference": asdict(mean_difference([row.difference for row in rows])), "scores": _mean_scores(rows)}
    return json.dumps({"machine": describe_machine(), "rows": [asdict(row) for row in rows], "means": means}, indent=1)


def results_as_text(rows: Sequence[TakesRow]) -> str:
    """Format the results as Markdown tables."""
    differences = {"mean": mean_difference([row.difference for row in rows])}
    for voice in dict.fromkeys(row.voice for row in rows):
        differences[voice] = mean_difference([row.difference for row in rows if row.voice == voice])
    names = list(asdict(differences["mean"]))
    apart = [[name, *map(score_text, asdict(one).values())] for name, one in differences.items()]
    scores = [[take, *(score_text(means[name]) for name in _SHOWN)] for take, means in _mean_scores(rows).items()]
    return (
        f"Mean pairwise difference of takes, {len(rows)} conversions\n\n{table(['', *names], apart)}\n\n"
        f"Cost in quality\n\n{table(['', *_SHOWN], scores)}"
    )


def _mean_scores(rows: Sequence[TakesRow]) -> dict[str, dict[str, float | None]]:
    return {
        "first take": mean_scores(row.first for row in rows),
        "other takes": mean_scores(one for row in rows for one in row.others),
    }
