"""Degrade clean recordings to sound like ones made at home, for training a robust content encoder.

Rooms: noise that decays exponentially like a diffuse field (Polack, 1988), high frequencies sooner. Background: noise
with a random spectral slope, and hum. Microphones and lines: a band-pass, or clipping.
"""

import numpy as np
import scipy

from engine.units import HOP, SAMPLE_RATE


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
