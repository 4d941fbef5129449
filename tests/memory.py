"""Tests analyse the same few sounds again and again: the listener encodes each of them once in a process."""

import hashlib
from collections import OrderedDict
from collections.abc import Iterator

import pytest
import torch
from torch import Tensor

from engine.networks.listener import Listener

_KEPT = 48  # encodings, of 2 MB at most
_LONGEST = 1_000  # frames of the spectrum; what is longer is in tests of memory


@pytest.fixture(scope="session", autouse=True)
def remembered_encodings() -> Iterator[None]:
    """Let listeners remember what they encoded; the same spectrum in the same precision has the same features."""
    encode = Listener.encode
    known: OrderedDict[tuple, tuple[Listener, Tensor]] = OrderedDict()  # each with its listener, whose id stays taken

    def remembered(listener: Listener, spectrum: Tensor, within: Tensor | None = None) -> Tensor:
        # an export traces all that is done with a tensor, and what is looked at here is none of the network's
        apart = spectrum.requires_grad or spectrum.device.type != "cpu" or torch.jit.is_tracing() or within is not None
        if apart or spectrum.shape[2] > _LONGEST:
            return encode(listener, spectrum, within)
        digest = hashlib.sha256(spectrum.contiguous().view(torch.uint8).numpy()).digest()  # numpy has no bfloat16
        precision = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else spectrum.dtype
        key = (id(listener), spectrum.shape, precision, digest)
        found = known.pop(key, None) or (listener, encode(listener, spectrum))
        known[key] = found
        if len(known) > _KEPT:
            known.popitem(last=False)
        return found[1].clone()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Listener, "encode", remembered)
        yield
