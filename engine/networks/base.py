"""The base model: the networks every voice is built on, and their storage."""

import math
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import TypeVar

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from engine.forks import refuse_forked
from engine.networks.content_encoder import ContentEncoder
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.listener import Listener, load_listener, missing_weights, other_weights, read_listener
from engine.networks.synthesizer import Synthesizer
from engine.networks.timbre_encoder import TimbreEncoder

WEIGHTS = Path(__file__).parents[1] / "weights"
Network = TypeVar("Network", bound=nn.Module)
_LOADING = Lock()  # whoever comes second gets the same one


class BaseModel(nn.Module):
    """Listener, content encoder, timbre encoder, decoder and synthesizer, in evaluation mode.

    The listener is no part of the module: it is loaded when somebody listens, in the form that is needed.
    """

    def __init__(self, listener: Listener | None = None) -> None:
        """Take a listener instead of the one that ships, if one is given."""
        super().__init__()
        self._given = (listener,)  # in a tuple, which torch does not take for a part
        self.content = ContentEncoder()
        self.timbre = TimbreEncoder()
        self.decoder = EnvelopeDecoder()
        self.synthesizer = Synthesizer()
        self.eval().requires_grad_(False)

    @cached_property
    def listener(self) -> Listener:
        """In float32. Raises VoiceError."""
        (given,) = self._given
        # the first caller may only infer, but a later training run in this process must be able to backpropagate
        with torch.inference_mode(False):
            return (given or load_listener()).to(self.device)

    def all_weights(self) -> Iterable[Tensor]:
        """Return all weights, the listener's in float32 first, which is loaded for it unless it is in memory."""
        listener = self.listener if "listener" in self.__dict__ or self._given != (None,) else load_listener()
        return [*listener.state_dict().values(), *self.state_dict().values()]

    @property
    def device(self) -> torch.device:
        """The device of its networks, where their inputs must be too."""
        return next(self.parameters()).device


def load_weights(path: Path) -> dict[str, Tensor]:
    """Load the tensors of a safetensors file as float32, apart from it.

    Raises VoiceError if missing or damaged, EngineError in a process forked from one that has computed.
    """
    refuse_forked()  # threads of torch copy large ones
    try:
        return {name: tensor.to(torch.float32, copy=True) for name, tensor in load_file(path).items()}
    except Exception as cause:  # safetensors raises its own kinds
        raise missing_weights(path) from cause


def are_finite(weights: Tensor) -> bool:
    """Return whether weights are numbers, in a sixth of the time of `isfinite().all()`."""
    return not weights.numel() or all(math.isfinite(one) for one in torch.aminmax(weights))


def with_weights(network: Network, weights: Mapping[str, Tensor], path: Path) -> Network:
    """Give a network the weights of a file of the engine, in evaluation mode. Raises VoiceError if they do not fit."""
    try:
        network.load_state_dict(weights, strict=True, assign=True)
    except RuntimeError as cause:
        raise other_weights(path) from cause
    return network.eval().requires_grad_(False)


def load_base(path: Path = WEIGHTS / "base.safetensors", device: torch.device | None = None) -> BaseModel:
    """Load the base model from `path` on a device, by default the CPU, once per process.

    Raises VoiceError if it cannot be loaded, EngineError in a process forked from one that has computed.
    """
    refuse_forked()
    with _LOADING:
        return _loaded(path, device or torch.device("cpu"))


@lru_cache(maxsize=4)
def _loaded(path: Path, device: torch.device) -> BaseModel:
    read_listener()  # its file is there and whole, or nothing is loaded
    # the first caller may only infer, but a later training run in this process must be able to backpropagate through it
    with torch.inference_mode(False):
        with torch.device("meta"):  # see empty_listener
            empty = BaseModel()
        return with_weights(empty, load_weights(path), path).to(device)
