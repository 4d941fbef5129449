"""The fingerprint of the networks a take was sung by: an edit of it must be sung by the same."""

from collections.abc import Iterable
from hashlib import blake2b

from torch import Tensor

from engine.base import BaseModel
from engine.voice import Voice


def networks_fingerprint(base: BaseModel, voice: Voice) -> str:
    """The same text for the same weights."""
    vectors = [voice.timbre, voice.spread, voice.centre, voice.contrast, voice.sounds]
    return _digest([*base.state_dict().values(), *vectors, *voice.decoder.state_dict().values()])


def _digest(tensors: Iterable[Tensor]) -> str:
    digest = blake2b(digest_size=16)
    for tensor in tensors:
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()
