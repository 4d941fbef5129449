"""Measure speed and quality of conversion in one run.

    python -m engine.benchmark                                          our own samples, to every installed voice
    python -m engine.benchmark --sources recordings/ --targets corpus/  other sources; similarity to real recordings
    python -m engine.benchmark --quick                                  two sources, one voice, half a minute
    python -m engine.benchmark --parts speed --threads 1,2,4            the time and memory of each number of threads
    python -m engine.benchmark --parts speed --beside ../v0.18          another checkout in the same run, and the ratio
    python -m engine.benchmark --json                                   everything, as one JSON object

speed    seconds of work per second of audio, and peak memory, for each number of `--threads`: `convert_file` on clips
         of 3 and 10 s and on 5 minutes, or those of `--long`, mono and stereo, as they are and 3 semitones higher, the
         least of three after one conversion that is not counted, each in a process of its own. Wall time, and CPU time
         beside it, because the wall time of a busy machine says little; `--beside FOLDER` has another checkout do the
         same in turn.
quality  the mean of the scores of `engine.evaluation.scores` over sources x voices, for four outputs: the source
         itself (unconverted), the source through analysis and synthesis without a change of voice (copy synthesis:
         the loss by the synthesizer alone), the voice's own sound with the source's melody (control, where there are
         more recordings of the voice than those it is compared with), and the conversion, with its share of the way
         from the unconverted to the control, and of the leak, the similarity to the source above the control's. Words
         are scored only in speech. And the equal error rate of a speaker verifier, if there are more recordings of
         the voice than those it is compared with.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from engine.audio.files import read_audio
from engine.cores import usable_cores
from engine.errors import VoiceError
from engine.research.benchmark.long_source import joined_recordings
from engine.research.benchmark.machine import describe_machine
from engine.research.benchmark.quality import (
    QualityRow,
    keep,
    measure_quality,
    measure_verification,
    quality_means,
    quality_tables,
)
from engine.research.benchmark.recordings import add_inputs, evenly_spaced, find_recordings
from engine.research.benchmark.samples import convert_all
from engine.research.benchmark.thread_costs import (
    HERE,
    ThreadCost,
    Trial,
    checkout_beside,
    measure_thread_costs,
    thread_tables,
)
from engine.voices.card import DEMO_VOICES, list_voices
from engine.voices.voice import load_voice

Part = Literal["speed", "quality"]
PARTS: tuple[Part, ...] = ("speed", "quality")
QUICK_SOURCES, QUICK_VOICES = 2, 1
LONG_S, QUICK_LONG_S = 300.0, 30.0
QUICK_REPEATS = 1
TAKES_SEVERAL_THREADS = True  # --threads 1,2,4


@dataclass(frozen=True)
class Plan:
    """What to measure; `targets` is a corpus folder holding each voice's `corpus_speaker`, or None for the previews."""

    sources: tuple[Path, ...]
    voices: tuple[str | Path, ...]  # ids, or folders of voices that are not installed
    targets: Path | None
    transpose: int | Literal["auto"] = "auto"
    parts: tuple[Part, ...] = PARTS
    kept: Path | None = None  # folder for the outputs, to listen to
    trial: Trial | None = None  # of numbers of threads


@dataclass(frozen=True)
class Results:
    """All measurements; a part that was not requested is None or empty."""

    machine: dict[str, str | int | float]
    compared_with: str  # recordings for the speaker similarity
    quality: tuple[QualityRow, ...]
    equal_error_rate: dict[str, float]  # of a speaker verifier, by voice: its own recordings against conversions
    threads: tuple[ThreadCost, ...] = ()


def run_benchmark(plan: Plan) -> Results:
    """Measure the parts of `plan`. Raises EngineError."""
    machine = describe_machine()
    quality: tuple[QualityRow, ...] = ()
    rates: dict[str, float] = {}
    if "quality" in plan.parts:
        voices = [load_voice(name) for name in plan.voices]
        sources = {path.name: read_audio(path) for path in plan.sources}
        samples = convert_all(sources, voices, plan.transpose)
        if plan.kept:
            keep(samples, sources, plan.kept)
        quality = measure_quality(sources, voices, samples, plan.targets)
        rates = measure_verification(voices, quality, plan.targets)
    return Results(
        machine=machine,
        compared_with=f"recordings in {plan.targets.name}" if plan.targets else "the voices' previews",
        quality=quality,
        equal_error_rate=rates,
        threads=measure_thread_costs(plan.trial) if plan.trial and "speed" in plan.parts else (),
    )


def results_as_json(results: Results) -> str:
    """Format all results, with the means in the tables, as JSON."""
    return json.dumps(asdict(results) | {"means": quality_means(results.quality)}, indent=1, allow_nan=False)


def results_as_text(results: Results) -> str:
    """Format the results as Markdown tables."""
    machine = results.machine
    parts = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, torch {machine['torch']}, "
        f"load before the start {machine['load_before']}"
    ]
    if results.threads:
        parts.append(thread_tables(results.threads))
    if results.quality:
        parts.append(quality_tables(results.quality, results.compared_with, results.equal_error_rate))
    return "\n\n".join(parts)


def _plan(options: argparse.Namespace) -> Plan:
    voices = tuple(options.voices or (card.id for card in list_voices(DEMO_VOICES)))
    if not voices:
        raise VoiceError("No voice is installed; give the folder of a voice with --voices.")
    sources = find_recordings(options.sources)
    if options.quick:
        sources, voices = evenly_spaced(sources, QUICK_SOURCES), voices[:QUICK_VOICES]
    return Plan(
        sources=tuple(sources),
        voices=voices,
        targets=options.targets,
        transpose=options.transpose,
        parts=tuple(options.parts),
        kept=options.keep,
        trial=_trial(options, voices[0]),
    )


def _trial(options: argparse.Namespace, voice: str | Path) -> Trial:
    checkouts = [("here", HERE), *([checkout_beside(options.beside)] if options.beside else [])]
    long_s = options.long or (QUICK_LONG_S if options.quick else LONG_S)
    repeats = options.repeats or (QUICK_REPEATS if options.quick else Trial.repeats)
    return Trial(
        recordings=tuple(joined_recordings(options.sources)),
        voice=voice,
        threads=options.threads or (usable_cores(),),
        long_s=long_s,
        repeats=repeats,
        checkouts=tuple(checkouts),
    )


def _transpose(text: str) -> int | str:
    return text if text == "auto" else int(text)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is to be measured."""
    add_inputs(parser)
    parser.add_argument("--transpose", type=_transpose, default="auto", metavar="N|auto", help="default: auto")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    parser.add_argument("--long", type=float, metavar="S", help="length of the long source (default: 300 s)")
    parser.add_argument("--repeats", type=int, metavar="N", help="of which the least time counts (default: 3)")
    parser.add_argument("--beside", type=Path, metavar="DIR", help="another checkout, which converts in turn")
    parser.add_argument("--quick", action="store_true", help="two sources, one voice, half a minute")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the recordings converted for quality here")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield the results as tables or JSON."""
    results = run_benchmark(_plan(options))
    yield results_as_json(results) if options.json else results_as_text(results)
