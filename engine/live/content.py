"""Content of the newest frames, from the listener over the last moments or from its causal student."""

from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from engine.live.speaker import RunningSpeaker
from engine.networks.base import BaseModel
from engine.networks.causal_content import FRAMES_AT_ONCE, FRAMES_PER_STEP, CausalContentEncoder
from engine.networks.content_encoder import CONTENT
from engine.networks.listener import LISTENER_FRAME_RATE, LISTENER_RATE
from engine.networks.listener_stream import ListenerStream
from engine.networks.quantization import in_eight_bits
from engine.units import FRAME_RATE

_REACH_FRAMES = 12  # of the content encoder, on each side
_MEL_TRANSFORM, _MEL_HOP = 400, 160  # samples at 16 kHz, as the listener's
_FLOOR = 1e-9


class ContentReader(Protocol):
    """Reads the content of a stream at LISTENER_RATE, block by block."""

    def read(self, block: np.ndarray, speaker: RunningSpeaker, frames: int) -> Tensor:
        """Return the content of the newest `frames` (frames, CONTENT), given the next block (n,)."""
        ...

    def learn(self, speaker: RunningSpeaker, sounding: np.ndarray) -> None:
        """Add to the speaker's means the frames that end the block, where `sounding`, bool (frames,), is true."""
        ...


class ListenerReader:
    """The listener over the last two seconds, once per block."""

    def __init__(self, base: BaseModel, block_ms: int) -> None:
        self._content = in_eight_bits(base.content)
        self._stream = ListenerStream(base.listener, block_ms * LISTENER_FRAME_RATE // 1000)
        self._features = torch.zeros(1, 0)

    def read(self, block: np.ndarray, speaker: RunningSpeaker, frames: int) -> Tensor:
        """Return the content of the newest `frames`."""
        self._features = self._stream.push(torch.from_numpy(block))
        with torch.inference_mode():
            used = self._features[-((frames + _REACH_FRAMES) // 2 + 1) :]
            content = self._content(used[None], speaker.feature_mean[None], 2 * len(used))[0]
        return content[-frames:]

    def learn(self, speaker: RunningSpeaker, sounding: np.ndarray) -> None:
        """Add the features of the block's frames that sound."""
        count = len(sounding) // 2
        speaker.learn_features(self._features[-count:][torch.from_numpy(sounding[::2])].numpy())


class StudentReader:
    """The causal student, step by step; later steps correct the newest frames of earlier ones."""

    def __init__(self, base: BaseModel, student: CausalContentEncoder, kept_frames: int) -> None:
        self._student, self._filters = in_eight_bits(student), base.listener.mels
        self._window = torch.hann_window(_MEL_TRANSFORM)
        self._past = np.zeros(_MEL_TRANSFORM, np.float32)
        self._state = student.start()
        self._content = torch.zeros(kept_frames, CONTENT)
        self._mels = np.zeros((0, 1), np.float32)

    def read(self, block: np.ndarray, speaker: RunningSpeaker, frames: int) -> Tensor:
        """Return the content of the newest `frames`."""
        whole = np.concatenate([self._past, block])
        self._past = whole[len(whole) - _MEL_TRANSFORM :]
        count = len(block) * FRAME_RATE // LISTENER_RATE
        # the last window ends where the block ends, so that no frame lacks samples
        windows = torch.from_numpy(whole[_MEL_HOP:]).unfold(0, _MEL_TRANSFORM, _MEL_HOP)
        with torch.inference_mode():
            mels = _log_mel(windows * self._window, self._filters)
            self._mels = mels.numpy()
            relative = mels - torch.from_numpy(speaker.mels)
            found, self._state = self._student(relative[None], self._state)
            self._content = torch.cat([self._content[count:], torch.zeros(count, CONTENT)])
            for step in range(count // FRAMES_PER_STEP):
                stop = len(self._content) - count + (step + 1) * FRAMES_PER_STEP
                self._content[stop - FRAMES_AT_ONCE : stop] = found[0, step]
        return self._content[-frames:]

    def learn(self, speaker: RunningSpeaker, sounding: np.ndarray) -> None:
        """Add the frames of the block that sound."""
        speaker.learn_mels(self._mels[sounding[-len(self._mels) :]])


def _log_mel(windows: Tensor, filters: Tensor) -> Tensor:
    """Compute frames (frames, mels) of windowed samples (frames, _MEL_TRANSFORM)."""
    power = torch.fft.rfft(windows).abs().square()
    return (power @ filters.T).clamp_min(_FLOOR).log10()
