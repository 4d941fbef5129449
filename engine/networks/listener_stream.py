"""The listener over a stream: the newest frames are encoded again while what follows them is news, then remembered.

The listener attends to all that it is given, so a window over the last two seconds would be encoded anew for each
block. Here only its end is; what lies further back is attended to as the keys and values that those frames had when
they were encoded for the last time, like the cache of a language model.
"""

import torch
from torch import Tensor
from torch.nn import functional

from engine.networks.listener import FEATURES, HEADS, LAYERS, POSITIONS, WIDTH, Listener, ListenerBlock
from engine.networks.quantization import in_eight_bits

KEPT = 100  # frames further back that are attended to: two seconds
AGAIN = 16  # frames that are encoded once more: with half of them, a sixth of what is missed is added
_BEFORE = 4  # frames of the spectrum before the first of a piece's own that its convolutions reach
_CONVOLVED = _BEFORE // 2
_TRANSFORMED = 2  # frames of a spectrum whose windows lack the samples before the piece
_HOP = 160  # samples from one frame of the spectrum to the next


class ListenerStream:
    """Gives features of the newest frames block by block. In 8 bits where torch has them.

    Positions end after 30 seconds. Before they do, a second encoding begins at the first one, and takes over once it
    has as much to attend to.
    """

    def __init__(self, listener: Listener, block_frames: int) -> None:
        """block_frames: frames of LISTENER_FRAME_RATE that each block brings."""
        self._listener, self._new = in_eight_bits(listener, ("blocks",)), block_frames
        count = block_frames + AGAIN
        self._samples = torch.zeros((2 * count + _BEFORE + _TRANSFORMED) * _HOP)
        self._loudest = torch.full((2 * KEPT,), -10.0)  # decades, of the frames so far
        self._features = torch.zeros(KEPT + count, FEATURES)
        self._encoding = _Encoding(self._listener)
        self._successor: _Encoding | None = None
        with torch.inference_mode():
            # silence precedes the stream
            self._encode(torch.zeros((2 * (KEPT + count) + _BEFORE + _TRANSFORMED) * _HOP))

    def push(self, block: Tensor) -> Tensor:
        """Take the next block (n,) at LISTENER_RATE and return the features (n', FEATURES) of the last two seconds."""
        self._samples = torch.cat([self._samples[len(block) :], block])
        with torch.inference_mode():
            found = self._encode(self._samples)
        again = len(found) - self._new
        self._features = torch.cat([self._features[self._new : len(self._features) - again], found])
        return self._features

    def _encode(self, samples: Tensor) -> Tensor:
        decades = self._listener.decades(samples[None])[..., _TRANSFORMED:]
        frames = 2 * self._new
        self._loudest = torch.cat([self._loudest[frames:], decades[0, :, -frames:].amax(0)])
        loudest = torch.maximum(self._loudest.max(), decades.max())
        hidden = self._listener.convolve(self._listener.ranged(decades, loudest))[0, _CONVOLVED:]
        if self._successor is None and self._encoding.position + KEPT + 2 * len(hidden) > POSITIONS:
            self._successor = _Encoding(self._listener)
        if self._successor is not None:
            features = self._successor.push(hidden, self._new)
            if self._successor.position >= KEPT:
                self._encoding, self._successor = self._successor, None
                return features
        return self._encoding.push(hidden, self._new)


class _Encoding:
    """Keys and values of each block of the listener, from a first position on."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self.position = 0  # after the last frame
        empty = torch.zeros(0, WIDTH)
        self._past = [(empty, empty) for _ in listener.blocks]

    def push(self, hidden: Tensor, new: int) -> Tensor:
        """Encode convolved frames (frames, WIDTH), the last `new` of them new: features (frames, FEATURES).

        The first piece is new altogether.
        """
        listener = self._listener
        again = min(len(hidden) - new, self.position)
        new = len(hidden) - again
        first, self.position = self.position - again, self.position + new
        hidden = hidden + listener.positions[first : self.position]
        layers = []
        for number, block in enumerate(listener.blocks, 1):
            assert isinstance(block, ListenerBlock)  # which a list of modules does not know
            hidden = self._through(number - 1, block, hidden, again)
            if number in LAYERS:
                layers.append(listener.norm(hidden) if number == len(listener.blocks) else hidden)
        return torch.cat(layers, 1)

    def _through(self, number: int, block: ListenerBlock, hidden: Tensor, again: int) -> Tensor:
        query, *pair = block.attention.enter(block.attention_norm(hidden)).chunk(3, 1)
        past = [old[max(0, len(old) - again - KEPT) : len(old) - again] for old in self._past[number]]
        keys, values = (torch.cat([old, now]) for old, now in zip(past, pair, strict=True))
        self._past[number] = keys, values
        attended = functional.scaled_dot_product_attention(_in_heads(query), _in_heads(keys), _in_heads(values))
        mixed = attended[0].transpose(0, 1).reshape(len(hidden), WIDTH)
        hidden = hidden + block.attention.leave(mixed)
        return hidden + block.narrow(functional.gelu(block.widen(block.network_norm(hidden))))


def _in_heads(part: Tensor) -> Tensor:
    """(frames, WIDTH) -> (1, HEADS, frames, WIDTH / HEADS)."""
    return part.view(len(part), HEADS, -1).transpose(0, 1)[None]
