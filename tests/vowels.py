"""Sung vowels of known pitch, for tests of the pitch detection."""

import numpy as np
from scipy.signal import lfilter

RATE = 44_100
FORMANTS = ((700, 90), (1200, 110), (2600, 160), (3400, 200))  # hertz and width


def vowel(hertz: np.ndarray | float, seconds: float = 1.5, subharmonics: float = 0.0, late: bool = False) -> np.ndarray:
    """An "ah" whose pitch is one number or one per sample, float32 (samples,), peak 0.5.

    subharmonics: amplitude of the odd multiples of half the pitch, as if every second pulse were weaker, or late.
    """
    curve = np.broadcast_to(hertz, round(seconds * RATE)) if np.ndim(hertz) == 0 else np.asarray(hertz)
    phase = np.pi * np.cumsum(curve) / RATE  # of half the pitch
    out = np.zeros(len(curve))
    for number in range(1 if subharmonics else 2, 200, 1 if subharmonics else 2):
        inside = number * curve / 2 < 0.45 * RATE
        if not inside.any():
            break
        wave = np.sin if late and number % 2 else np.cos
        strength = 1.0 if number % 2 == 0 else subharmonics * (number / 4 if late else 1.0)
        out += np.where(inside, strength * wave(number * phase) / max(number / 2, 1.0) ** 2, 0.0)
    for centre, width in FORMANTS:
        radius = np.exp(-np.pi * width / RATE)
        poles = [1, -2 * radius * np.cos(2 * np.pi * centre / RATE), radius**2]
        out = lfilter([sum(poles)], poles, out)
    return (0.5 * out / np.abs(out).max()).astype(np.float32)
