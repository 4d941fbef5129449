"""Measure the delay of a live path: chirps go in, and are looked for in what comes out."""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.live.converter import LiveConverter
from engine.live.pipe import DevicePipe, real_time

_EVERY_S, _LONG_S = 0.7, 0.25  # between two chirps, and of each
_LOW_HERTZ, _HIGH_HERTZ = 180.0, 260.0
_HARMONICS = 20
_SMOOTH_S = 0.004
_RISEN = 0.3  # of a chirp's own height
_LATEST_S = 0.6
PIECE_MS = 10  # that a device hands over at a time
_EARLY_S = 0.03  # by which a window's slope may precede the sound


@dataclass(frozen=True)
class Measurement:
    """Delays in seconds (median and 99th percentile), and the cost of blocks as a share of their duration."""

    chirps: int
    found: int
    delay_p50_s: float
    delay_p99_s: float
    work_p50: float
    work_p99: float
    glitches: int


def chirps(rate: int, seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """Return chirps like sung notes with a sudden start, float32 (samples,), and where they begin, in samples."""
    time_s = np.arange(int(_LONG_S * rate)) / rate
    glide = _LOW_HERTZ + (_HIGH_HERTZ - _LOW_HERTZ) * time_s / _LONG_S
    turns = 2 * np.pi * np.cumsum(glide) / rate
    one = sum(np.cos(k * turns) / k for k in range(1, _HARMONICS)) * np.minimum(1, (_LONG_S - time_s) / 0.03)
    samples = np.zeros(int(seconds * rate), np.float32)
    starts = np.arange(_EVERY_S, seconds - _LONG_S - _LATEST_S, _EVERY_S)
    places = (starts * rate).astype(int)
    for place in places:
        samples[place : place + len(one)] = (0.1 * one).astype(np.float32)
    return samples, places


def find_delays(output: np.ndarray, places: np.ndarray, rate: int) -> np.ndarray:
    """Return after how many seconds each chirp appears in the output; NaN where it does not."""
    width = round(_SMOOTH_S * rate)
    level = np.sqrt(np.convolve(output.astype(np.float64) ** 2, np.ones(width) / width)[: len(output)])
    delays = []
    for place in places:
        part = level[place : place + int(_LATEST_S * rate)]
        height = part.max(initial=0.0)
        delays.append(np.argmax(part > _RISEN * height) / rate if height > 1e-3 else np.nan)
    return np.array(delays)


def expected_delay_s(converter: LiveConverter) -> float:
    """Return how long after an input sample its output leaves a device, in seconds: the converter's delay, its reserve,
    and the piece that the device collects.

    >>> from engine import LiveConverter, LiveSettings
    >>> converter = LiveConverter("koguchi", LiveSettings(), rate=48_000)
    >>> f"{expected_delay_s(converter):.3f}"
    '0.195'
    """
    return converter.delay_s + (converter.settings.reserve_ms + PIECE_MS) / 1000


def measure_live(
    converter: LiveConverter, seconds: float, show: Callable[[float], None] = lambda fraction: None
) -> Measurement:
    """Send chirps through a converter as a device would, piece by piece in real time, and find them again.

    The delay is from the first sample of a sound at the input to its first sample at the output, with the piece that a
    device collects, the converter's block and its reserve; a real device may have further buffers.

    >>> from engine import load_voice
    >>> measure_live(LiveConverter(load_voice("koguchi"), whole_blocks=True), 3.0).chirps
    3
    """
    rate, piece = converter.rate, converter.rate * PIECE_MS // 1000
    samples, places = chirps(rate, seconds)
    count = len(samples) // piece
    pieces = []
    with DevicePipe(converter, converter.settings.reserve_ms) as pipe, real_time():  # as a device's thread has
        begun = time.perf_counter()
        for number in range(count):
            # a device hands over a piece when its last sample has arrived
            time.sleep(max(0.0, begun + (number + 1) * piece / rate - time.perf_counter()))
            pieces.append(pipe.exchange(samples[number * piece : (number + 1) * piece]))
            show((number + 1) / count)
        # heard one piece after it was handed over at the earliest
        output = np.concatenate([np.zeros(piece, np.float32), *pieces])
    delays = find_delays(output, places[places < (count - 1) * piece - _LATEST_S * rate], rate)
    # a shorter delay is the rest of an earlier chirp, held up on a machine that is too slow
    found = delays[np.isfinite(delays) & (delays > converter.delay_s - _EARLY_S)]
    p50, p99 = (float(np.quantile(found, q)) if len(found) else float("nan") for q in (0.5, 0.99))
    report, block_s = pipe.report, converter.block / rate
    return Measurement(
        len(delays), len(found), p50, p99, report.share(0.5, block_s), report.share(0.99, block_s), report.glitches
    )


def warm_up(converter: LiveConverter, blocks: int = 12) -> float:
    """Convert quiet noise, so that libraries set up; return the later blocks' share of real time.

    >>> from engine import load_voice
    >>> warm_up(LiveConverter(load_voice("koguchi"))) > 0
    True
    """
    random = np.random.default_rng(0)
    seconds = []
    for _ in range(blocks):
        noise = (random.standard_normal(converter.block) * 1e-4).astype(np.float32)
        begun = time.perf_counter()
        converter.convert(noise)
        seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds[blocks // 2 :])) * converter.rate / converter.block
