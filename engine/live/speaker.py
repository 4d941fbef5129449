"""Running estimates of the one who sings: level, mean of the features and timbre, without knowing what comes.

A conversion of a file surveys all of it first. A live one begins with the profile of the last session, or with what is
usual, and learns from each frame that sounds; after the first seconds the new counts more than the old.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file, save
from torch import Tensor

from engine.analysis.envelope import ACTIVE_NEPERS, SILENT
from engine.analysis.pitch import VOICED
from engine.errors import SettingsError
from engine.files import write_atomically
from engine.networks.base import BaseModel
from engine.networks.causal_content import STUDENT_MELS
from engine.networks.listener import FEATURES
from engine.networks.timbre_encoder import TIMBRE, timbre_input
from engine.reprs import Brief
from engine.texts import tr

_BINS = np.arange(-16.0, 4.0, 0.1)  # nepers of loudness
_LOUD_END = 0.95  # as of `measure_level`
_USUAL_LEVEL = -2.0  # nepers: speech at a usual distance of a usual microphone
_USUAL_FRAMES = 30.0  # weight of what is usual
_UNKNOWN_FRAMES = 100.0  # that sound, after which the level is the singer's own: a quiet microphone is not usual
_PROFILE_FRAMES = 400.0  # weight of the last session's profile
_KEPT_FRAMES = 3000.0  # of sounding frames, after which the earlier ones count for less and less
_SOUND_FRAMES, _HELD_SOUND_FRAMES = 10.0, 60.0  # one sound each, in speech and in held notes
_LEAST_TIMBRE_FRAMES = 100.0  # before which the timbre is unknown


@dataclass(frozen=True, repr=False)
class SpeakerProfile(Brief):
    """What a session has learned about the speaker and the microphone; the next one can begin with it.

    - level: of the loud frames, in nepers
    - features: float32 (features,), mean of the listener's features over sounding frames
    - mels: float32 (mels,), mean log-mel spectrum over them
    - sounds: how many different sounds there were
    - timbre: float32 (128,), of the speaker
    """

    level: float
    features: np.ndarray
    mels: np.ndarray
    sounds: float
    timbre: np.ndarray

    def save(self, path: Path | str) -> None:
        """Write the profile as a .safetensors file, completely or not at all."""
        arrays = {"features": self.features, "mels": self.mels, "timbre": self.timbre}
        numbers = {"numbers": np.array([self.level, self.sounds], np.float32)}
        write_atomically(
            Path(path), save({name: np.ascontiguousarray(a, np.float32) for name, a in arrays.items()} | numbers)
        )

    @staticmethod
    def load(path: Path | str) -> "SpeakerProfile":
        """Read what `save` wrote. Raises SettingsError if it is missing, damaged or from another version."""
        path = Path(path)
        try:
            held = load_file(path)
            level, sounds = (float(value) for value in held["numbers"])
            profile = SpeakerProfile(level, held["features"], held["mels"], sounds, held["timbre"])
        except Exception as cause:  # safetensors raises its own kinds
            raise SettingsError(
                tr("The profile {name} is missing or damaged: start without one.", name=path.name)
            ) from cause
        shapes = (profile.features.shape, profile.mels.shape, profile.timbre.shape)
        arrays = (profile.features, profile.mels, profile.timbre, np.array([level, sounds]))
        if shapes != ((FEATURES,), (STUDENT_MELS,), (TIMBRE,)) or not all(np.isfinite(a).all() for a in arrays):
            raise SettingsError(tr("The profile {name} is from another version: start without one.", name=path.name))
        return profile


class RunningSpeaker:
    """Level, means and timbre of the frames so far; `profile` of the last session makes the beginning."""

    def __init__(self, base: BaseModel, usual_mels: np.ndarray, profile: SpeakerProfile | None = None) -> None:
        self._base = base
        self._counts = np.zeros(len(_BINS))
        weight = _PROFILE_FRAMES if profile else _USUAL_FRAMES
        self._level = profile.level if profile else _USUAL_LEVEL
        self._usual_counts = np.zeros(len(_BINS))
        (self._counts if profile else self._usual_counts)[self._bin(self._level)] = weight
        self._weight = weight if profile else 0.0
        self._sounds = profile.sounds if profile else 0.0
        self._features = (profile.features if profile else np.zeros(FEATURES)).astype(np.float64) * self._weight
        self._mel_weight = weight
        self._mels = (profile.mels if profile else usual_mels).astype(np.float64) * weight
        self._timbre = (profile.timbre if profile else np.zeros(TIMBRE)).astype(np.float64) * self._weight
        self._timbre_weight = self._weight

    @property
    def level(self) -> float:
        """The loud end of the loudness, nepers."""
        return self._level

    @property
    def mels(self) -> np.ndarray:
        """Mean log-mel of the sounding frames, float32 (STUDENT_MELS,)."""
        return (self._mels / self._mel_weight).astype(np.float32)

    @property
    def feature_mean(self) -> Tensor:
        """The likeliest mean of the listener's features, (FEATURES,)."""
        mean = torch.from_numpy((self._features / max(self._weight, 1.0)).astype(np.float32))
        return self._base.content.likeliest_mean(mean.to(self._base.device), self._sounds + 1e-3)

    @property
    def timbre(self) -> Tensor | None:
        """Timbre, (TIMBRE,); None while too little was heard."""
        if self._timbre_weight < _LEAST_TIMBRE_FRAMES:
            return None
        return torch.from_numpy((self._timbre / self._timbre_weight).astype(np.float32)).to(self._base.device)

    @property
    def profile(self) -> SpeakerProfile | None:
        """What the next session can begin with; None while too little was heard."""
        if self.timbre is None:
            return None
        features = (self._features / max(self._weight, 1.0)).astype(np.float32)
        timbre = (self._timbre / self._timbre_weight).astype(np.float32)
        return SpeakerProfile(self._level, features, self.mels, self._sounds, timbre)

    def sounding(self, loudness: np.ndarray, voicing: np.ndarray) -> np.ndarray:
        """Return which frames sound, bool (frames,): those near the level, and voiced ones that are not silence."""
        near = loudness > self._level + ACTIVE_NEPERS
        return near | ((voicing > VOICED) & (loudness > self._level + SILENT))

    def update(self, loudness: np.ndarray, sounding: np.ndarray, held: np.ndarray) -> None:
        """Add frames (frames,): loudness in nepers; which sound; how far each is a held note, 0..1."""
        for value, share in zip(loudness[sounding], held[sounding], strict=True):
            self._counts *= 1.0 - 1.0 / _KEPT_FRAMES
            self._counts[self._bin(float(value))] += 1.0
            self._sounds *= 1.0 - 1.0 / _KEPT_FRAMES
            self._sounds += (1.0 - share) / _SOUND_FRAMES + share / _HELD_SOUND_FRAMES
        unknown = max(0.0, 1.0 - float(self._counts.sum()) / _UNKNOWN_FRAMES)
        total = np.cumsum(self._counts + unknown * self._usual_counts)
        self._level = float(_BINS[int(np.searchsorted(total, _LOUD_END * total[-1]))])

    def learn_features(self, features: np.ndarray) -> None:
        """Add the listener's features (n, FEATURES) of sounding frames."""
        if len(features):
            keep = (1.0 - 1.0 / _KEPT_FRAMES) ** (2 * len(features))
            self._features = self._features * keep + 2.0 * features.sum(0, dtype=np.float64)
            self._weight = self._weight * keep + 2.0 * len(features)

    def learn_mels(self, mels: np.ndarray) -> None:
        """Add log-mel frames (n, STUDENT_MELS) that sound."""
        if len(mels):
            keep = (1.0 - 1.0 / _KEPT_FRAMES) ** len(mels)
            self._mels = self._mels * keep + mels.sum(0, dtype=np.float64)
            self._mel_weight = self._mel_weight * keep + len(mels)

    def learn_timbre(self, envelope: np.ndarray, sounding: int) -> None:
        """Add the timbre of an envelope (frames, BANDS), absolute log, of which so many frames sound."""
        with torch.inference_mode():
            piece = torch.from_numpy(envelope)[None].to(self._base.device)
            found = self._base.timbre(timbre_input(piece, self._level))[0].cpu().numpy()
        keep = (1.0 - 1.0 / _KEPT_FRAMES) ** sounding
        self._timbre = self._timbre * keep + found * float(sounding)
        self._timbre_weight = self._timbre_weight * keep + sounding

    @staticmethod
    def _bin(nepers: float) -> int:
        return int(np.clip((nepers - _BINS[0]) * 10.0, 0, len(_BINS) - 1))
