"""Devices: choose a device and a precision by testing them, and set seeds.

An accelerator listed by its driver need not work: the card may be too new for this build of torch, too old, or full.
So each device first runs a small sample of what the networks do (a convolution, a Fourier transform and its inverse, a
matrix product), and is used only if its result agrees with the CPU's.
"""

import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache

import torch
from torch import nn

from engine.cores import usable_cores
from engine.errors import SettingsError
from engine.texts import joined, ntr, numeral, tr

AUTO = "auto"
KINDS = ("cuda", "mps", "cpu")  # the order in which `auto` prefers them
TOLERANCE = 1e-2  # largest relative difference from the CPU's result in float32; TF32 alone rounds to 5e-4
HALF_TOLERANCE = 0.05  # the same in bfloat16, which keeps eight bits of precision

Trial = Callable[[torch.device, torch.dtype], torch.Tensor]


@dataclass(frozen=True)
class Device:
    """A device that passed the test.

    `precision` applies to the matrix products of training. Conversion always runs in float32, so that a seed gives
    the same bytes on one device, and inaudible differences between two.
    """

    kind: str  # one of KINDS
    name: str  # the manufacturer's name for it
    precision: torch.dtype  # torch.bfloat16 where the hardware supports it and the test passed, else torch.float32
    number: int = 0  # index among devices of its kind

    @property
    def torch_device(self) -> torch.device:
        """The device as torch's `.to(...)` takes it."""
        return torch.device("cpu") if self.kind == "cpu" else torch.device(self.kind, self.number)

    @property
    def identifier(self) -> str:
        """The name that `choose_device` accepts."""
        return f"{self.kind}:{self.number}" if self.kind == "cuda" else self.kind

    def of_several(self, number: int) -> "Device":
        """Return the device for process `number` of several (from 0): GPUs are assigned in turn, others shared."""
        if self.kind != "cuda":
            return self
        chosen = (self.number + number) % torch.cuda.device_count()
        return replace(self, number=chosen, name=torch.cuda.get_device_name(chosen))


@dataclass(frozen=True)
class Probe:
    """The result of testing one kind of device: either `device`, or the `reason` it is unavailable, as a sentence."""

    kind: str
    device: Device | None
    reason: str = ""


@lru_cache(maxsize=4)
def working_device(wanted: str = AUTO) -> Device:
    """Return the device of `choose_device`, tested only once per process."""
    return choose_device(wanted)


def choose_device(wanted: str = AUTO) -> Device:
    """Return the best working device, or the `wanted` one: auto, cpu, cuda, cuda:1 (the second of several) or mps.

    Raises SettingsError for an unknown kind, and for a requested device that does not work: a silent fallback would
    hide a broken driver behind a conversion that takes thirty times as long.

    >>> choose_device("cpu").kind
    'cpu'
    """
    kind, _, number = wanted.partition(":")
    if (kind != AUTO and kind not in KINDS) or (number and not (kind == "cuda" and number.isdecimal())):
        raise SettingsError(
            tr(
                "'{wanted}' is not a device; choose {auto}, {kinds} or {last}.",
                wanted=wanted,
                auto=AUTO,
                kinds=", ".join(KINDS[:-1]),
                last=KINDS[-1],
            )
        )
    reasons = []
    for one in KINDS if kind == AUTO else (kind,):
        probe = probe_device(one)
        if probe.device:
            return _of_number(probe.device, int(number)) if number else probe.device
        reasons.append(probe.reason)
    raise SettingsError(joined(" ", reasons))


def _of_number(device: Device, number: int) -> Device:
    last = torch.cuda.device_count() - 1
    if number > last:
        raise SettingsError(
            tr(
                "There is no {kind}:{number}; the last one is {kind}:{last}.",
                kind=device.kind,
                number=number,
                last=last,
            )
        )
    return device.of_several(number)


def probe_devices() -> list[Probe]:
    """Test every kind of device, in order of preference."""
    return [probe_device(kind) for kind in KINDS]


def probe_device(kind: str, trial: Trial | None = None) -> Probe:
    """Test one kind of device with a real operation; `trial` replaces the operation in tests."""
    if not _is_present(kind):
        return Probe(
            kind,
            None,
            tr("There is no {kind} device here that torch {version} can use.", kind=kind, version=torch.__version__),
        )
    trial = trial or _trial
    expected = _trial(torch.device("cpu"), torch.float32)
    try:
        difference = _difference(trial(torch.device(kind), torch.float32), expected)
    except (RuntimeError, NotImplementedError) as cause:
        return Probe(
            kind,
            None,
            tr("The {kind} device is listed but does not work: {cause}.", kind=kind, cause=_first_line(cause)),
        )
    if not difference < TOLERANCE:
        return Probe(
            kind,
            None,
            tr(
                "The {kind} device gives wrong results (off by {difference}).",
                kind=kind,
                difference=numeral(difference, ".2g"),
            ),
        )
    faster = multiplies_halves(torch.device(kind)) and _halves_well(trial, kind, expected)
    precision = torch.bfloat16 if faster else torch.float32
    return Probe(kind, Device(kind, _name(kind), precision))


@contextmanager
def memory_of(device: torch.device) -> Iterator[None]:
    """Turn torch's out-of-memory error on a GPU into a SettingsError that suggests what to do."""
    try:
        yield
    except torch.OutOfMemoryError as cause:
        if device.type == "cpu":
            raise
        sentence = tr(
            "The memory of {device} is full: close other programs that use it, or choose the device cpu.", device=device
        )
        raise SettingsError(sentence) from cause


def alone_on(device: torch.device) -> AbstractContextManager[object]:
    """Return a context that only one thread of the process is in at a time, so that what windows take of a card's
    memory does not add up; on the processor every thread is."""
    return nullcontext() if device.type == "cpu" else _turn(device)


@lru_cache(maxsize=16)
def _turn(device: torch.device) -> threading.RLock:
    del device
    return threading.RLock()


def multiplies_halves(device: torch.device) -> bool:
    """Return whether the device multiplies bfloat16 matrices in hardware, which makes them faster than float32.

    A CPU that emulates it takes fifteen times as long: 12 s for a step of the decoder instead of 0.8 s (AVX2).
    """
    if device.type == "cpu":
        able = torch.cpu.get_capabilities()
        return bool(able.get("avx512_bf16") or able.get("amx_bf16"))
    return device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)


def in_halves(device: torch.device) -> AbstractContextManager[object]:
    """Return a context in which the device multiplies in bfloat16 if it `multiplies_halves`; else nothing changes."""
    # torch.autocast exists only for some kinds of device
    return torch.autocast(device.type, torch.bfloat16) if multiplies_halves(device) else nullcontext()


def seeded_generator(seed: int) -> torch.Generator:
    """Return a separate generator on the CPU: the same numbers for every device, with no shared state touched."""
    return torch.Generator("cpu").manual_seed(seed)


def _is_present(kind: str) -> bool:
    if kind == "cuda":
        return torch.cuda.is_available()
    if kind == "mps":
        return torch.backends.mps.is_available()
    return True


def _name(kind: str) -> str:
    if kind == "cuda":
        return torch.cuda.get_device_name()
    if kind == "mps":
        return ntr(
            "{platform} graphics, {usable_cores} core",
            "{platform} graphics, {usable_cores} cores",
            usable_cores=usable_cores(),
            platform=platform.machine(),
        )
    return ntr(
        "{platform} processor, {usable_cores} core",
        "{platform} processor, {usable_cores} cores",
        usable_cores=usable_cores(),
        platform=platform.machine(),
    )


def _trial(device: torch.device, precision: torch.dtype) -> torch.Tensor:
    """Run a short signal through transform, convolution, product and inverse: float32 (2, 1024) on the CPU."""
    random_source = seeded_generator(0)
    signal = torch.randn(2, 1024, generator=random_source).to(device)
    kernel = (torch.randn(33, 33, 5, generator=random_source) / 13.0).to(device)
    matrix = (torch.randn(33, 33, generator=random_source) / 6.0).to(device)
    window = torch.hann_window(64, device=device)
    with torch.inference_mode():
        spectrum = torch.stft(signal, 64, 16, window=window, return_complex=True)
        gain = nn.functional.conv1d(spectrum.abs().to(precision), kernel.to(precision), padding=2)
        gain = (matrix.to(precision) @ gain).float()
        return torch.istft(spectrum * torch.tanh(gain), 64, 16, window=window, length=1024).cpu()


def _difference(found: torch.Tensor, expected: torch.Tensor) -> float:
    return float((found - expected).abs().max() / expected.abs().max())


def _halves_well(trial: Trial, kind: str, expected: torch.Tensor) -> bool:
    try:
        return _difference(trial(torch.device(kind), torch.bfloat16), expected) < HALF_TOLERANCE
    except (RuntimeError, NotImplementedError):
        return False


def _first_line(cause: Exception) -> str:
    lines = str(cause).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(cause).__name__
