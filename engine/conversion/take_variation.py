"""Variation between takes: slow curves that depend only on a seed and the position in the recording."""

import numpy as np

_KNOT_FRAMES = 24  # a new random value every 240 ms, as slow as a singer's drift
_LEAST_DETUNE, _MOST_DETUNE = 0.05, 0.12  # semitones: two singers, and not yet out of tune
PITCH, LOUDNESS = 1, 2  # which curve of a take


def drift(first_frame: int, frames: int, seed: int, curve: int) -> np.ndarray:
    """Return a smooth random curve of about unit variance from frame `first_frame` on, float32 (frames,)."""
    first_knot = first_frame // _KNOT_FRAMES - 1
    last_knot = (first_frame + frames) // _KNOT_FRAMES + 2
    knots = np.array([_knot(seed, curve, number) for number in range(first_knot, last_knot + 1)])
    position = (first_frame + np.arange(frames)) / _KNOT_FRAMES - first_knot
    left = position.astype(int)
    share = 0.5 - 0.5 * np.cos(np.pi * (position - left))
    return (knots[left] * (1 - share) + knots[left + 1] * share).astype(np.float32)


def _knot(seed: int, curve: int, number: int) -> float:
    place = np.random.Philox(key=[seed, (curve << 40) + number + 1_000_000])
    return float(np.random.Generator(place).standard_normal())


def detune(seed: int) -> float:
    """Return how far a double is off the pitch of its lead, in semitones, up or down."""
    sharp, share = np.random.default_rng([seed, 4]).random(2)
    return float((1 if sharp < 0.5 else -1) * (_LEAST_DETUNE + (_MOST_DETUNE - _LEAST_DETUNE) * share))


def timbre_offset(seed: int, directions: int) -> np.ndarray:
    """Return the position of a take along each direction of a voice's spread, float32 (directions,)."""
    return np.random.default_rng([seed, 3]).standard_normal(directions).astype(np.float32)
