"""The base model: the networks every voice is built on, and their storage."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from engine.forks import refuse_forked
from engine.networks.content_encoder import ContentEncoder
from engine.networks.envelope_decoder import EnvelopeDecoder
from engine.networks.listener import Listener, load_listener, missing_weights, other_weights
from engine.networks.synthesizer import Synthesizer
from engine.networks.timbre_encoder import TimbreEncoder

WEIGHTS = Path(__file__).parents[1] / "weights"
Network = TypeVar("Network", bound=nn.Module)


class BaseModel(nn.Module):
    """Listener, content encoder, timbre encoder, decoder and synthesizer, in evaluation mode."""

    def __init__(self, listener: Listener) -> None:
        super().__init__()
        self.listener = listener
        self.content = ContentEncoder()
        self.timbre = TimbreEncoder()
        self.decoder = EnvelopeDecoder()
        self.synthesizer = Synthesizer()
        self.eval().requires_grad_(False)

    @property
    def device(self) -> torch.device:
        """The device of its networks, where their inputs must be too."""
        return next(self.parameters()).device


def load_weights(path: Path) -> dict[str, Tensor]:
    """Load the tensors of a safetensors file as float32. Raises VoiceError if it is missing or damaged."""
    try:
        return {name: tensor.float() for name, tensor in load_file(path).items()}
    except Exception as cause:  # safetensors raises its own kinds
        raise missing_weights(path) from cause


def with_weights(network: Network, weights: Mapping[str, Tensor], path: Path) -> Network:
    """Give a network the weights of a file of the engine, in evaluation mode. Raises VoiceError if they do not fit."""
    try:
        network.load_state_dict(weights, strict=True)
    except RuntimeError as cause:
        raise other_weights(path) from cause
    return network.eval().requires_grad_(False)


def load_base(path: Path = WEIGHTS / "base.safetensors", device: torch.device | None = None) -> BaseModel:
    """Load the base model from `path` on a device, by default the CPU, once per process.

    Raises VoiceError if it cannot be loaded, EngineError in a process forked from one that has computed.
    """
    refuse_forked()
    return _loaded(path, device or torch.device("cpu"))


@lru_cache(maxsize=4)
def _loaded(path: Path, device: torch.device) -> BaseModel:
    # the first caller may only infer, but a later training run in this process must be able to backpropagate through it
    with torch.inference_mode(False):
        model = BaseModel(load_listener())
        listener = {f"listener.{name}": value for name, value in model.listener.state_dict().items()}
        return with_weights(model, load_weights(path) | listener, path).to(device)
