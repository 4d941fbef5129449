"""The mean colour of a recording, from however few sounds it holds.

Content is heard relative to the mean colour, which is to be that of the microphone and the speaker. The mean of one
held vowel is that of the vowel, and relative to it nothing is left to be heard. So the mean is taken for what it is, a
mean of so many sounds, and the likeliest colour of a microphone and a speaker is worked out from it: that of a normal
distribution, of which the means of many speakers and the spread of the sounds within recordings are known (the linear
estimator of least mean square error; Kay, Fundamentals of Statistical Signal Processing, 1993, chapter 12).
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from engine.base import WEIGHTS, load_weights
from engine.envelope import ACTIVE_NEPERS, BANDS, LOW_BANDS, Level, loudness_of, measure_level
from engine.frames import FRAME_RATE
from engine.held_notes import held_share

_SOUNDS_PER_SECOND = 10.0  # of speech; a note that is held is one sound, however long
_HELD = 0.5  # from this share on a frame is held
_SAME_NEPERS = 0.4  # mean difference of two held sounds that are one
_ALONE = 0.1**2  # squared nepers by which any band differs by itself, which so few speakers cannot tell
_HEARD_NEPERS = 8.5  # bands whose loud moments are further below the level than this hold no signal (74 dB)


@dataclass(frozen=True)
class KnownColours:
    """What mean colours there are, in the bands below 8 kHz, float64."""

    mean: np.ndarray  # (LOW_BANDS,): of all speakers
    between: np.ndarray  # (LOW_BANDS, LOW_BANDS): covariance of the speakers' means
    within: np.ndarray  # (LOW_BANDS, LOW_BANDS): covariance of the frames of one recording, on average


@lru_cache(maxsize=2)
def load_colours(path: Path = WEIGHTS / "colour.safetensors") -> KnownColours:
    """Those of the corpus the base was trained on; loaded once. Raises VoiceError where they are missing or damaged."""
    held = {name: value.double().numpy() for name, value in load_weights(path).items()}
    alone = _ALONE * np.eye(LOW_BANDS)
    return KnownColours(held["mean"], held["between"] + alone, held["within"] + alone)


def measure_colour(envelope: np.ndarray, voicing: np.ndarray) -> tuple[Level, int]:
    """The level of a recording with its likeliest mean colour, and how many of its bands hold signal.

    envelope: (frames, BANDS), absolute log; voicing: (frames,) 0..1. Raises VoiceError as `load_colours` does.
    """
    level = measure_level(envelope)
    bands = bands_with_signal(envelope, level)
    count = _count_sounds(envelope - level.nepers, voicing)
    return replace(level, mean=likeliest_colour(level.mean, count, bands)), bands


def likeliest_colour(mean: np.ndarray, sounds: float, bands: int = BANDS) -> np.ndarray:
    """The colour of microphone and speaker, float32 (BANDS,), when so many sounds have this mean (BANDS,).

    bands: how many, from the lowest, hold signal; nothing can be told from the others, and they stay as they are.
    """
    known, heard = load_colours(), min(bands, LOW_BANDS)
    between, within = (matrix[:heard, :heard] for matrix in (known.between, known.within))
    # one sound more than there are, for recordings from elsewhere differ more than those of the corpus
    chance = within / (1.0 + sounds)
    expected = known.mean[:heard]
    likeliest = mean.copy()
    likeliest[:heard] = expected + between @ np.linalg.solve(between + chance, mean[:heard] - expected)
    likeliest[heard:bands] += likeliest[heard - 1] - mean[heard - 1]  # no step, since colours are also warped
    return likeliest.astype(np.float32)


def bands_with_signal(envelope: np.ndarray, level: Level) -> int:
    """How many bands from the lowest on hold signal: a recording once stored at 16 kHz has none above 8 kHz."""
    loud = np.percentile(envelope, 98, axis=0) > level.nepers - _HEARD_NEPERS
    return int(max(np.flatnonzero(loud), default=BANDS - 1)) + 1 if loud[:LOW_BANDS].any() else LOW_BANDS


def _count_sounds(envelope: np.ndarray, voicing: np.ndarray) -> float:
    """How many sounds of the same length would have as uncertain a mean as those of an envelope (frames, BANDS).

    A long one weighs more, so there are fewer than were heard (Kish, Survey Sampling, 1965). The envelope is relative
    to its level.
    """
    relative = torch.from_numpy(envelope)
    active = (loudness_of(relative) > ACTIVE_NEPERS).numpy()
    if not active.any():
        return 0.0
    held = (held_share(relative, torch.from_numpy(voicing)).numpy() > _HELD)[active]
    lengths = _lengths_of_held(envelope[active, :LOW_BANDS], held)
    moving = len(held) - sum(lengths)  # another sound every so many frames
    squares = sum(length**2 for length in lengths) + moving * FRAME_RATE / _SOUNDS_PER_SECOND
    return float(len(held) ** 2 / squares)


def _lengths_of_held(envelope: np.ndarray, held: np.ndarray) -> list[int]:
    """Frames of each sound that is held; notes held on the same vowel are one sound."""
    edges = np.flatnonzero(np.diff(held, prepend=False, append=False)).reshape(-1, 2)
    sums: list[np.ndarray] = []
    lengths: list[int] = []
    for first, stop in edges:
        shape = envelope[first:stop] - envelope[first:stop].mean(1, keepdims=True)
        distances = [np.abs(one / length - shape.mean(0)).mean() for one, length in zip(sums, lengths, strict=True)]
        if distances and min(distances) < _SAME_NEPERS:
            nearest = int(np.argmin(distances))
            sums[nearest] += shape.sum(0)
            lengths[nearest] += len(shape)
        else:
            sums.append(shape.sum(0))
            lengths.append(len(shape))
    return lengths
