"""Recordings as people make them at home, and singing as speech never is: what a content encoder is hardened with.

Rooms: noise that decays exponentially, as a diffuse field does (Polack, 1988), the top sooner. Background: noise of a
random slope, and hum. Microphones and lines: what lies below, above or beyond them is missing. High singing: the
recording's own envelope on notes of 200 to 1,050 Hz with vibrato, sounds held for longer than in speech.
"""

import numpy as np
import scipy.signal
import torch

from engine.base import BaseModel
from engine.frames import FRAME_RATE, HOP, SAMPLE_RATE
from engine.pitch import Pitch
from engine.synthesis import synthesize

_LOWEST_NOTE_HERTZ, _HIGHEST_NOTE_HERTZ = 200.0, 1050.0
_NOTE_FRAMES = (15, 120)
_SLOWEST = 3.0  # times as slow as it was spoken


def disturb(samples: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The recording, float32 (n,) at SAMPLE_RATE, in a room, with a background, through a poor line or clipped.

    One of these at least; as long and no later than it was.
    """
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


def sing_high(
    envelope: np.ndarray, pitch: Pitch, base: BaseModel, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Samples, float32 (n,), of a recording's log envelope (frames, BANDS) sung high and often slower, and of each
    of their frames which one of the envelope it is, with fractions (frames,)."""
    slowness = _SLOWEST ** max(0.0, random.uniform(-0.7, 1.0))
    position = np.arange(int((len(envelope) - 1) * slowness)) / slowness
    left, part = position.astype(int), (position % 1.0).astype(np.float32)
    slowed = envelope[left] * (1 - part)[:, None] + envelope[left + 1] * part[:, None]
    voicing = pitch.voicing[left] * (1 - part) + pitch.voicing[left + 1] * part
    sung = Pitch(_notes(len(slowed), random), voicing.astype(np.float32))
    with torch.inference_mode():
        samples, _ = synthesize(base.synthesizer, slowed, sung, 0, 0.0, int(random.integers(1 << 30)))
    return samples, position


def _notes(frames: int, random: np.random.Generator) -> np.ndarray:
    lowest, highest = np.log2(_LOWEST_NOTE_HERTZ), np.log2(_HIGHEST_NOTE_HERTZ)
    middle = random.uniform(lowest + 0.3, highest - 0.3)
    lengths = random.integers(*_NOTE_FRAMES, size=frames // _NOTE_FRAMES[0] + 1)
    steps = np.repeat(random.standard_normal(len(lengths)) * 3 / 12, lengths)[:frames]
    glide = np.hanning(11)
    steps = np.convolve(np.pad(steps, 5, "edge"), glide / glide.sum(), "valid")
    time = np.arange(frames) / FRAME_RATE
    vibrato = random.uniform(0, 0.8) / 12 * np.sin(2 * np.pi * (random.uniform(4.5, 6.8) * time + random.random()))
    octaves = (middle + steps).clip(lowest, highest) + vibrato
    return (2.0**octaves).astype(np.float32)
