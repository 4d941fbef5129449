"""Hearings: a recording as the listener hears it as it is, and as other people might have said it, elsewhere.

The content of all of them shall be the same, and voices learn from all of them, so that a decoder cannot read the
speaker from what was left in one. Played faster or slower, pitch, formants and speed move together; the features are
put back on the recording's own time (compare the perturbation of NANSY; Choi et al., 2021).
"""

import numpy as np
import soxr

from engine.features.adversity import disturb
from engine.networks.listener import LISTENER_RATE, Listener, listen
from engine.units import SAMPLE_RATE

HEARINGS = 5  # as it is, twice higher, twice lower
VOICE_HEARINGS = 3  # that a voice is learned from: the first of those above
_SMALLEST, _LARGEST = 1.06, 1.28  # factors of pitch, formants and speed
_DISTURBED = (1, 4)  # one higher, one lower: those also in a room, in noise or through a line


def heard_otherwise(listener: Listener, samples: np.ndarray, hearing: int, random: np.random.Generator) -> np.ndarray:
    """Features of mono `samples`, float32 (samples,) at SAMPLE_RATE, on its own time: float16 (frames / 2, FEATURES).

    hearing: 0 is as it is, odd ones are higher, the others lower.
    """
    frames = len(samples) // (2 * SAMPLE_RATE // 100) + 1
    if hearing == 0:
        return _fitted(listen(listener, samples), frames)
    factor = np.exp(random.uniform(np.log(_SMALLEST), np.log(_LARGEST)))
    faster = factor if hearing % 2 else 1 / factor
    heard = disturb(samples, random) if hearing in _DISTURBED else samples
    features = listen(listener, soxr.resample(heard, SAMPLE_RATE * faster, LISTENER_RATE), LISTENER_RATE, roughly=True)
    place = np.minimum(np.arange(frames) / faster, len(features) - 1)
    left = np.minimum(place.astype(int), max(len(features) - 2, 0))
    part = (place - left)[:, None].astype(np.float32)
    right = features[np.minimum(left + 1, len(features) - 1)].astype(np.float32)
    return (features[left].astype(np.float32) * (1 - part) + right * part).astype(np.float16)


def _fitted(features: np.ndarray, frames: int) -> np.ndarray:
    missing = frames - len(features)
    return features[:frames] if missing <= 0 else np.concatenate([features, np.repeat(features[-1:], missing, 0)])
