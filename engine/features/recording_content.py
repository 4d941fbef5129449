"""Encode the content of a whole recording, window by window, in several augmentations."""

import zlib
from dataclasses import dataclass

import numpy as np
import torch

from engine.analysis.envelope import measure_level
from engine.analysis.windows import Window
from engine.features.analysed_windows import KEPT_FRAMES
from engine.features.augmentations import augmented_features
from engine.features.feature_mean import measure_feature_mean
from engine.networks.base import BaseModel
from engine.networks.content_encoder import CONTENT


@dataclass(frozen=True, eq=False)
class _Pending:
    window: Window
    envelope: np.ndarray  # (frames, BANDS), absolute, of the core
    voicing: np.ndarray  # (frames,), of the core
    features: list[np.ndarray]  # of each augmentation, of the whole window


class RecordingContent:
    """Collect content window by window.

    The first windows wait until the mean of their features is known; later ones are encoded at once, so memory does
    not grow with the length of the recording.
    """

    def __init__(self, base: BaseModel, augmentations: int) -> None:
        self._base, self._augmentations = base, augmentations
        self._waiting: list[_Pending] = []
        self._means: list[torch.Tensor] = []
        self._content: list[np.ndarray] = []

    def add(self, window: Window, mid: np.ndarray, envelope: np.ndarray, voicing: np.ndarray) -> None:
        """Add the next window: samples (samples,), envelope (frames, BANDS), absolute log, and voicing (frames,)."""
        if not self._augmentations:
            return
        seed = zlib.crc32(np.ascontiguousarray(mid).data)  # the same for the same sound, whatever its file is called
        features = [
            augmented_features(self._base.listener, mid, augmentation, np.random.default_rng([augmentation, seed]))
            for augmentation in range(self._augmentations)
        ]
        pending = _Pending(window, envelope[window.core], voicing[window.core], features)
        if self._means:
            self._encode(pending)
            return
        self._waiting.append(pending)
        if window.core_stop > KEPT_FRAMES:
            self._settle()

    def finish(self, frames: int) -> np.ndarray:
        """Return the content of all windows, float16 (augmentations, frames, CONTENT)."""
        if not self._augmentations:
            return np.zeros((0, frames, CONTENT), np.float16)
        if not self._means:
            self._settle()
        return np.concatenate(self._content, 1)

    def _settle(self) -> None:
        envelope = np.concatenate([one.envelope for one in self._waiting])
        voicing = np.concatenate([one.voicing for one in self._waiting])
        nepers = measure_level(envelope).nepers
        for augmentation in range(self._augmentations):
            features = np.concatenate([one.features[augmentation][one.window.core_features] for one in self._waiting])
            self._means.append(measure_feature_mean(self._base.content, features, envelope, voicing, nepers))
        for one in self._waiting:
            self._encode(one)
        self._waiting.clear()

    def _encode(self, one: _Pending) -> None:
        features = torch.from_numpy(np.stack(one.features)).to(self._base.device)
        with torch.inference_mode():
            content = self._base.content(features, torch.stack(self._means), one.window.frames)[:, one.window.core]
        self._content.append(content.cpu().numpy().astype(np.float16))
