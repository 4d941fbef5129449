"""Signals with known pitch, and the voice the tests convert to."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from engine.networks.listener import Listener, load_listener
from engine.units import SAMPLE_RATE
from engine.voices.voice import Voice, load_voice
from tests.engine.pretended_gpu import THERE

Sing = Callable[..., np.ndarray]
_ENDS = ("to", "cpu", "numpy", "item", "tolist", "__float__", "__int__", "__bool__", "__index__", "__array__")


def sing(seconds: float, hertz: float = 180.0, rate: int = SAMPLE_RATE, peak: float = 0.3, seed: int = 0) -> np.ndarray:
    """Held notes with vibrato, rests between them and a little noise below, float32 (samples,)."""
    time_s = np.arange(round(seconds * rate)) / rate
    melody = (np.floor(time_s / 0.7) % 4) * 2 + 0.3 * np.sin(2 * np.pi * 5 * time_s)
    cycles = np.cumsum(hertz * 2 ** (melody / 12)) / rate
    partials = [number for number in range(1, 25) if number * hertz * 1.5 < rate / 2]
    tone = sum(np.cos(2 * np.pi * number * cycles) / number for number in partials)
    open_ = (np.sin(2 * np.pi * time_s / 1.4 + 0.6) > -0.8).astype(float)
    if len(open_) > 800:
        open_ = np.convolve(open_, np.ones(800) / 800, "same")
    noise = np.random.default_rng(seed).standard_normal(len(time_s))
    return (peak * (tone * open_ / 3 + 0.003 * noise)).astype(np.float32)


@pytest.fixture(scope="session", name="sing")
def sing_fixture() -> Sing:
    return sing


@pytest.fixture(scope="session")
def voice() -> Voice:
    """One of the installed voices, whose pitch is not far from that of the recordings of the tests."""
    return load_voice("goekhan")


@pytest.fixture(scope="session")
def listener() -> Listener:
    """The one that ships."""
    return load_listener()


@pytest.fixture
def left(monkeypatch) -> list[str]:
    """Which calls have brought something from the device."""
    calls: list[str] = []

    def counted(name):
        plain = getattr(torch.Tensor, name)

        def call(tensor, *args, **kwargs):
            result = plain(tensor, *args, **kwargs)
            stays = isinstance(result, torch.Tensor) and result.device == tensor.device
            if tensor.device.type == THERE.type and not stays:
                calls.append(name)
            return result

        return call

    for name in _ENDS:
        monkeypatch.setattr(torch.Tensor, name, counted(name))
    return calls


@pytest.fixture
def by_threads(torch_threads) -> Callable[[Callable[[], bytes]], set[bytes]]:
    """A way to compute something on one, two and three threads; if it is the same each time, one is left."""

    def computed(compute: Callable[[], bytes]) -> set[bytes]:
        found = set()
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            found.add(compute())
        return found

    return computed
