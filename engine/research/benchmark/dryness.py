"""How well mixes and rooms are told from dry vocals: `python -m engine.benchmark dryness --vocals FOLDER ...`.

Each vocal is analysed as it is, and again with accompaniment, a second vocal, noise and rooms
(engine/research/benchmark/mixes.py).
Prints the share of recordings that are called a mix or reverberant, and what the measure costs.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from engine.analysis.dryness import Dryness, DrynessMeter
from engine.analysis.loudness import measure_loudness
from engine.analysis.pitch import detect_pitch
from engine.audio.containers import AUDIO_SUFFIXES
from engine.audio.files import read_audio
from engine.audio.resampling import resample
from engine.research.benchmark.mixes import beside, chords, drums, hiss, in_a_room
from engine.research.tables import table
from engine.units import SAMPLE_RATE

_LONGEST_S, _SHORTEST_S = 10, 3.0


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which vocals are drawn."""
    parser.add_argument("--vocals", nargs="+", type=Path, required=True, help="folders of dry vocals")
    parser.add_argument("--count", type=int, default=100, help="vocals to draw, evenly over the folders (default: 100)")
    parser.add_argument("--dry-only", action="store_true", help="count false alarms alone")
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield a table, or JSON with every measure."""
    rows = list(measure(draw(options.vocals, options.count), options.dry_only))
    yield json.dumps(rows) if options.json else shares(rows)


def draw(folders: Sequence[Path], count: int) -> list[Path]:
    """Draw recordings evenly over the folders, always the same ones."""
    drawn = random.Random(0)  # noqa: S311
    found = []
    for folder in folders:
        files = sorted(path for path in folder.rglob("*") if path.suffix.lower() in AUDIO_SUFFIXES)
        found += drawn.sample(files, min(len(files), -(-count // len(folders))))
    return found


def measure(paths: Sequence[Path], dry_only: bool = False) -> Iterator[dict[str, Any]]:
    """Yield a row for each vocal and condition: file, condition, is_mix, is_reverberant, cost and the measures."""
    vocals = [(path, samples) for path in paths if len(samples := _read(path)) >= _SHORTEST_S * SAMPLE_RATE]
    for number, (path, vocal) in enumerate(vocals):
        other = vocals[(7 * number + 11) % len(vocals)][1]
        for condition, samples in _versions(vocal, other, np.random.default_rng(number), dry_only):
            found, seconds = _dryness(samples)
            judged = {"is_mix": found.is_mix, "is_reverberant": found.is_reverberant, "score": found.score}
            named = {"file": str(path), "condition": condition, "cost": seconds / found.duration_s}
            yield named | judged | asdict(found)


def shares(rows: Sequence[dict[str, Any]]) -> str:
    """Format the shares of recordings called a mix, reverberant, and either, and the cost."""
    lines = []
    for condition in dict.fromkeys(row["condition"] for row in rows):
        these = [row for row in rows if row["condition"] == condition]
        mixes, rooms = ([row[name] for row in these] for name in ("is_mix", "is_reverberant"))
        found = (np.mean(mixes), np.mean(rooms), np.mean(np.logical_or(mixes, rooms)))
        lines.append([condition, str(len(these)), *(f"{100 * share:.1f} %" for share in found)])
    cost_ms = 1000 * np.mean([row["cost"] for row in rows])
    heading = ["recording", "count", "mix", "room", "either"]
    return f"{table(heading, lines)}\n\ncost: {cost_ms:.2f} ms per second of sound"


def _versions(
    vocal: np.ndarray, other: np.ndarray, drawn: np.random.Generator, dry_only: bool
) -> Iterator[tuple[str, np.ndarray]]:
    yield "dry", vocal
    if dry_only:
        return
    length = len(vocal)
    for level_db in (-40, -30):
        yield f"noise, {level_db} dB", beside(vocal, hiss(length, drawn), level_db)
    for level_db in (-18, -12, -6, 0):
        yield f"chords, {level_db} dB", beside(vocal, chords(length, drawn), level_db)
    for level_db in (-12, -6):
        band = chords(length, drawn) / 3 + drums(length, drawn)
        yield f"chords and drums, {level_db} dB", beside(vocal, band, level_db)
    yield "drums, -6 dB", beside(vocal, drums(length, drawn), -6)
    for level_db in (-12, -6, 0):
        yield f"second voice, {level_db} dB", beside(vocal, np.resize(other, length), level_db)
    for decay_s, wet_db in ((0.3, -12), (0.6, -6), (1.0, -6), (1.5, -3), (2.5, 0)):
        yield f"room, {decay_s} s, {wet_db} dB", in_a_room(vocal, decay_s, drawn, wet_db)


def _read(path: Path) -> np.ndarray:
    audio = read_audio(path)
    samples = audio.mono()[: _LONGEST_S * audio.rate]
    return np.asarray(resample(samples, audio.rate, SAMPLE_RATE), np.float64)


def _dryness(samples: np.ndarray) -> tuple[Dryness, float]:
    """Return the measures and the seconds they took, without pitch and loudness."""
    samples = (0.5 * samples / np.abs(samples).max()).astype(np.float32)
    pitch, loudness_db = detect_pitch(samples, SAMPLE_RATE), measure_loudness(samples)
    started = time.perf_counter()
    meter = DrynessMeter()
    meter.add(samples, pitch, loudness_db, slice(0, len(pitch)))
    return meter.finish(loudness_db, len(samples) / SAMPLE_RATE), time.perf_counter() - started
