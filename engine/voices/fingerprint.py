"""The fingerprint of the networks a take was sung by: an edit of it must be sung by the same."""

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Protocol

from torch import Tensor

from engine.networks.base import BaseModel
from engine.voices.voice import Voice


class _Digest(Protocol):
    def update(self, data: memoryview, /) -> None: ...
    def copy(self) -> "_Digest": ...
    def hexdigest(self) -> str: ...


def networks_fingerprint(base: BaseModel, voice: Voice) -> str:
    """The same text for the same weights."""
    digest = _of_base(base).copy()
    vectors = [voice.timbre, voice.spread, voice.centre, voice.contrast, voice.retrieval_frames]
    _add(digest, [*vectors, *voice.decoder.state_dict().values()])
    return digest.hexdigest()


@lru_cache(maxsize=4)
def _of_base(base: BaseModel) -> _Digest:
    """The base does not change once it is loaded, and is much the larger part."""
    digest = sha256()  # which most processors compute themselves
    _add(digest, base.state_dict().values())
    return digest


def _add(digest: _Digest, tensors: Iterable[Tensor]) -> None:
    for tensor in tensors:
        digest.update(tensor.detach().cpu().contiguous().numpy().data)
