"""Augmentations: the listener's features of a recording as it is, and as other speakers in other places.

All augmentations should have the same content, and voices learn from all of them, so that a decoder cannot read the
speaker from traces left in one. Playing faster or slower moves pitch, formants and speed together; the features are
then mapped back to the recording's own time (compare the perturbation of NANSY; Choi et al., 2021).
"""

import numpy as np
import soxr

from engine.features.degradation import degrade
from engine.networks.listener import LISTENER_RATE, Listener, listen
from engine.units import SAMPLE_RATE

AUGMENTATIONS = 5  # the original, two higher, two lower
VOICE_AUGMENTATIONS = 3  # the first of these, used for training a voice
_SMALLEST, _LARGEST = 1.06, 1.28  # factors of pitch, formants and speed
_DEGRADED = (2, 4)  # the lower ones: these also get a room, noise or a poor line


def augmented_features(
    listener: Listener, samples: np.ndarray, augmentation: int, random: np.random.Generator
) -> np.ndarray:
    """Encode one augmentation of mono samples, float32 (samples,) at SAMPLE_RATE: float16 (frames / 2, FEATURES).

    augmentation: 0 is the original, odd numbers are higher, other even numbers lower.
    """
    frames = len(samples) // (2 * SAMPLE_RATE // 100) + 1
    if augmentation == 0:
        return _fitted(listen(listener, samples), frames)
    factor = np.exp(random.uniform(np.log(_SMALLEST), np.log(_LARGEST)))
    faster = factor if augmentation % 2 else 1 / factor
    heard = degrade(samples, random) if augmentation in _DEGRADED else samples
    features = listen(listener, soxr.resample(heard, SAMPLE_RATE * faster, LISTENER_RATE), LISTENER_RATE, roughly=True)
    place = np.minimum(np.arange(frames) / faster, len(features) - 1)
    left = np.minimum(place.astype(int), max(len(features) - 2, 0))
    part = (place - left)[:, None].astype(np.float32)
    right = features[np.minimum(left + 1, len(features) - 1)].astype(np.float32)
    return (features[left].astype(np.float32) * (1 - part) + right * part).astype(np.float16)


def _fitted(features: np.ndarray, frames: int) -> np.ndarray:
    missing = frames - len(features)
    return features[:frames] if missing <= 0 else np.concatenate([features, np.repeat(features[-1:], missing, 0)])
