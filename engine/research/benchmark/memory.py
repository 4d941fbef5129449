"""Peak memory of converting a file, by its length, each length in a process of its own."""

import multiprocessing
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path

import soundfile

from engine.conversion.convert import convert_file
from engine.conversion.settings import ConversionSettings
from engine.errors import EngineError
from engine.research.benchmark.machine import peak_memory_mb
from engine.research.benchmark.recordings import longest, write_repeated
from engine.research.command import log
from engine.research.tables import table
from engine.voices.voice import load_voice


@dataclass(frozen=True)
class Memory:
    """One conversion of a file in a process of its own."""

    minutes: float
    peak_mb: float  # of the whole process, in 1e6 bytes
    wall_per_s: float  # loading of the program not counted
    length_error: float  # seconds


def measure_memory(sources: Sequence[Path], voice: str | Path, lengths_minutes: Sequence[float]) -> tuple[Memory, ...]:
    """Measure peak memory of converting a file, for each length. Raises EngineError if the system ends the process."""
    with tempfile.TemporaryDirectory(prefix="timbre-benchmark-") as folder:
        return tuple(_memory_at(minutes, sources, voice, Path(folder)) for minutes in lengths_minutes)


def _memory_at(minutes: float, sources: Sequence[Path], voice: str | Path, folder: Path) -> Memory:
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


def memory_table(memory: Sequence[Memory]) -> str:
    """Format the measurements, a row for each length."""
    rows = [
        [_length_name(m.minutes), f"{m.peak_mb:.0f}", f"{m.wall_per_s:.4f}", f"{m.length_error:.6f}"] for m in memory
    ]
    header = ["length", "peak MB", "s of work per s of audio", "length error, s"]
    return f"Memory of converting a file\n\n{table(header, rows)}"


def _length_name(minutes: float) -> str:
    return f"{minutes * 60:.0f} s" if minutes < 1 else f"{minutes:g} min"
