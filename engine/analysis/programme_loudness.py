"""Loudness of a whole recording in LUFS after ITU-R BS.1770-4: K-weighted, in gated blocks of 400 ms."""

import math

import numpy as np
import scipy

_STEPS_PER_BLOCK, _STEP_S = 4, 0.1
_ABSOLUTE_GATE_LUFS, _RELATIVE_GATE_LU = -70.0, 10.0
_OFFSET_LU = -0.691
# the two filters as analogue prototypes, from which they are designed for any sample rate
_SHELF_HERTZ, _SHELF_DB, _SHELF_Q = 1681.974450955533, 3.999843853973347, 0.7071752369554196
_HIGHPASS_HERTZ, _HIGHPASS_Q = 38.13547087602444, 0.5003270373238773


class LoudnessMeter:
    """Measure the loudness of a recording block by block, with equal weight for every channel."""

    def __init__(self, rate: int, channels: int) -> None:
        self._sections = _k_weighting(rate)
        self._state = np.zeros((len(self._sections), channels, 2))
        self._step = round(_STEP_S * rate)
        self._rest = np.zeros(0)
        self._powers: list[np.ndarray] = []

    def push(self, samples: np.ndarray) -> None:
        """Add the next samples, float (channels, samples)."""
        weighted, self._state = scipy.signal.sosfilt(self._sections, samples, axis=1, zi=self._state)
        power = np.concatenate((self._rest, np.square(weighted).sum(axis=0)))
        whole = len(power) // self._step * self._step
        self._powers.append(power[:whole].reshape(-1, self._step).mean(axis=1))
        self._rest = power[whole:]

    def lufs(self) -> float | None:
        """Return the loudness so far, None for silence. Less than one block counts as one block."""
        steps = np.concatenate([np.zeros(0), *self._powers])
        if len(steps) < _STEPS_PER_BLOCK:
            steps = np.append(steps, self._rest.mean()) if len(self._rest) else steps
            blocks = steps.mean(keepdims=True) if len(steps) else steps
        else:
            blocks = np.lib.stride_tricks.sliding_window_view(steps, _STEPS_PER_BLOCK).mean(axis=1)
        blocks = blocks[blocks > _power(_ABSOLUTE_GATE_LUFS)]
        if not len(blocks):
            return None
        return _lufs(blocks[blocks > _power(_lufs(blocks.mean()) - _RELATIVE_GATE_LU)].mean())


def _lufs(power: float) -> float:
    return _OFFSET_LU + 10.0 * math.log10(power)


def _power(lufs: float) -> float:
    return 10.0 ** ((lufs - _OFFSET_LU) / 10.0)


def _k_weighting(rate: int) -> np.ndarray:
    """Design the K-weighting as second-order sections: a shelf for the head, and a high-pass."""
    k, high = math.tan(math.pi * _SHELF_HERTZ / rate), 10.0 ** (_SHELF_DB / 20.0)
    middle, end = high**0.4996667741545416, 1.0 + k / _SHELF_Q + k * k
    shelf = [
        (high + middle * k / _SHELF_Q + k * k) / end,
        2.0 * (k * k - high) / end,
        (high - middle * k / _SHELF_Q + k * k) / end,
        1.0,
        2.0 * (k * k - 1.0) / end,
        (1.0 - k / _SHELF_Q + k * k) / end,
    ]
    k = math.tan(math.pi * _HIGHPASS_HERTZ / rate)
    end = 1.0 + k / _HIGHPASS_Q + k * k
    highpass = [1.0, -2.0, 1.0, 1.0, 2.0 * (k * k - 1.0) / end, (1.0 - k / _HIGHPASS_Q + k * k) / end]
    return np.array([shelf, highpass])
