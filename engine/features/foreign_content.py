"""What other people said: pieces that ship with the base, on which a new voice learns to be clear."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from engine.networks.base import WEIGHTS, load_weights


@dataclass(frozen=True)
class ForeignContent:
    """One piece each of many speakers, as the base encodes it; all float32."""

    content: Tensor  # (pieces, frames, CONTENT)
    prosody: Tensor  # (pieces, frames, PROSODY)
    semitones: Tensor  # (pieces,): median pitch

    def to(self, device: torch.device) -> "ForeignContent":
        """Move it to a device."""
        return ForeignContent(**{name: value.to(device) for name, value in vars(self).items()})


@lru_cache(maxsize=1)
def load_foreign(path: Path = WEIGHTS / "foreign.safetensors") -> ForeignContent:
    """Load the pieces that ship with the base, once. Raises VoiceError if they are missing or damaged."""
    return ForeignContent(**load_weights(path))
