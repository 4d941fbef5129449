"""What a conversion costs with one thread and with several, here and in another checkout, each in its own process.

Sources are clips of 3 and 10 s and a long source (long_source.py), mono and stereo, as they are and 3 semitones higher.
Each line of a table belongs to a number of threads. With another checkout, both are asked in turn, A B A B, so that
what else the machine does falls on both; the least time of several counts.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from engine.errors import EngineError
from engine.research.benchmark.long_source import write_long_source
from engine.research.command import log
from engine.research.tables import table

HERE = Path(__file__).parents[3]
_PROGRAM = Path(__file__).with_name("timed_conversions.py")
_SHORT_S = (3.0, 10.0)
_MOVED = 3  # semitones


@dataclass(frozen=True)
class Case:
    """A source to convert, and by how many semitones; its file is made in the work folder."""

    name: str
    seconds: float
    channels: int
    transpose: int


@dataclass(frozen=True)
class TimedConversion:
    """A line of the input of timed_conversions.py: paths, semitones, and where it is done."""

    source: str
    output: str
    transpose: int
    device: str


@dataclass(frozen=True)
class ThreadCost:
    """The least time that one case took, per second of sound, and the peak of memory of its process."""

    checkout: str
    threads: int
    case: str
    wall_per_s: float
    processor_per_s: float
    peak_mb: float
    card_mb: float = 0.0  # of the memory of a graphics card


@dataclass(frozen=True)
class Trial:
    """What to measure. checkouts: name and folder, the first is what others are compared with."""

    recordings: tuple[Path, ...]
    voice: str | Path
    threads: tuple[int, ...]
    long_s: float = 300.0
    repeats: int = 3
    checkouts: tuple[tuple[str, Path], ...] = (("here", HERE),)
    device: str = "cpu"


def cases_of(trial: Trial) -> list[Case]:
    """Return the clips and the long sources, each as it is and moved."""
    sources = [(seconds, 1) for seconds in (*_SHORT_S, trial.long_s)] + [(trial.long_s, 2)]
    return [Case(_name(*source, moved), *source, moved) for source in sources for moved in (0, _MOVED)]


def checkout_beside(folder: Path) -> tuple[str, Path]:
    """Return name and folder of another checkout. Raises EngineError if there is none."""
    if not (folder / "engine" / "research" / "benchmark" / "machine.py").is_file():
        raise EngineError(f"{folder} holds no checkout: make one with `git worktree add {folder} COMMIT`.")
    return folder.name, folder.resolve()


def measure_thread_costs(trial: Trial, cases: Sequence[Case] | None = None) -> tuple[ThreadCost, ...]:
    """Measure all cases with each number of threads. Raises EngineError."""
    chosen = cases_of(trial) if cases is None else cases
    with tempfile.TemporaryDirectory(prefix="timbre-benchmark-") as place:
        folder = Path(place)
        for case in chosen:
            write_long_source(trial.recordings, _source(folder, case), case.seconds, case.channels)
        before = asked_of(folder, min(chosen, key=lambda case: case.seconds), trial)
        return tuple(
            cost
            for threads in trial.threads
            for case in chosen
            for cost in _costs(trial, case, threads, asked_of(folder, case, trial), before)
        )


def asked_of(folder: Path, case: Case, trial: Trial) -> TimedConversion:
    """Return what `ask` is given for a case."""
    return TimedConversion(str(_source(folder, case)), str(folder / "output.wav"), case.transpose, trial.device)


def _costs(
    trial: Trial, case: Case, threads: int, wanted: TimedConversion, before: TimedConversion
) -> list[ThreadCost]:
    """Convert one case in a process of each checkout, in turn, after another conversion that is not counted."""
    log(f"{case.name}, {_of_threads(threads)}")
    with ExitStack() as stack:
        asked = {
            name: stack.enter_context(timing_process(checkout, threads, trial.voice))
            for name, checkout in trial.checkouts
        }
        for process in asked.values():
            ask(process, before)
        answers: dict[str, list[dict[str, float]]] = {name: [] for name in asked}
        for _ in range(trial.repeats):
            for name, process in asked.items():
                answers[name].append(ask(process, wanted))
    return [
        ThreadCost(
            name,
            threads,
            case.name,
            min(one["wall_s"] for one in found) / case.seconds,
            min(one["processor_s"] for one in found) / case.seconds,
            max(one["peak_mb"] for one in found),
            max(one["card_mb"] for one in found),
        )
        for name, found in answers.items()
    ]


@contextmanager
def timing_process(checkout: Path, threads: int, voice: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """Start the program of timed_conversions.py with the engine of a checkout, and end it afterwards."""
    before = os.environ.get("PYTHONPATH", "")  # such as wheels that were installed into a folder
    path = os.pathsep.join([str(checkout), *([before] if before else [])])
    environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": str(threads)}
    name = str(voice.resolve()) if isinstance(voice, Path) else voice
    command = [sys.executable, "-P", str(_PROGRAM), str(threads), name]
    process = subprocess.Popen(
        command, env=environment, cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ask(process: "subprocess.Popen[str]", conversion: TimedConversion) -> dict[str, float]:
    """Have one conversion done. Raises EngineError if it fails, or the system ends the process."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(asdict(conversion)) + "\n")
        process.stdin.flush()
    except BrokenPipeError:
        pass  # what it said before it ended stands on the standard error
    line = process.stdout.readline()
    if not line:
        raise EngineError("The process that was to convert has ended; see above, or memory ran out.")
    answer: dict[str, float] = json.loads(line)
    if "error" in answer:
        raise EngineError(str(answer["error"]))
    return answer


def thread_tables(costs: Sequence[ThreadCost]) -> str:
    """Format the measurements: a table for each figure, with a line for each number of threads."""
    figures = {
        "Seconds of work per second of sound": [f"{cost.wall_per_s:.4f}" for cost in costs],
        "The same of all cores together": [f"{cost.processor_per_s:.4f}" for cost in costs],
        "Peak memory of the process, MB": [f"{cost.peak_mb:.0f}" for cost in costs],
    }
    if any(cost.card_mb for cost in costs):
        figures["Memory of the card, MB"] = [f"{cost.card_mb:.0f}" for cost in costs]
    fewest = {(cost.checkout, cost.case): cost for cost in reversed(costs) if cost.threads == costs[0].threads}
    figures[f"Time as a share of that with {_of_threads(costs[0].threads)}"] = [
        f"{cost.wall_per_s / fewest[cost.checkout, cost.case].wall_per_s:.2f}" for cost in costs
    ]
    first = {(cost.threads, cost.case): cost for cost in costs if cost.checkout == costs[0].checkout}
    tables = [f"{title}\n\n{_table(costs, values)}" for title, values in figures.items()]
    others = [cost for cost in costs if cost.checkout != costs[0].checkout]
    for title, of in (("Time", "wall_per_s"), ("Processor time", "processor_per_s")) if others else ():
        shares = [f"{getattr(first[cost.threads, cost.case], of) / getattr(cost, of):.2f}" for cost in others]
        heading = f"{title} of {costs[0].checkout} as a share of {others[0].checkout}'s"
        tables.append(f"{heading}\n\n{_table(others, shares)}")
    return "\n\n".join(tables)


def _table(costs: Sequence[ThreadCost], values: Sequence[str]) -> str:
    cases = list(dict.fromkeys(cost.case for cost in costs))
    lines: dict[str, dict[str, str]] = {}
    several = len({cost.checkout for cost in costs}) > 1
    for cost, value in zip(costs, values, strict=True):
        name = _of_threads(cost.threads) + (f", {cost.checkout}" if several else "")
        lines.setdefault(name, {})[cost.case] = value
    return table(["", *cases], [[name, *(found.get(case, "-") for case in cases)] for name, found in lines.items()])


def _name(seconds: float, channels: int, moved: int) -> str:
    return f"{seconds:g} s" + (" stereo" if channels == 2 else "") + (f", +{moved}" if moved else "")


def _of_threads(threads: int) -> str:
    return f"{threads} thread{'' if threads == 1 else 's'}"


def _source(folder: Path, case: Case) -> Path:
    return folder / f"{case.seconds:g}-{case.channels}.wav"
