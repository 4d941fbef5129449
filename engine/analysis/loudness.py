"""Loudness: measure the level of a recording per frame, and match the loudness of one recording to another.

The level is the root mean square under a 40 ms Hann window, in decibels relative to full scale: long enough for two
periods of the lowest voice, short enough to keep the attack of a consonant. The window is four frames long, so a
frame's power is four short dot products with neighbouring hops.
"""

from collections.abc import Iterable, Iterator
from itertools import chain

import numpy as np

from engine.filters import butterworth, through, through_and_back
from engine.units import HOP, SAMPLE_RATE, amplitude, decibels, frame_count

FLOOR_DB = -120.0  # digital silence
SILENCE_DB = -70.0  # quieter counts as silence in loudness matching
MAX_BOOST_DB = 12.0
MAX_CUT_DB = 40.0
CEILING = 0.99  # of full scale
_RUMBLE_HERTZ = 25.0
HOPS_PER_WINDOW = 4
FADE_DB = 10.0  # from SILENCE_DB down to zero gain
_SMOOTHING_FRAMES = 5


def measure_loudness(samples: np.ndarray) -> np.ndarray:
    """Measure the level in dB relative to full scale, float32 (frames,), at least FLOOR_DB; a full-scale sine is -3 dB.

    samples: mono at SAMPLE_RATE, shape (samples,). Frame i is centred on sample i * HOP; at the ends only the part
    of the window inside the recording counts.
    """
    (sample_count,) = samples.shape
    frames = frame_count(sample_count)
    covered = _covered(sample_count, frames)
    power = _windowed_sum(np.square(samples, dtype=np.float32), frames) / np.maximum(covered, 1e-9)
    return decibels(np.sqrt(np.maximum(power, 0.0)), FLOOR_DB).astype(np.float32)


def match_loudness(
    samples: np.ndarray,
    current_db: np.ndarray,
    wanted_db: np.ndarray,
    floor_db: float = SILENCE_DB,
    max_boost_db: float = MAX_BOOST_DB,
    max_cut_db: float = MAX_CUT_DB,
) -> np.ndarray:
    """Change the loudness of audio from `current_db` to `wanted_db`; same shape, float32.

    samples: (..., samples) at SAMPLE_RATE; both curves: (frames,) as returned by measure_loudness.
    The gain changes smoothly from frame to frame and stays within the two limits. Where the wanted level is below
    `floor_db` the gain fades to zero, so silence in the source is silence in the result.
    """
    frames = frame_count(samples.shape[-1])
    if current_db.shape != (frames,) or wanted_db.shape != (frames,):
        raise ValueError(
            f"{samples.shape[-1]} samples need curves of {frames} frames, not {current_db.shape} and {wanted_db.shape}"
        )
    change_db = _smooth(np.clip(wanted_db - current_db, -max_cut_db, max_boost_db))
    open_share = _smooth(np.clip((wanted_db - floor_db) / FADE_DB + 1.0, 0.0, 1.0))
    gain = amplitude(change_db) * open_share
    return (samples * _per_sample(gain, samples.shape[-1])).astype(np.float32)


def without_rumble(samples: np.ndarray) -> np.ndarray:
    """Remove DC offset and rumble from mono samples (samples,), without delay; returns float32."""
    sections = butterworth(2, _RUMBLE_HERTZ, "highpass", SAMPLE_RATE)
    padding = min(len(samples) - 1, SAMPLE_RATE // 10)
    return through_and_back(sections, samples, max(padding, 0)).astype(np.float32)


def without_top(samples: np.ndarray, hertz: float) -> np.ndarray:
    """Low-pass mono samples (samples,) at `hertz` with 36 dB per octave, for measurement; returns float32.

    It adds a slight delay (0.1 ms at 8 kHz), so it is not meant for listening.
    """
    return through(top_filter(hertz), samples).astype(np.float32)


def top_filter(hertz: float) -> np.ndarray:
    """Return the sections of the filter of `without_top`, float64 (3, 6)."""
    return butterworth(6, hertz, "lowpass", SAMPLE_RATE)


def limit_peaks(samples: np.ndarray, ceiling: float = CEILING) -> np.ndarray:
    """Limit audio (channels, samples) to `ceiling`: around a sample beyond it, the level dips for 20 ms."""
    needed = _needed(samples, -(-samples.shape[1] // HOP) + 1, ceiling)
    if needed.min() == 1.0:
        return samples
    return (samples * _per_sample(_at_centres(needed, 1.0), samples.shape[1])).astype(np.float32)


def with_level(pieces: Iterable[np.ndarray], change_db: np.ndarray, ceiling: float = CEILING) -> Iterator[np.ndarray]:
    """Yield audio (channels, n) in pieces, louder by a curve (frames,); where that is 0 dB it stays the same to a bit.

    The gain goes straight from frame to frame. What is made louder is limited to `ceiling` as `limit_peaks` limits it.
    """
    if not change_db.any():
        yield from pieces
        return
    held, frame, dip = None, 0, 1.0  # held: one hop or more, whose gain depends on the next
    for piece in chain(pieces, [None]):
        if piece is None:
            ready = 0 if held is None else -(-held.shape[1] // HOP)
        else:
            held = piece if held is None else np.concatenate([held, piece], 1)
            ready = held.shape[1] // HOP - 1
        if held is None or ready < 1:
            continue
        curve = change_db[np.arange(frame, frame + ready + 2).clip(0, len(change_db) - 1)]
        louder = held * _per_sample(amplitude(curve), held.shape[1])
        needed = np.where(np.maximum(curve[:-1], curve[1:]) > 0, _needed(louder, ready + 1, ceiling), 1.0)
        count = min(ready * HOP, held.shape[1])
        yield (louder[:, :count] * _per_sample(_at_centres(needed, dip), count)).astype(np.float32)
        held, frame, dip = held[:, count:], frame + ready, float(needed[ready - 1])


def _needed(samples: np.ndarray, hops: int, ceiling: float) -> np.ndarray:
    """Return the gain that keeps each hop of samples (channels, n) below the ceiling, (hops,)."""
    padded = np.zeros((len(samples), hops * HOP), np.float32)
    count = min(samples.shape[1], hops * HOP)
    padded[:, :count] = np.abs(samples[:, :count])
    peaks = padded.reshape(len(samples), hops, HOP).max((0, 2))
    return np.minimum(1.0, ceiling / np.maximum(peaks, 1e-9))


def _at_centres(needed: np.ndarray, before: float) -> np.ndarray:
    """Return the gain at frame centres: a hop lies between two, so each takes the smaller gain of its two hops.

    before: that of the hop before the first. Gains are of float64, in which what lies between centres is rounded once.
    """
    return np.minimum(needed, np.insert(needed[:-1], 0, before), dtype=np.float64)


def _windowed_sum(values: np.ndarray, frames: int) -> np.ndarray:
    """Sum `values` (samples,) under the Hann window centred on each frame: float64 (frames,)."""
    before = HOPS_PER_WINDOW // 2
    hops = frames + HOPS_PER_WINDOW - 1
    padded = np.zeros(hops * HOP, np.float32)
    end = min(len(values), (hops - before) * HOP)
    padded[before * HOP : before * HOP + end] = values[:end]
    phase = (np.arange(HOPS_PER_WINDOW * HOP) + 0.5) / (HOPS_PER_WINDOW * HOP)
    window = (np.sin(np.pi * phase) ** 2 / len(phase)).reshape(HOPS_PER_WINDOW, HOP)
    # a matrix product would start threads on all cores, which costs more than it saves
    parts = np.einsum("hi,wi->hw", padded.reshape(hops, HOP), window.astype(np.float32))
    total = np.zeros(frames)
    for i in range(HOPS_PER_WINDOW):
        total += parts[i : i + frames, i]
    return total


def _covered(sample_count: int, frames: int) -> np.ndarray:
    """Return how much of the window of each frame lies inside the recording: all of it, but for both ends."""
    edge = HOPS_PER_WINDOW
    if frames <= 2 * edge + 1:
        return _windowed_sum(np.ones(sample_count, np.float32), frames)
    ends = _windowed_sum(np.ones(sample_count % HOP + 2 * edge * HOP, np.float32), 2 * edge + 1)
    return np.concatenate([ends[:edge], np.full(frames - 2 * edge, ends[edge]), ends[-edge:]])


def _smooth(curve: np.ndarray) -> np.ndarray:
    """Smooth `curve` (frames,) with a short Hann kernel, repeating its end values."""
    kernel = np.hanning(_SMOOTHING_FRAMES + 2)[1:-1]
    held = np.pad(curve.astype(np.float64), _SMOOTHING_FRAMES // 2, mode="edge")
    return np.convolve(held, kernel / kernel.sum(), mode="valid")


def _per_sample(curve: np.ndarray, sample_count: int) -> np.ndarray:
    """Interpolate `curve` (frames,) linearly between frame centres, and hold its last value: float32 (samples,)."""
    steps = np.diff(curve, append=curve[-1:])
    ramps = np.multiply.outer(steps / HOP, np.arange(HOP)) + curve[:, None]
    return ramps.ravel()[:sample_count].astype(np.float32)


def quietest_frame(loudness_db: np.ndarray, start: int, stop: int) -> int:
    """Return the quietest frame in start..stop-1, a good place to cut; among equals the one nearest the middle.

    Raises ValueError if the range is empty.
    """
    start, stop = max(start, 0), min(stop, len(loudness_db))
    if start >= stop:
        raise ValueError(f"no frame between {start} and {stop}")
    quietest = start + np.flatnonzero(loudness_db[start:stop] == loudness_db[start:stop].min())
    return int(quietest[np.argmin(np.abs(quietest - (start + stop - 1) / 2))])
