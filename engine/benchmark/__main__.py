"""Measure speed, memory and quality of conversion in one run.

    python -m engine.benchmark                                          our own samples, to every installed voice
    python -m engine.benchmark --sources recordings/ --targets corpus/  other sources; similarity to real recordings
    python -m engine.benchmark --quick                                  two sources, one voice, up to a minute
    python -m engine.benchmark --json                                   everything, as one JSON object

speed    seconds of work per second of audio: `convert` on each source with each voice, with pitch detection and
         44.1 kHz output, after one conversion that is not counted. Wall time, and CPU time beside it, because the
         wall time of a busy machine says little.
memory   peak memory of `convert_file` against length, each length in a process of its own, on an input made by
         repeating the longest source.
quality  the mean of the scores of `engine.evaluation.scores` over sources x voices, for three outputs: the source
         itself (unconverted), the source through analysis and synthesis without a change of voice (copy synthesis:
         the loss by the synthesizer alone), and the conversion. Words are scored only in speech. And the equal error
         rate of a speaker verifier, if there are more recordings of the voice than those it is compared with.
"""

import argparse
import json
import multiprocessing
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Literal

import numpy as np
import soundfile
import torch

from engine.audio.containers import AUDIO_SUFFIXES
from engine.audio.files import Audio, open_audio, read_audio, write_audio
from engine.conversion.convert import convert, convert_file
from engine.conversion.settings import ConversionSettings
from engine.errors import AudioError, EngineError, VoiceError
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.scores import Scores, compare, equal_error_rate, mean_scores, speaker_similarity
from engine.networks.base import load_base
from engine.networks.synthesizer import copy_synthesis
from engine.voices.card import list_voices
from engine.voices.voice import Voice, load_voice

Part = Literal["speed", "memory", "quality"]
Output = Literal["unconverted", "copy synthesis", "conversion"]
Log = Callable[[str], None]

PARTS: tuple[Part, ...] = ("speed", "memory", "quality")
SAMPLES = Path(__file__).parents[1] / "samples"
LENGTHS_MINUTES = (1 / 6, 1.0, 10.0, 60.0)
QUICK_LENGTHS_MINUTES = (1 / 6, 1.0)
QUICK_SOURCES, QUICK_VOICES = 2, 1
COPY = "copy"  # the "voice" of a source through copy synthesis
TRANSPOSITIONS = "transpositions.tsv"  # beside kept outputs: file name and semitones
TARGET_RECORDINGS = 12  # of each voice, evenly spaced through its folder
SHOWN_SCORES = (
    "speaker_similarity", "source_similarity", "word_error", "pitch_accuracy", "pitch_corr",
    "voicing_error", "ovrl", "p808", "leak_db", "length_error",
)  # fmt: skip


@dataclass(frozen=True)
class Plan:
    """What to measure; `targets` is a corpus folder holding each voice's `corpus_speaker`, or None for the previews."""

    sources: tuple[Path, ...]
    voices: tuple[str | Path, ...]  # ids, or folders of voices that are not installed
    targets: Path | None
    lengths_minutes: tuple[float, ...] = LENGTHS_MINUTES
    transpose: int | Literal["auto"] = "auto"
    parts: tuple[Part, ...] = PARTS
    kept: Path | None = None  # folder for the outputs, to listen to


@dataclass(frozen=True)
class Sample:
    """One source converted to one voice, with the time it took."""

    source: str
    voice: str
    style: str
    transpose: float
    output: Audio
    audio_s: float
    wall_s: float
    processor_s: float


@dataclass(frozen=True)
class Speed:
    """Seconds of work per second of audio."""

    audio_s: float
    conversions: int
    wall_per_s: float
    processor_per_s: float
    slowest_wall_per_s: float  # of the single conversions
    output_rate: int


@dataclass(frozen=True)
class Memory:
    """One conversion of a file in a process of its own."""

    minutes: float
    peak_mb: float  # of the whole process, in 1e6 bytes
    wall_per_s: float  # loading of the program not counted
    length_error: float  # seconds


@dataclass(frozen=True)
class QualityRow:
    """Scores of one output."""

    output: Output
    source: str
    voice: str
    transpose: float
    scores: Scores


@dataclass(frozen=True)
class Results:
    """All measurements; a part that was not requested is None or empty."""

    machine: dict[str, str | int | float]
    compared_with: str  # recordings for the speaker similarity
    speed: Speed | None
    memory: tuple[Memory, ...]
    quality: tuple[QualityRow, ...]
    equal_error_rate: dict[str, float]  # of a speaker verifier, by voice: its own recordings against conversions


def run_benchmark(plan: Plan, log: Log) -> Results:
    """Measure the parts of `plan`; `log` gets one line per step. Raises EngineError."""
    machine = describe_machine()
    voices = [load_voice(name) for name in plan.voices]
    sources = {path.name: read_audio(path) for path in plan.sources}
    samples: list[Sample] = []
    if set(plan.parts) & {"speed", "quality"}:
        samples = convert_all(sources, voices, plan.transpose, log)
    if plan.kept:
        keep(samples, sources, plan.kept)
    quality: tuple[QualityRow, ...] = ()
    if "quality" in plan.parts:
        quality = measure_quality(sources, voices, samples, plan.targets, log)
    return Results(
        machine=machine,
        compared_with=f"recordings in {plan.targets.name}" if plan.targets else "the voices' previews",
        speed=summarise_speed(samples) if "speed" in plan.parts else None,
        memory=measure_memory(plan, log) if "memory" in plan.parts else (),
        quality=quality,
        equal_error_rate=measure_verification(voices, quality, plan.targets) if quality else {},
    )


# ---------------------------------------------------------------- speed


def convert_all(
    sources: dict[str, Audio], voices: Sequence[Voice], transpose: int | Literal["auto"], log: Log
) -> list[Sample]:
    """Convert every source to every voice and time each, after one conversion to warm up."""
    settings = ConversionSettings(transpose=transpose)
    convert(next(iter(sources.values())), voices[0], settings)
    samples = []
    for voice in voices:
        log(f"converting {len(sources)} recordings to {voice.card.name}")
        samples += [_timed_conversion(name, audio, voice, settings) for name, audio in sources.items()]
    return samples


def _timed_conversion(name: str, audio: Audio, voice: Voice, settings: ConversionSettings) -> Sample:
    wall, processor = time.perf_counter(), time.process_time()
    conversion = convert(audio, voice, settings)
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    return Sample(
        source=name,
        voice=voice.card.id,
        style=conversion.style,
        transpose=conversion.transpose,
        output=conversion.takes[0].audio,
        audio_s=audio.duration_s,
        wall_s=wall,
        processor_s=processor,
    )


def summarise_speed(samples: Sequence[Sample]) -> Speed:
    """Divide the total work by the total audio."""
    audio_s = sum(sample.audio_s for sample in samples)
    return Speed(
        audio_s=audio_s,
        conversions=len(samples),
        wall_per_s=sum(sample.wall_s for sample in samples) / audio_s,
        processor_per_s=sum(sample.processor_s for sample in samples) / audio_s,
        slowest_wall_per_s=max(sample.wall_s / sample.audio_s for sample in samples),
        output_rate=samples[0].output.rate,
    )


# ---------------------------------------------------------------- memory


def measure_memory(plan: Plan, log: Log) -> tuple[Memory, ...]:
    """Measure peak memory of converting a file, for each length. Raises EngineError if the system ends the process."""
    with tempfile.TemporaryDirectory(prefix="timbre-benchmark-") as folder:
        return tuple(
            _memory_at(minutes, plan.sources, plan.voices[0], Path(folder), log) for minutes in plan.lengths_minutes
        )


def _memory_at(minutes: float, sources: Sequence[Path], voice: str | Path, folder: Path, log: Log) -> Memory:
    log(f"converting a file of {_length_name(minutes)} to {voice} in a process of its own")
    source, output = folder / "source.wav", folder / "output.wav"
    write_repeated(longest(sources), source, minutes * 60)
    fresh = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(1, mp_context=fresh) as child:
            wall_s, peak_mb = child.submit(convert_measured, source, output, voice).result()
    except BrokenProcessPool as cause:
        raise EngineError(
            f"The system ended the conversion of {_length_name(minutes)}; memory probably ran out."
        ) from cause
    before, after = soundfile.info(source), soundfile.info(output)
    length_error = after.frames / after.samplerate - before.frames / before.samplerate
    return Memory(minutes, peak_mb, wall_s / (minutes * 60), length_error)


def convert_measured(source: Path, output: Path, voice: str | Path) -> tuple[float, float]:
    """Convert a file; return the wall time in seconds and the peak memory of this process in 1e6 bytes."""
    loaded = load_voice(voice)
    start = time.perf_counter()
    convert_file(source, [output], loaded, ConversionSettings(transpose=0))
    return time.perf_counter() - start, peak_memory_mb()


def peak_memory_mb() -> float:
    """Return the peak resident memory of this process, in 1e6 bytes.

    On Linux from /proc: there `getrusage` also counts memory of the parent process.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError as cause:
        raise EngineError("Peak memory can only be measured on Linux and macOS; leave it out with --parts.") from cause
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6  # macOS counts bytes


def longest(paths: Sequence[Path]) -> Path:
    """Return the longest recording."""

    def duration_s(path: Path) -> float:
        with open_audio(path) as recording:
            return recording.duration_s or 0.0

    return max(paths, key=duration_s)


def write_repeated(recording: Path, target: Path, seconds: float) -> None:
    """Repeat `recording` in the WAV file `target` until it lasts `seconds`."""
    audio = read_audio(recording)
    samples = audio.samples.T
    left = round(seconds * audio.rate)
    with soundfile.SoundFile(target, "w", audio.rate, audio.channels, "PCM_16") as file:
        while left:
            piece = samples[:left]
            file.write(piece)
            left -= len(piece)


# ---------------------------------------------------------------- quality


def measure_quality(
    sources: dict[str, Audio], voices: Sequence[Voice], samples: Sequence[Sample], corpus: Path | None, log: Log
) -> tuple[QualityRow, ...]:
    """Score every sample, its unchanged source, and copy synthesis of its source."""
    evaluator = Evaluator()
    log("analysing recordings of the voices")
    targets = {voice.card.id: evaluator.target_embedding(target_recordings(voice, corpus)) for voice in voices}
    rows: list[QualityRow] = []
    for name, audio in sources.items():
        log(f"scoring the conversions of {name}")
        rows += _score_source(name, audio, [sample for sample in samples if sample.source == name], targets, evaluator)
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


def others_of(voice: Voice, corpus: Path | None, targets: Sequence[Path]) -> list[Path]:
    """Return evenly spaced recordings of a voice's speaker in `corpus` that are not among `targets`."""
    if corpus is None or not voice.card.corpus_speaker:
        return []
    recordings = find_recordings(corpus / voice.card.corpus_speaker)
    return evenly_spaced([path for path in recordings if path not in targets], 2 * TARGET_RECORDINGS)


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


def target_recordings(voice: Voice, corpus: Path | None) -> list[Path]:
    """Choose recordings to compare a voice with: evenly spaced ones of its speaker in `corpus`, or its preview."""
    if corpus is None or not voice.card.corpus_speaker:
        if voice.preview is None:
            raise VoiceError(f"The voice {voice.card.id} has no preview to compare with; give --targets.")
        return [voice.preview]
    return evenly_spaced(find_recordings(corpus / voice.card.corpus_speaker), TARGET_RECORDINGS)


def find_recordings(folder: Path) -> list[Path]:
    """List the audio files directly in `folder`, by name. Raises AudioError if there is none."""
    if not folder.is_dir():
        raise AudioError(f"There is no folder {folder}.")
    paths = sorted(path for path in folder.iterdir() if path.suffix.lower() in AUDIO_SUFFIXES)
    if not paths:
        raise AudioError(f"There is no recording in {folder}.")
    return paths


def evenly_spaced(paths: Sequence[Path], count: int) -> list[Path]:
    """Choose at most `count` of `paths`, from the first to the last."""
    places = np.unique(np.linspace(0, len(paths) - 1, min(count, len(paths))).round().astype(int))
    return [paths[place] for place in places]


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


# ---------------------------------------------------------------- results


def describe_machine() -> dict[str, str | int | float]:
    """Describe the system, the CPU and the versions the figures depend on."""
    return {
        "system": platform.platform(),
        "processor": _processor_name(),
        "cores": os.cpu_count() or 1,
        "threads": torch.get_num_threads(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0,
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _processor_name() -> str:
    listing = Path("/proc/cpuinfo")
    names = [line for line in listing.read_text().splitlines() if "model name" in line] if listing.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor() or platform.machine()


def results_as_json(results: Results) -> str:
    """Format all results, with the means in the tables, as JSON."""
    return json.dumps(asdict(results) | {"means": quality_means(results.quality)}, indent=1, allow_nan=False)


def quality_means(rows: Sequence[QualityRow]) -> dict[str, dict[str, dict[str, float | None]]]:
    """Average the scores of each output, and of the conversion by voice and by source."""
    converted = [row for row in rows if row.output == "conversion"]
    return {
        "by_output": _means(rows, attrgetter("output")),
        "by_voice": _means(converted, attrgetter("voice")),
        "by_source": _means(converted, attrgetter("source")),
    }


def _means(rows: Sequence[QualityRow], group_of: Callable[[QualityRow], str]) -> dict[str, dict[str, float | None]]:
    groups = dict.fromkeys(map(group_of, rows))
    return {group: mean_scores(row.scores for row in rows if group_of(row) == group) for group in groups}


def results_as_text(results: Results) -> str:
    """Format the results as Markdown tables."""
    machine = results.machine
    parts = [
        f"{machine['processor']}, {machine['cores']} cores, {machine['threads']} threads, torch {machine['torch']}, "
        f"load before the start {machine['load_before']}"
    ]
    if results.speed:
        parts.append(_speed_table(results.speed))
    if results.memory:
        parts.append(_memory_table(results.memory))
    if results.quality:
        parts.append(_quality_tables(results))
    return "\n\n".join(parts)


def _speed_table(speed: Speed) -> str:
    heading = f"Speed: {speed.conversions} conversions, {speed.audio_s:.0f} s of audio, {speed.output_rate} Hz out"
    rows = [
        ["wall time", f"{speed.wall_per_s:.4f}"],
        ["wall time, slowest recording", f"{speed.slowest_wall_per_s:.4f}"],
        ["CPU time, all cores", f"{speed.processor_per_s:.4f}"],
    ]
    return f"{heading}\n\n{table(['', 's of work per s of audio'], rows)}"


def _memory_table(memory: Sequence[Memory]) -> str:
    rows = [
        [_length_name(m.minutes), f"{m.peak_mb:.0f}", f"{m.wall_per_s:.4f}", f"{m.length_error:.6f}"] for m in memory
    ]
    header = ["length", "peak MB", "s of work per s of audio", "length error, s"]
    return f"Memory of converting a file\n\n{table(header, rows)}"


def _quality_tables(results: Results) -> str:
    means = quality_means(results.quality)
    shifts = sorted(abs(row.transpose) for row in results.quality if row.output == "conversion")
    transposed = f"transposed by {shifts[0]:g} to {shifts[-1]:g} semitones, {np.mean(shifts):.1f} on average"
    titles = {
        "by_output": f"Quality, mean over sources x voices; similarity to {results.compared_with}; {transposed}",
        "by_voice": "The conversion, by voice",
        "by_source": "The conversion, by source",
    }
    tables = [f"{titles[key]}\n\n{_score_table(groups)}" for key, groups in means.items()]
    if results.equal_error_rate:
        rates = [[voice, f"{rate:.2f}"] for voice, rate in results.equal_error_rate.items()]
        tables.append(
            f"Equal error rate of a speaker verifier\n\n{table(['', 'conversions against recordings'], rates)}"
        )
    return "\n\n".join(tables)


def _score_table(groups: dict[str, dict[str, float | None]]) -> str:
    rows = [[name, *(score_text(scores[key], key) for key in SHOWN_SCORES)] for name, scores in groups.items()]
    return table(["", *SHOWN_SCORES], rows)


def score_text(value: float | None, name: str = "") -> str:
    """Format a score with the digits that matter."""
    if value is None:
        return "-"
    return f"{value:.1f}" if name == "leak_db" else f"{value:.6f}" if name == "length_error" else f"{value:.3f}"


def _length_name(minutes: float) -> str:
    return f"{minutes * 60:.0f} s" if minutes < 1 else f"{minutes:g} min"


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table, aligned in plain text too: the first column to the left, the others to the right."""
    widths = [max(3, *(len(line[column]) for line in [header, *rows])) for column in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cells[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)),
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join([line(header), line(rule), *(line(row) for row in rows)])


# ---------------------------------------------------------------- the command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        results = run_benchmark(_plan(options), log)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    print(results_as_json(results) if options.json else results_as_text(results))
    return 0


def log(line: str) -> None:
    """Tell what is being measured."""
    print(line, file=sys.stderr, flush=True)


def _plan(options: argparse.Namespace) -> Plan:
    voices = tuple(options.voices or (card.id for card in list_voices()))
    if not voices:
        raise VoiceError("No voice is installed; give the folder of a voice with --voices.")
    sources, lengths = find_recordings(options.sources), options.minutes or LENGTHS_MINUTES
    if options.quick:
        sources, voices = evenly_spaced(sources, QUICK_SOURCES), voices[:QUICK_VOICES]
        lengths = options.minutes or QUICK_LENGTHS_MINUTES
    return Plan(
        sources=tuple(sources),
        voices=voices,
        targets=options.targets,
        lengths_minutes=tuple(lengths),
        transpose=options.transpose,
        parts=tuple(options.parts),
        kept=options.keep,
    )


def _transpose(text: str) -> int | str:
    return text if text == "auto" else int(text)


def _voice(text: str) -> str | Path:
    return Path(text) if os.sep in text else text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m engine.benchmark", description="Measure speed, memory and quality of conversion."
    )
    add_inputs(parser)
    parser.add_argument("--transpose", type=_transpose, default="auto", metavar="N|auto", help="default: auto")
    parser.add_argument(
        "--minutes", type=float, nargs="+", metavar="M", help="lengths for the memory part (default: 10 s, 1, 10, 60)"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="default: all")
    parser.add_argument("--quick", action="store_true", help="two sources, one voice, lengths up to a minute")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write the converted recordings here")
    return parser


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the options for what is converted, what it is compared with, and how the figures are printed."""
    parser.add_argument(
        "--sources", type=Path, default=SAMPLES, metavar="DIR", help="recordings to convert (default: samples)"
    )
    parser.add_argument(
        "--targets", type=Path, metavar="DIR", help="corpus with recordings of the voices (default: their previews)"
    )
    parser.add_argument(
        "--voices", type=_voice, nargs="+", metavar="ID", help="ids or folders (default: all installed voices)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of tables")


if __name__ == "__main__":
    sys.exit(main())
