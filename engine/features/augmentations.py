"""Augmentations: the listener's features of a recording as it is, and as other speakers in other places.

All augmentations should have the same content, and voices learn from all of them, so that a decoder cannot read the
speaker from traces left in one. Playing faster or slower moves pitch, formants and speed together; the features are
then mapped back to the recording's own time (compare the perturbation of NANSY; Choi et al., 2021).

Some also sound like recordings made at home. Rooms: noise that decays exponentially like a diffuse field (Polack,
1988), high frequencies sooner. Background: noise with a random spectral slope, and hum. Microphones and lines: a
band-pass, or clipping.
"""

import numpy as np
import scipy
import soxr

from engine.networks.listener import LISTENER_RATE, Listener, listen
from engine.units import HOP, SAMPLE_RATE

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


def degrade(samples: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Put a recording, float32 (n,) at SAMPLE_RATE, in a room, add a background, send it through a line or clip it.

    At least one of these happens. Length and timing stay, and input shorter than a frame is returned unchanged.
    """
    if len(samples) < HOP:
        return samples.astype(np.float32)
    result = samples.astype(np.float64)
    chosen = random.random(4) < (0.5, 0.6, 0.3, 0.12)
    if not chosen.any():
        chosen[random.integers(2)] = True
    in_room, with_background, through_line, clipped = chosen
    if in_room:
        result = _in_room(result, random)
    if with_background:
        result = result + _background(result, random)
    if through_line:
        result = _through_line(result, random)
    if clipped:
        peak = np.abs(result).max() * 10 ** (-random.uniform(4, 16) / 20)
        result = result.clip(-peak, peak)
    return result.astype(np.float32)


def _in_room(samples: np.ndarray, random: np.random.Generator) -> np.ndarray:
    seconds = np.exp(random.uniform(np.log(0.12), np.log(1.0)))  # until it is 60 dB quieter
    direct_db = random.uniform(-3.0, 12.0)  # above all that is reflected
    count = int(seconds * SAMPLE_RATE)
    time = np.arange(count) / SAMPLE_RATE
    low = random.standard_normal(count) * np.exp(-6.9 * time / seconds)
    high = random.standard_normal(count) * np.exp(-6.9 * time / (seconds * random.uniform(0.3, 0.8)))
    corner = scipy.signal.butter(1, random.uniform(1500, 6000), fs=SAMPLE_RATE, output="sos")
    tail = scipy.signal.sosfilt(corner, low) + high - scipy.signal.sosfilt(corner, high)
    tail[: int(random.uniform(0.001, 0.008) * SAMPLE_RATE)] = 0.0  # the first reflection
    tail *= 10 ** (-direct_db / 20) / np.sqrt((tail**2).sum())
    tail[0] = 1.0
    return np.asarray(scipy.signal.oaconvolve(samples, tail)[: len(samples)])


def _background(samples: np.ndarray, random: np.random.Generator) -> np.ndarray:
    spectrum = np.fft.rfft(random.standard_normal(len(samples)))
    hertz = np.fft.rfftfreq(len(samples), 1 / SAMPLE_RATE)
    noise = np.fft.irfft(spectrum * np.maximum(hertz, 50.0) ** -random.uniform(0.0, 1.2), len(samples))
    noise /= noise.std()
    if random.random() < 0.2:
        time = np.arange(len(samples)) / SAMPLE_RATE
        mains = random.choice([50.0, 60.0])
        hum = sum(np.sin(2 * np.pi * (k * mains * time + random.random())) / k for k in (1, 2, 3, 5))
        noise = noise * random.uniform(0.1, 1.0) + hum
    level = np.sqrt(np.percentile(samples[: len(samples) // HOP * HOP].reshape(-1, HOP).var(1), 90))
    return np.asarray(noise / noise.std() * level * 10 ** (-random.uniform(5.0, 35.0) / 20))


def _through_line(samples: np.ndarray, random: np.random.Generator) -> np.ndarray:
    lowest = np.exp(random.uniform(np.log(60), np.log(350)))
    highest = np.exp(random.uniform(np.log(3300), np.log(9000)))
    band = scipy.signal.butter(int(random.integers(1, 5)), (lowest, highest), "bandpass", fs=SAMPLE_RATE, output="sos")
    return np.asarray(scipy.signal.sosfilt(band, samples))
