"""`python -m engine.benchmark.devices`: what every device that works here costs, beside the processor, in one run.

For each: seconds of work per second of sound for a conversion of our own samples (pitch detection, which stays on the
processor, included), and for a step of a training, as a share of the sound that is learned from in it. And how far its
conversions are from the processor's, in decibels below them.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch

from engine.audio.files import Audio, read_audio
from engine.benchmark.__main__ import SAMPLES, describe_machine
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.devices import Device, choose_device, probe_devices
from engine.features.clips import Clip, analyse_clip
from engine.networks.base import load_base
from engine.training.fine_tuning import PIECE_FRAMES, FineTuning, epoch_pieces
from engine.training.plan import TrainingPlan
from engine.units import FRAME_RATE
from engine.voices.card import list_voices
from engine.voices.voice import Voice, load_voice

_LEAST_S = 20.0  # of sound that is converted: the samples, as often as that needs
_STEPS = 6
_WARM_STEPS = 2  # before those that are timed
_LESSON_S = 60.0  # of sound to learn from


@dataclass(frozen=True)
class DeviceCost:
    """What one device needs. difference_db: None for the processor itself."""

    device: str
    name: str
    precision: str
    conversion_s_per_s: float
    training_s_per_s: float  # of sound that a step learns from
    difference_db: float | None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark as its command does; gives the exit status."""
    options = _parser().parse_args(arguments)
    if options.threads:
        torch.set_num_threads(options.threads)
    costs = measure_devices(options.samples, lambda text: print(text, file=sys.stderr, flush=True))
    if options.json:
        print(json.dumps(describe_machine() | {"devices": [asdict(cost) for cost in costs]}, indent=2))
    else:
        print(_table(costs))
    return 0


def measure_devices(samples: Path = SAMPLES, say: Callable[[str], None] = lambda text: None) -> list[DeviceCost]:
    """The cost of every device that works, the processor last, whose results the others are compared with."""
    sources = [read_audio(path) for path in sorted(samples.glob("*.flac"))]
    voice = load_voice(list_voices()[0].id)
    lesson = [analyse_clip(_lasting(sources[0], _LESSON_S))]
    say("the processor")
    processor = choose_device("cpu")
    wanted, conversion_s = _converted(sources, voice, processor)
    costs = [_cost(processor, conversion_s, _timed_training(lesson, processor), None)]
    for device in (probe.device for probe in probe_devices()):
        if device is not None and device.kind != processor.kind:
            say(device.name)
            found, conversion_s = _converted(sources, voice, device)
            costs.insert(0, _cost(device, conversion_s, _timed_training(lesson, device), _difference(wanted, found)))
    return costs


def _cost(device: Device, conversion_s: float, training_s: float, difference_db: float | None) -> DeviceCost:
    precision = str(device.precision).removeprefix("torch.")
    return DeviceCost(
        device.called, device.name, precision, round(conversion_s, 5), round(training_s, 5), difference_db
    )


def _converted(sources: Sequence[Audio], voice: Voice, device: Device) -> tuple[np.ndarray, float]:
    """The conversions in a row, float32 (samples,), and the seconds that each second took."""
    settings = ConversionSettings(transpose="auto")
    convert(sources[0], voice, settings, device=device.called)
    takes, spent_s, sound_s = [], 0.0, 0.0
    while sound_s < _LEAST_S:
        started = time.perf_counter()
        takes = [convert(source, voice, settings, device=device.called).takes[0].audio for source in sources]
        spent_s += time.perf_counter() - started
        sound_s += sum(source.duration_s for source in sources)
    return np.concatenate([take.mono() for take in takes]), spent_s / sound_s


def _timed_training(clips: Sequence[Clip], device: Device) -> float:
    """The seconds that a second of what is learned from takes."""
    plan = TrainingPlan()
    tuning = FineTuning(load_base(device=device.torch_device), clips, plan, precision=device.precision)
    pieces = epoch_pieces(clips, 0, 0)[: plan.batch]
    for number in range(_WARM_STEPS):
        tuning.step(number, pieces)
    started = time.perf_counter()
    for number in range(_STEPS):
        tuning.step(number, pieces)  # gives its losses as numbers, so it waits for the device
    return (time.perf_counter() - started) / (_STEPS * len(pieces) * PIECE_FRAMES / FRAME_RATE)


def _difference(wanted: np.ndarray, found: np.ndarray) -> float:
    """Decibels by which the difference lies below the sound."""
    power = float(np.mean((found - wanted) ** 2)) / float(np.mean(wanted**2))
    return round(10 * float(np.log10(max(power, 1e-20))), 1)


def _lasting(audio: Audio, seconds: float) -> Audio:
    """The same again and again, as long as that."""
    times = int(np.ceil(seconds / audio.duration_s))
    return Audio(np.tile(audio.samples, (1, times))[:, : round(seconds * audio.rate)], audio.rate)


def _table(costs: Sequence[DeviceCost]) -> str:
    lines = [f"{'':<10}{'s per s converted':>20}{'s per s learned':>18}{'difference':>14}  "]
    for cost in costs:
        apart = "" if cost.difference_db is None else f"{cost.difference_db} dB"
        lines.append(
            f"{cost.device:<10}{cost.conversion_s_per_s:>20.4f}{cost.training_s_per_s:>18.4f}{apart:>14}  "
            f"{cost.name}, {cost.precision}"
        )
    return "\n".join(lines)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m engine.benchmark.devices", description=__doc__)
    parser.add_argument("--samples", type=Path, default=SAMPLES, help="folder of flac files to convert (our own)")
    parser.add_argument("--threads", type=int, help="processor threads (all)")
    parser.add_argument("--json", action="store_true", help="everything, as one JSON object")
    return parser


if __name__ == "__main__":
    sys.exit(main())
