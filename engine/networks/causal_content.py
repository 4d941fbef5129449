"""The causal student of the listener: content from a log-mel spectrum, step by step, for live use.

The listener attends to a whole recording, before and after each frame. The student sees only what has been sung so
far: a stack of causal convolutions at 50 steps per second, trained to give the content of the clean recording from
perturbed copies of it (engine/EXPERIMENTS.md, "Research that is no longer here"). Each step gives the newest frames of
content, of which the older ones are the better, since more of what follows them is known.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.networks.base import WEIGHTS, load_weights, with_weights
from engine.networks.content_encoder import CONTENT

STUDENT = WEIGHTS / "student.safetensors"
STUDENT_MELS = 80
FRAMES_PER_STEP = 2  # of the engine's grid: a step every 20 ms
FRAMES_AT_ONCE = 8  # frames of content that a step gives: the newest, and those up to 70 ms before it
_CHANNELS, _EXPANSION, _WIDTH = 256, 2, 5
_DILATIONS = (1, 1, 2, 2, 4, 4, 8, 8)
_RANGE = (-4.0, 3.0)  # decades around the mean of the recording's active frames


class CausalBlock(nn.Module):
    """ConvNeXt block over steps (batch, steps, channels) whose convolution reaches back only.

    past: (batch, reach, channels), what entered before the first step; zeros at the start of a recording.
    """

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.reach = dilation * (_WIDTH - 1)
        self.mix_steps = nn.Conv1d(channels, channels, _WIDTH, dilation=dilation, groups=channels)
        self.normalize = nn.LayerNorm(channels)
        self.widen = nn.Linear(channels, _EXPANSION * channels)
        self.narrow = nn.Linear(_EXPANSION * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.2))

    def forward(self, sequence: Tensor, past: Tensor) -> tuple[Tensor, Tensor]:
        """Return the new sequence, and the past of the steps that follow."""
        whole = torch.cat([past, sequence], 1)
        # tap by tap: of a few steps three times as fast as torch's convolution
        steps, dilation = sequence.shape[1], self.mix_steps.dilation[0]
        mixed = self.mix_steps.bias
        assert mixed is not None
        for tap, weight in enumerate(self.mix_steps.weight[:, 0].T):
            mixed = torch.addcmul(mixed, whole[:, tap * dilation : tap * dilation + steps], weight)
        hidden = self.narrow(functional.gelu(self.widen(self.normalize(mixed))))
        return sequence + hidden * self.scale, whole[:, whole.shape[1] - self.reach :]


class CausalContentEncoder(nn.Module):
    """Encode log-mel frames (batch, 2 * steps, STUDENT_MELS) as content (batch, steps, FRAMES_AT_ONCE, CONTENT).

    Frames are in decades (log10 of power) relative to the mean of the recording's active frames. Step k reads frames
    2k and 2k + 1 and gives the content of frames 2k - 6 to 2k + 1, each with unit variance.
    """

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(FRAMES_PER_STEP * STUDENT_MELS, _CHANNELS)
        self.blocks = nn.ModuleList(CausalBlock(_CHANNELS, dilation) for dilation in _DILATIONS)
        self.leave = nn.Sequential(nn.LayerNorm(_CHANNELS), nn.Linear(_CHANNELS, FRAMES_AT_ONCE * CONTENT))
        self.usual: Tensor
        self.register_buffer("usual", torch.zeros(STUDENT_MELS))  # mean of active frames, all speakers

    def start(self, batch: int = 1) -> list[Tensor]:
        """Return the state before the first step."""
        scale = self.enter.weight
        return [scale.new_zeros(batch, block.reach, _CHANNELS) for block in self._blocks]

    @property
    def _blocks(self) -> list[CausalBlock]:
        return [block for block in self.blocks if isinstance(block, CausalBlock)]

    def forward(self, frames: Tensor, state: Sequence[Tensor]) -> tuple[Tensor, list[Tensor]]:
        """Return the content of each step, and the state for the steps that follow."""
        batch, count, _ = frames.shape
        pairs = frames.clamp(*_RANGE).reshape(batch, count // FRAMES_PER_STEP, FRAMES_PER_STEP * STUDENT_MELS)
        hidden = self.enter(pairs)
        after = []
        for block, past in zip(self._blocks, state, strict=True):
            hidden, kept = block(hidden, past)
            after.append(kept)
        content = self.leave(hidden).float().unflatten(2, (FRAMES_AT_ONCE, CONTENT))
        return functional.layer_norm(content, (CONTENT,)), after


def load_student(path: Path = STUDENT) -> CausalContentEncoder:
    """Load the student from its file, in evaluation mode. Raises VoiceError if it is missing or damaged."""
    return with_weights(CausalContentEncoder(), load_weights(path), path)
