"""The listener of conversions: all blocks but the first in 8 bits where the processor is quicker with them.

The weights are whole numbers of 8 bits, as they are stored. What they are multiplied by becomes whole numbers too, in
steps of its own for each frame (Yao et al., "ZeroQuant", 2022): with those of the whole window, as for the few frames
of live conversion, single frames that burst would leave few steps to the others (Dettmers et al., "LLM.int8()", 2022).
What the first block misses grows in every block after it, so it stays in float32.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional

from engine.networks.eight_bits import EightBitLinear
from engine.networks.listener import (
    HEADS,
    LISTENER,
    SCALE,
    WIDTH,
    Listener,
    ListenerBlock,
    empty_listener,
    other_weights,
    read_listener,
    with_stored_weights,
)

FRAMES_AT_ONCE = 256  # 5 s: what is between two layers stays in the processor's cache
_EXACT_BLOCKS = 1
_LINEAR = ("attention.enter", "attention.leave", "widen", "narrow")  # of a block
_SMALLEST = 1e-6  # range of a frame


class _EightBitLayer(nn.Module):
    """A linear layer in 8 bits: (batch, frames, inputs) -> (batch, frames, outputs). Each frame has its own steps."""

    def __init__(self, stored: Mapping[str, Tensor], name: str) -> None:
        super().__init__()
        weight = f"{name}.weight"
        self._layer = EightBitLinear.of_steps(stored[weight], stored[weight + SCALE], None)
        self._bias = stored[f"{name}.bias"].float()

    def forward(self, values: Tensor) -> Tensor:
        # a norm would be the same, and takes fifteen times as long
        largest = torch.maximum(values.amax(-1, keepdim=True), -values.amin(-1, keepdim=True)).clamp_min_(_SMALLEST)
        return torch.addcmul(self._bias, self._layer(values / largest), largest)


class EightBitBlock(nn.Module):
    """A block of the listener with linear layers in 8 bits: (batch, frames, WIDTH) -> same shape."""

    def __init__(self, block: ListenerBlock, stored: Mapping[str, Tensor]) -> None:
        """Take the norms of a block, and its stored tensors by their names in it.

        Raises KeyError if one is missing.
        """
        super().__init__()
        self.attention_norm, self.network_norm = block.attention_norm, block.network_norm
        self._enter, self._leave, self._widen, self._narrow = (_EightBitLayer(stored, name) for name in _LINEAR)

    def forward(self, sequence: Tensor) -> Tensor:
        """Attend to all frames; do the rest for FRAMES_AT_ONCE."""
        batch, frames, _ = sequence.shape
        parts = sequence.new_empty(3, batch, HEADS, frames, WIDTH // HEADS)
        for some in _stretches(frames):
            entered = self._enter(self.attention_norm(sequence[:, some]))
            parts[:, :, :, some] = entered.view(batch, -1, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts).transpose(1, 2).reshape(batch, frames, WIDTH)
        through = torch.empty_like(sequence)
        for some in _stretches(frames):
            hidden = sequence[:, some] + self._leave(mixed[:, some])
            wide = functional.gelu(self._widen(self.network_norm(hidden)))
            through[:, some] = hidden + self._narrow(wide)
        return through


def _stretches(frames: int) -> Iterator[slice]:
    for first in range(0, frames, FRAMES_AT_ONCE):
        yield slice(first, first + FRAMES_AT_ONCE)


def load_quick_listener(path: Path = LISTENER) -> Listener:
    """Load the listener with 8 bits from its file, for the CPU. Raises VoiceError as `load_listener`.

    Both layers correlate with those of `load_listener` by more than 0.995.
    """
    stored = read_listener(path)
    listener = empty_listener()
    taken: set[str] = set()
    try:
        for number, block in list(enumerate(listener.blocks))[_EXACT_BLOCKS:]:
            assert isinstance(block, ListenerBlock)  # which a list of modules does not know
            home = f"blocks.{number}."
            own = {name.removeprefix(home): value for name, value in stored.items() if name.startswith(home)}
            listener.blocks[number] = EightBitBlock(block, own)
            taken |= {f"{home}{name}" for name in own if name.startswith(_LINEAR)}
    except (KeyError, RuntimeError) as cause:
        raise other_weights(path) from cause
    return with_stored_weights(listener, {name: stored[name] for name in stored.keys() - taken}, path)
