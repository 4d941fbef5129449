"""The mean colour of a recording, from however few sounds it holds.

Content is heard relative to the mean colour, which is to be that of the microphone and the speaker. The mean of one
held vowel is that of the vowel, and relative to it nothing is left to be heard. So the mean is taken for what it is, a
mean of so many sounds, and the likeliest colour of a microphone and a speaker is worked out from it: that of a normal
distribution, of which the means of many speakers and the spread of the sounds within recordings are known (the linear
estimator of least mean square error; Kay, Fundamentals of Statistical Signal Processing, 1993, chapter 12). The base
itself was trained on plain means, of recordings of many sounds, which hardly differ.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from engine.base import WEIGHTS, load_weights
from engine.envelope import ACTIVE_NEPERS, BANDS, LOW_BANDS, SILENT, Level, frame_loudness, measure_level
from engine.errors import VoiceError
from engine.held_notes import SHARE_REACH_FRAMES, held_share

_SOUND_FRAMES = 10  # of speech; a note that is held is one sound, however long
_HELD = 0.5  # from this share on a frame is held
_SAME_NEPERS = 0.4  # mean difference of two held sounds that are one
_BLOCK_FRAMES = 3000  # looked at at a time, so that memory does not grow with the recording
_ALONE = 0.1**2  # squared nepers by which any band differs by itself; more than what half precision takes away
_TOLD_BANDS = LOW_BANDS - 3  # the last ones below 8 kHz are where recordings stored at 16 kHz end
_HEARD_ABOVE = SILENT + 1.0  # nepers: bands whose mean is below this hold no signal


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
    shapes = {"mean": (LOW_BANDS,), "between": (LOW_BANDS, LOW_BANDS), "within": (LOW_BANDS, LOW_BANDS)}
    if {name: value.shape for name, value in held.items()} != shapes:
        raise VoiceError(f"The weights {path.name} belong to another version of the engine; install it again.")
    alone = _ALONE * np.eye(LOW_BANDS)
    return KnownColours(held["mean"], held["between"] + alone, held["within"] + alone)


def measure_colour(envelope: np.ndarray, voicing: np.ndarray, known: KnownColours | None = None) -> Level:
    """The level of a recording with its likeliest mean colour.

    envelope: (frames, BANDS), absolute log; voicing: (frames,) 0..1; known: those of `load_colours` where none are
    said. Raises VoiceError as that does.
    """
    level = measure_level(envelope)
    return replace(level, mean=likeliest_colour(level.mean, count_sounds(envelope, voicing, level.nepers), known))


def likeliest_colour(mean: np.ndarray, sounds: float, known: KnownColours | None = None) -> np.ndarray:
    """The colour of microphone and speaker, float32 (BANDS,), when so many sounds have this mean (BANDS,).

    Nothing can be told from bands without signal, and they stay as they are. Raises VoiceError as `load_colours` does.
    """
    known, heard = known or load_colours(), mean > _HEARD_ABOVE
    told = np.flatnonzero(heard[:_TOLD_BANDS])
    if not len(told):
        return mean.astype(np.float32)
    between, within = known.between[np.ix_(told, told)], known.within[np.ix_(told, told)]
    # one sound more than there are: recordings from elsewhere differ more than those of the corpus
    spread = between + within / (1.0 + sounds)
    likeliest = mean.astype(np.float64)
    likeliest[told] = known.mean[told] + between @ np.linalg.solve(spread, mean[told] - known.mean[told])
    above = np.arange(BANDS) >= _TOLD_BANDS
    likeliest[above & heard] += likeliest[told[-1]] - mean[told[-1]]  # no step, since colours are also warped
    return likeliest.astype(np.float32)


def count_sounds(envelope: np.ndarray, voicing: np.ndarray, level_nepers: float) -> float:
    """How many sounds of the same length would have as uncertain a mean as those of an envelope (frames, BANDS).

    A long one weighs more, so there are fewer than were heard (Kish, Survey Sampling, 1965). voicing: (frames,) 0..1.
    """
    active = frame_loudness(envelope) > level_nepers + ACTIVE_NEPERS
    if not active.any():
        return 0.0
    lengths = _lengths_of_held(envelope[:, :LOW_BANDS], _held(envelope, voicing) & active)
    moving = active.sum() - sum(lengths)
    squares = sum(length**2 for length in lengths) + moving * _SOUND_FRAMES
    return float(active.sum() ** 2 / squares)


def _held(envelope: np.ndarray, voicing: np.ndarray) -> np.ndarray:
    """bool (frames,): which lie within a note that is held."""
    held = []
    for first in range(0, len(envelope), _BLOCK_FRAMES):
        begin, stop = max(0, first - SHARE_REACH_FRAMES), first + _BLOCK_FRAMES + SHARE_REACH_FRAMES
        share = held_share(torch.from_numpy(envelope[begin:stop]), torch.from_numpy(voicing[begin:stop]))
        held.append((share > _HELD).numpy()[first - begin :][:_BLOCK_FRAMES])
    return np.concatenate(held)


def _lengths_of_held(envelope: np.ndarray, held: np.ndarray) -> list[int]:
    """Frames of each sound that is held; notes held on the same vowel are one sound, those too short are none."""
    edges = np.flatnonzero(np.diff(held, prepend=False, append=False)).reshape(-1, 2)
    shapes = np.zeros((0, envelope.shape[1]))
    lengths: list[int] = []
    for first, stop in edges:
        if stop - first < _SOUND_FRAMES:
            continue
        shape = envelope[first:stop].mean(0)
        shape = shape - shape.mean()  # however loud
        distances = np.abs(shapes - shape).mean(1)
        if len(shapes) and distances.min() < _SAME_NEPERS:
            lengths[int(distances.argmin())] += int(stop - first)
        else:
            shapes = np.concatenate([shapes, shape[None]])
            lengths.append(int(stop - first))
    return lengths
