"""Speaker directions: who is speaking, moment by moment, whatever the microphone.

The base's timbre tells a person in one room from the same person in another as well as from somebody else. A linear
discriminant (Fisher, 1936; over many speakers, Rao, 1948) keeps what differs between speakers more than within them,
across utterances and simulated microphones, rooms and levels. Vectors of one person then have nearly one direction.
engine/weights/speakers.json says how it was fitted.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from engine.networks.base import WEIGHTS, BaseModel, load_weights
from engine.networks.timbre_encoder import timbre_input
from engine.units import FRAME_RATE

WINDOW_FRAMES, HOP_FRAMES = 200, 50
_SHORTEST_FRAMES, _VOICED_SHARE = 100, 0.3
_WINDOWS_AT_ONCE = 120


@dataclass(frozen=True, eq=False)
class SpeakerTrack:
    """Windows of a recording that hold enough voice.

    directions: float32 (windows, DIRECTIONS), of length 1. voiced_s: float64 (windows,), seconds of voice nearest to
    the middle of each. middles_s: float64 (windows,). stop_s: where the recording ends.
    """

    directions: np.ndarray
    voiced_s: np.ndarray
    middles_s: np.ndarray
    stop_s: float


def speaker_track(base: BaseModel, envelope: np.ndarray, voiced: np.ndarray) -> SpeakerTrack:
    """Encode who speaks in a recording.

    envelope: (frames, bands), relative to its level. voiced: bool (frames,), its voiced frames that are audible.
    """
    starts, stops = voiced_windows(voiced, WINDOW_FRAMES, HOP_FRAMES)
    found = [np.zeros((0, load_discriminant().directions.shape[1]), np.float32)]
    for first in range(0, len(starts), _WINDOWS_AT_ONCE):
        some = slice(first, first + _WINDOWS_AT_ONCE)
        begin = int(starts[some][0])
        found.append(_directions(base, envelope[begin : stops[some][-1]], starts[some] - begin, stops[some] - begin))
    middles = (starts + stops) // 2
    between = (middles[:-1] + middles[1:]) // 2
    firsts = np.maximum(starts, np.concatenate([starts[:1], between]))
    lasts = np.minimum(stops, np.concatenate([between, stops[-1:]]))
    total = np.concatenate([[0], np.cumsum(voiced)])
    voiced_s = (total[lasts] - total[firsts]) / FRAME_RATE
    return SpeakerTrack(np.concatenate(found), voiced_s, middles / FRAME_RATE, len(voiced) / FRAME_RATE)


def voiced_windows(voiced: np.ndarray, window_frames: int, hop_frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the first frames and the ends of the windows with enough voice, int (windows,); voiced: bool (frames,)."""
    total = np.concatenate([[0], np.cumsum(voiced)])
    starts = np.arange(0, max(1, len(voiced) - window_frames + hop_frames), hop_frames)
    stops = np.minimum(starts + window_frames, len(voiced))
    share = (total[stops] - total[starts]) / (stops - starts)
    kept = (stops - starts >= _SHORTEST_FRAMES) & (share >= _VOICED_SHARE)
    return starts[kept], stops[kept]


def _directions(base: BaseModel, envelope: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    discriminant = load_discriminant()
    heard = timbre_input(torch.from_numpy(envelope.astype(np.float32)).to(base.device), 0.0)
    with torch.inference_mode():
        timbres = base.timbre.over_windows(heard, torch.from_numpy(starts), torch.from_numpy(stops)).cpu()
        found = (timbres - discriminant.mean) @ discriminant.directions
        return (found / found.norm(dim=1, keepdim=True)).numpy()


@dataclass(frozen=True)
class Discriminant:
    """mean: (TIMBRE,), of many speakers. directions: (TIMBRE, DIRECTIONS), scaled to the variance within speakers."""

    mean: Tensor
    directions: Tensor


@lru_cache(maxsize=1)
def load_discriminant(path: Path = WEIGHTS / "speakers.safetensors") -> Discriminant:
    """Load the discriminant that ships with the base, once. Raises VoiceError if it is missing or damaged."""
    return Discriminant(**load_weights(path))
