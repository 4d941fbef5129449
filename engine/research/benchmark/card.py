"""What a graphics card brings, in sections of a minute each: `.ci/gpu` runs them all and prints their tables.

    python -m engine.benchmark card --section conversion --device cuda
    python -m engine.benchmark card --section training --device cpu --quick

machine     the hardware and the versions that the figures depend on
conversion  seconds of work per second of sound, and memory, for songs of several lengths: on the card, and on the
            processor with several numbers of threads
batches     a conversion with one window at a time on the card, and with as many as its share of memory holds
difference  how far the card's conversions are from the processor's, in decibels below them
training    100 epochs of a voice of 3 minutes; on the processor an estimate of them
steps       a training step by itself: how long it takes to queue, how long the card works on it, and how often a step
            waits for the card, which must be never

Each line is printed as soon as it is known, so that what a time limit cuts off costs no other. `--device cpu` measures
the processor alone; `--quick` takes seconds of sound instead of minutes.
"""

import argparse
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from unittest.mock import patch

import numpy as np
import torch

from engine.audio.files import read_audio
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.devices import Device, choose_device
from engine.features import analysed_windows
from engine.features.clips import Clip, analyse_clip
from engine.networks.base import load_base
from engine.research.benchmark.long_source import joined_recordings, write_long_source
from engine.research.benchmark.machine import describe_machine, peak_memory_mb
from engine.research.benchmark.recordings import SAMPLES
from engine.research.benchmark.thread_costs import HERE, TimedConversion, ask, timing_process
from engine.training.fine_tuning import FineTuning
from engine.training.history import read_history
from engine.training.pieces import epoch_pieces
from engine.training.plan import TrainingPlan
from engine.training.train import estimate_training, train
from engine.voices.voice import load_voice

SECTIONS = ("machine", "conversion", "difference", "batches", "training", "steps")
MOST_DB = -60.0  # that a card's conversion may differ
_VOICE = "koguchi"
_PACKAGES = ("numpy", "scipy", "onnxruntime", "soundfile", "soxr", "swift-f0")
_WARM_S = 3.0  # of a conversion that is not counted
_TWICE_S = 60.0  # shorter ones are measured twice
_WARM_STEPS, _TIMED_STEPS = 5, 20


@dataclass(frozen=True)
class Extent:
    """How much is measured."""

    lengths_s: tuple[float, ...] = (10.0, 53.0, 231.0, 300.0)
    threads: tuple[int, ...] = (16, 4, 1)
    compared_s: tuple[float, ...] = (10.0,)
    lesson_s: float = 180.0
    epochs: int = 100


QUICK = Extent(lengths_s=(3.0, 10.0), threads=(2, 1), compared_s=(3.0,), lesson_s=24.0, epochs=1)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which section is measured, and where."""
    parser.add_argument("--section", choices=SECTIONS, required=True)
    parser.add_argument("--device", default="cuda", help="cuda, cuda:1, mps, or cpu: the processor alone")
    parser.add_argument("--quick", action="store_true", help="seconds of sound instead of minutes")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield the lines of a section. Raises EngineError if the device does not work."""
    device, extent = choose_device(options.device), QUICK if options.quick else Extent()
    sections = dict(zip(SECTIONS, (_machine, _conversion, _difference, _batches, _training, _steps), strict=True))
    yield from sections[options.section](device, extent)


def _machine(device: Device, extent: Extent) -> Iterator[str]:
    del extent
    found = describe_machine() | {name: version(name) for name in _PACKAGES}
    if device.kind == "cuda":
        card = torch.cuda.get_device_properties(device.torch_device)
        found |= {
            "card": card.name,
            "memory of the card, MB": round(card.total_memory / 1e6),
            "multiprocessors": card.multi_processor_count,
            "CUDA": torch.version.cuda or "-",
            "cuDNN": torch.backends.cudnn.version() or "-",
        }
    found["precision of training"] = str(device.precision).removeprefix("torch.")
    for name, value in found.items():
        yield f"| {name} | {value} |"


def _conversion(device: Device, extent: Extent) -> Iterator[str]:
    """Convert every length on the card and with each number of threads, the shorter ones twice, short ones first."""
    processor = [("cpu", threads) for threads in extent.threads]
    chosen = processor if device.kind == "cpu" else [(device.identifier, max(extent.threads)), *processor]
    yield "| length | | s of work per s of sound | of all cores | peak MB | MB of the card |"
    yield "| ---: | --- | ---: | ---: | ---: | ---: |"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="timbre-card-")))
        # all are started at once, so that they load beside each other; then one works at a time
        processes = [stack.enter_context(timing_process(HERE, threads, _VOICE)) for _, threads in chosen]
        for number, seconds in enumerate([_WARM_S, *extent.lengths_s]):
            source = folder / "source.wav"
            write_long_source(joined_recordings(SAMPLES), source, seconds)
            for (kind, threads), process in zip(chosen, processes, strict=True):
                wanted = TimedConversion(str(source), str(folder / "output.wav"), 0, kind)
                answers = [ask(process, wanted) for _ in range(2 if number and seconds < _TWICE_S else 1)]
                least = min(answers, key=lambda answer: answer["wall_s"])
                if number:
                    yield (
                        f"| {seconds:g} s | {kind}, {threads} threads | {least['wall_s'] / seconds:.4f} "
                        f"| {least['processor_s'] / seconds:.4f} | {least['peak_mb']:.0f} | {least['card_mb']:.0f} |"
                    )


def _difference(device: Device, extent: Extent) -> Iterator[str]:
    if device.kind == "cpu":
        yield "There is no card to compare with the processor."
        return
    voice = load_voice(_VOICE)
    with tempfile.TemporaryDirectory(prefix="timbre-card-") as folder:
        for seconds in extent.compared_s:
            source = Path(folder) / "source.wav"
            write_long_source(joined_recordings(SAMPLES), source, seconds, channels=2)
            for transpose in (0, 3):
                settings = ConversionSettings(transpose=transpose)
                wanted, found = (
                    convert(read_audio(source), voice, settings, device=one).takes[0].audio.samples
                    for one in ("cpu", device.identifier)
                )
                apart = difference_db(wanted, found)
                verdict = "below" if apart < MOST_DB else "NOT below"
                yield f"| {seconds:g} s in stereo, {transpose:+d} | {apart:.1f} dB | {verdict} {MOST_DB:g} dB |"


def difference_db(wanted: np.ndarray, found: np.ndarray) -> float:
    """Return the level of the difference relative to the processor's output, in dB."""
    power = float(np.mean((found - wanted) ** 2)) / float(np.mean(wanted**2))
    return round(10 * float(np.log10(max(power, 1e-20))), 1)


def _batches(device: Device, extent: Extent) -> Iterator[str]:
    """Convert the second length in windows one by one and in batches, each once more before it is timed."""
    voice, seconds = load_voice(_VOICE), extent.lengths_s[1]
    yield "| windows at once | s of work per s of sound | MB of the card |"
    yield "| ---: | ---: | ---: |"
    with tempfile.TemporaryDirectory(prefix="timbre-card-") as folder:
        source = Path(folder) / "source.wav"
        write_long_source(joined_recordings(SAMPLES), source, seconds)
        recording = read_audio(source)
        for most_bytes in (0, analysed_windows.MOST_BYTES)[: 1 if device.kind == "cpu" else 2]:
            with patch.object(analysed_windows, "MOST_BYTES", most_bytes):
                together = analysed_windows.windows_together(device.torch_device)
                for _ in range(2):
                    started = time.perf_counter()
                    convert(recording, voice, ConversionSettings(transpose=3), device=device.identifier)
                took_s = time.perf_counter() - started
            held = f"{torch.cuda.max_memory_reserved() / 1e6:.0f}" if device.kind == "cuda" else "-"
            yield f"| {together} | {took_s / seconds:.4f} | {held} |"


def _lesson(seconds: float) -> list[Clip]:
    """Return a voice to train: the samples joined, in one recording of so many seconds."""
    with tempfile.TemporaryDirectory(prefix="timbre-card-") as folder:
        source = Path(folder) / "lesson.wav"
        write_long_source(joined_recordings(SAMPLES), source, seconds)
        return [analyse_clip(read_audio(source), "lesson")]


def _training(device: Device, extent: Extent) -> Iterator[str]:
    started = time.perf_counter()
    clips = _lesson(extent.lesson_s)
    yield f"| analysis of {extent.lesson_s:g} s | {time.perf_counter() - started:.1f} s |"
    plan = TrainingPlan(epochs=extent.epochs, patience=0)
    if device.kind == "cpu" and extent.epochs > QUICK.epochs:
        timed = estimate_training(clips, plan, device.identifier)
        yield f"| {plan.epochs} epochs, estimated | {timed.total_s:.0f} s, an epoch {timed.epoch_s:.2f} s |"
        return
    with tempfile.TemporaryDirectory(prefix="timbre-card-") as folder:
        started = time.perf_counter()
        train(clips, plan, folder, device=device.identifier)
        took_s = time.perf_counter() - started
        history = read_history(folder)
    assert history is not None
    steps = sum(line["steps"] for line in history.epochs)
    waited_s = sum(line["seconds"] for line in history.evaluations)
    yield f"| {plan.epochs} epochs | {took_s:.1f} s, {steps} steps |"
    yield f"| of it in epochs | {sum(line['seconds'] for line in history.epochs):.1f} s |"
    yield f"| of it waiting for {len(history.evaluations)} auditions | {waited_s:.1f} s |"
    yield f"| peak memory | {peak_memory_mb():.0f} MB |"
    if device.kind == "cuda":
        yield f"| memory of the card | {torch.cuda.max_memory_reserved() / 1e6:.0f} MB |"


def _steps(device: Device, extent: Extent) -> Iterator[str]:
    clips = _lesson(min(extent.lesson_s, 60.0))
    plan = TrainingPlan()
    pieces = epoch_pieces(clips, 0, 0)
    pieces = (pieces * (-(-4 * plan.batch // len(pieces))))[: 4 * plan.batch]
    yield "| pieces of a step | s to queue | s in all | s the card works | share | waits |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: |"
    for together in (1,) if device.kind == "cpu" else (1, 4):
        tuning = FineTuning(load_base(device=device.torch_device), clips, plan, precision=device.precision)
        tuning.together = together
        yield _step_line(tuning, pieces[: plan.batch * together])


def _step_line(tuning: FineTuning, pieces: Sequence[tuple[int, int]]) -> str:
    on_card = tuning.device.type == "cuda"
    warm, timed = (_WARM_STEPS, _TIMED_STEPS) if on_card else (1, 2)
    steps = tuning.draw(0, [pieces] * (warm + timed))
    tuning.read([tuning.queue(step) for step in steps[:warm]])
    started = time.perf_counter()
    queued = [tuning.queue(step) for step in steps[warm:]]
    queuing_s = (time.perf_counter() - started) / timed
    tuning.read(queued)
    whole_s = (time.perf_counter() - started) / timed
    if not on_card:
        return f"| {len(pieces)} | {queuing_s:.4f} | {whole_s:.4f} | - | - | - |"
    working_s = _working_s(tuning, pieces)
    known = "- | -" if working_s is None else f"{working_s:.4f} | {working_s / whole_s:.0%}"
    return f"| {len(pieces)} | {queuing_s:.4f} | {whole_s:.4f} | {known} | {_waits(tuning, pieces)} |"


def _waits(tuning: FineTuning, pieces: Sequence[tuple[int, int]]) -> int:
    """Count how often queueing a step makes the processor wait for the card, as CUDA tells torch."""
    [step] = tuning.draw(_WARM_STEPS, [pieces])
    torch.cuda.set_sync_debug_mode("warn")
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            tuning.queue(step)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    return sum("synchroniz" in str(warning.message) for warning in caught)


def _working_s(tuning: FineTuning, pieces: Sequence[tuple[int, int]]) -> float | None:
    """Return how long the card works on a step, from its own profile; None where it gives none."""
    steps = tuning.draw(_WARM_STEPS, [pieces] * 3)
    activities = [torch.profiler.ProfilerActivity.CUDA]
    try:
        with torch.profiler.profile(activities=activities) as profile:
            tuning.read([tuning.queue(step) for step in steps])
        spent_us = sum(one.self_device_time_total for one in profile.key_averages())
    except RuntimeError:  # the profiler of CUDA is missing or not allowed
        return None
    return float(np.round(spent_us / 1e6 / len(steps), 6)) or None
