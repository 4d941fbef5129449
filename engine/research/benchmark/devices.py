"""`python -m engine.benchmark devices`: compare every working device with the CPU in one run.

For each: seconds of work per second of audio for a conversion of our own samples (with pitch detection, which stays on
the CPU) and for a training step; and how far its conversions differ from the CPU's, in decibels below them.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from engine.audio.files import Audio, read_audio
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.devices import Device, choose_device, probe_devices
from engine.features.clips import Clip, analyse_clip
from engine.networks.base import load_base
from engine.research.benchmark.machine import describe_machine
from engine.research.benchmark.recordings import SAMPLES
from engine.research.command import log
from engine.research.tables import score_text, table
from engine.training.fine_tuning import FineTuning
from engine.training.pieces import PIECE_FRAMES, epoch_pieces
from engine.training.plan import TrainingPlan
from engine.units import FRAME_RATE
from engine.voices.card import DEMO_VOICES, list_voices
from engine.voices.voice import Voice, load_voice

_LEAST_S = 20.0  # of audio to convert: the samples, repeated as needed
_STEPS = 6
_WARM_STEPS = 2  # before the timed ones
_LESSON_S = 60.0  # of audio to train on


@dataclass(frozen=True)
class DeviceCost:
    """Time one device takes. difference_db: None for the CPU itself."""

    device: str
    name: str
    precision: str
    conversion_s_per_s: float
    training_s_per_s: float  # of audio in a step
    difference_db: float | None


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield a table, or everything as JSON."""
    costs = measure_devices(options.samples)
    if options.json:
        yield json.dumps(describe_machine() | {"devices": [asdict(cost) for cost in costs]}, indent=2)
        return
    rows = []
    for one in costs:
        figures = (one.conversion_s_per_s, one.training_s_per_s, one.difference_db)
        rows.append([f"{one.device}, {one.name}, {one.precision}", *map(score_text, figures)])
    yield table(["", "s per s converted", "s per s trained", "difference, dB"], rows)


def measure_devices(samples: Path = SAMPLES) -> list[DeviceCost]:
    """Measure every working device; the CPU, which the others are compared with, is last."""
    sources = [read_audio(path) for path in sorted(samples.glob("*.flac"))]
    voice = load_voice(list_voices(DEMO_VOICES)[0].id)
    lesson = [analyse_clip(_lasting(sources[0], _LESSON_S))]
    log("the CPU")
    processor = choose_device("cpu")
    wanted, conversion_s = _converted(sources, voice, processor)
    costs = [_cost(processor, conversion_s, _timed_training(lesson, processor), None)]
    for device in (probe.device for probe in probe_devices()):
        if device is not None and device.kind != processor.kind:
            log(device.name)
            found, conversion_s = _converted(sources, voice, device)
            costs.insert(0, _cost(device, conversion_s, _timed_training(lesson, device), difference_db(wanted, found)))
    return costs


def _cost(device: Device, conversion_s: float, training_s: float, difference_db: float | None) -> DeviceCost:
    precision = str(device.precision).removeprefix("torch.")
    return DeviceCost(
        device.identifier, device.name, precision, round(conversion_s, 5), round(training_s, 5), difference_db
    )


def _converted(sources: Sequence[Audio], voice: Voice, device: Device) -> tuple[np.ndarray, float]:
    """Convert all sources; return them concatenated, float32 (samples,), and the seconds of work per second."""
    settings = ConversionSettings(transpose="auto")
    convert(sources[0], voice, settings, device=device.identifier)
    takes, spent_s, sound_s = [], 0.0, 0.0
    while sound_s < _LEAST_S:
        started = time.perf_counter()
        takes = [convert(source, voice, settings, device=device.identifier).takes[0].audio for source in sources]
        spent_s += time.perf_counter() - started
        sound_s += sum(source.duration_s for source in sources)
    return np.concatenate([take.mono() for take in takes]), spent_s / sound_s


def _timed_training(clips: Sequence[Clip], device: Device) -> float:
    """Time training steps, in seconds of work per second of audio."""
    plan = TrainingPlan()
    tuning = FineTuning(load_base(device=device.torch_device), clips, plan, precision=device.precision)
    pieces = epoch_pieces(clips, 0, 0)[: plan.batch]
    steps = tuning.draw(0, [pieces] * (_WARM_STEPS + _STEPS))
    for step in steps[:_WARM_STEPS]:
        tuning.read([tuning.queue(step)])
    started = time.perf_counter()
    tuning.read([tuning.queue(step) for step in steps[_WARM_STEPS:]])  # waits for the device once, at the end
    return (time.perf_counter() - started) / (_STEPS * len(pieces) * PIECE_FRAMES / FRAME_RATE)


def difference_db(wanted: np.ndarray, found: np.ndarray) -> float:
    """Return the level of the difference relative to the CPU's output, in dB."""
    power = float(np.mean((found - wanted) ** 2)) / float(np.mean(wanted**2))
    return round(10 * float(np.log10(max(power, 1e-20))), 1)


def _lasting(audio: Audio, seconds: float) -> Audio:
    """Repeat the audio until it lasts that long."""
    times = int(np.ceil(seconds / audio.duration_s))
    return Audio(np.tile(audio.samples, (1, times))[:, : round(seconds * audio.rate)], audio.rate)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add what is converted."""
    parser.add_argument("--samples", type=Path, default=SAMPLES, help="folder of FLAC files (default: our samples)")
    parser.add_argument("--json", action="store_true", help="everything, as one JSON object")
