"""What content credentials cost: time, bytes and memory for each format and length.

    python -m engine.benchmark credentials [--seconds 10 600] [--suffixes .wav .flac]

Each row is measured in this process, shortest first, so that the peak of memory belongs to the last one.
"""

import argparse
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from engine.audio.files import AudioWriter, open_audio
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.provenance.verification import verify
from engine.research.benchmark.machine import peak_memory_mb
from engine.research.tables import table
from engine.units import SAMPLE_RATE
from engine.version import __version__

STATEMENT = Statement("kathleen", "Kathleen", "0" * 64, {"transpose": 0}, "0" * 64, __version__)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add lengths and formats."""
    parser.add_argument("--seconds", type=int, nargs="+", default=[10, 60, 600])
    parser.add_argument("--suffixes", nargs="+", default=[".wav", ".flac", ".mp3"])


def run(asked: argparse.Namespace) -> Iterator[str]:
    """Yield a table with a row for each format and length."""
    with tempfile.TemporaryDirectory() as place:
        _measure(Path(place), ".wav", 1)  # libraries are loaded, and keys made
        yield table(
            ["format", "seconds", "sign ms", "verify ms", "bytes", "peak MB before", "after", "samples"],
            [_measure(Path(place), suffix, seconds) for seconds in sorted(asked.seconds) for suffix in asked.suffixes],
        )


def _measure(place: Path, suffix: str, seconds: int) -> list[str]:
    here = Installation(place / "home")
    plain, signed = place / f"plain{suffix}", place / f"signed{suffix}"
    plain_s = _written(plain, seconds, None, here)
    before_mb = peak_memory_mb()
    signed_s = _written(signed, seconds, STATEMENT, here)
    after_mb, started = peak_memory_mb(), time.perf_counter()
    state = verify(signed, here).state
    verified_s = time.perf_counter() - started
    same = "same" if state == "made_here" and _are_same(plain, signed) else f"DIFFERENT ({state})"
    more = signed.stat().st_size - plain.stat().st_size
    times_ms = (1000 * (signed_s - plain_s), 1000 * verified_s)
    return [suffix, str(seconds), *(f"{one:.0f}" for one in (*times_ms, more, before_mb, after_mb)), same]


def _written(path: Path, seconds: int, statement: Statement | None, installation: Installation) -> float:
    """Write noise, and return the seconds it took to finish the file."""
    noise = np.random.default_rng(0)
    with AudioWriter(path, SAMPLE_RATE, 1, statement, installation) as writer:
        for _ in range(seconds):
            writer.write(noise.normal(0, 0.1, (1, SAMPLE_RATE)).astype(np.float32))
        started = time.perf_counter()
    return time.perf_counter() - started


def _are_same(first: Path, second: Path) -> bool:
    with open_audio(first) as one, open_audio(second) as other:
        pairs = zip(one.blocks(SAMPLE_RATE), other.blocks(SAMPLE_RATE), strict=True)
        return all(np.array_equal(here, there) for here, there in pairs)
