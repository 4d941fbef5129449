"""A GPU that there is not: tensors that say they are elsewhere, and hold their numbers on the processor.

What is computed with them is what the processor computes, to the bit; what a GPU refuses is refused: tensors of two
devices in one operation, and numpy. So it can be tried anywhere whether all is moved that has to be.
"""

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

THERE = torch.device("meta")  # one that every build of torch knows, and on which nothing can be computed by mistake
_HERE = torch.device("cpu")
_aten = torch.ops.aten
# what takes tensors of two devices: moving, and looking up by numbers that lie on the processor
_MIXED = {_aten._to_copy, _aten.to, _aten.copy_, _aten.index, _aten.index_put, _aten.index_put_}

_WAITING = {_aten._local_scalar_dense, _aten.nonzero, _aten.masked_select, _aten.equal, _aten.is_nonzero}


class Memory:
    """What is held on the pretended GPU in bytes, of what has been made since this was: now, and at most."""

    def __init__(self) -> None:
        self.now = self.peak = 0
        self._users: dict[int, int] = {}

    def count(self, made: "_Elsewhere") -> None:
        """Count the storage of a tensor, which others may share, until the last of them is gone."""
        storage = made.held.untyped_storage()
        place, size = storage.data_ptr(), storage.nbytes()
        if not self._users.get(place):
            self.now += size
            self.peak = max(self.peak, self.now)
        self._users[place] = self._users.get(place, 0) + 1
        weakref.finalize(made, self._leave, place, size)

    def _leave(self, place: int, size: int) -> None:
        self._users[place] -= 1
        if not self._users[place]:
            del self._users[place]
            self.now -= size


_METERS: list[Memory] = []


@contextmanager
def memory() -> Iterator[Memory]:
    """Within `pretended_gpu`: give what is held there from now on."""
    _METERS.append(meter := Memory())
    try:
        yield meter
    finally:
        _METERS.remove(meter)


class _Elsewhere(torch.Tensor):
    held: torch.Tensor

    @staticmethod
    def __new__(cls, held: torch.Tensor) -> "_Elsewhere":
        made = torch.Tensor._make_wrapper_subclass(
            cls,
            held.size(),
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            device=THERE,
        )
        made.held = held
        for meter in _METERS:
            meter.count(made)
        return made

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(function, args, kwargs or {})


class _Pretending(TorchDispatchMode):
    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _computed(function, args, kwargs or {})


@contextmanager
def pretended_gpu() -> Iterator[torch.device]:
    """Within it, what is moved to the device that this gives is there."""
    with _Pretending():
        yield THERE


class _Watching(TorchDispatchMode):
    """Notes what would make a processor wait for a GPU, or copy to it, and passes it on."""

    def __init__(self, noted: list[str]) -> None:
        super().__init__()
        self.noted = noted

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, torch.Tensor)]
        made = [one for one in tree_leaves(found) if isinstance(one, torch.Tensor)]
        there = {isinstance(one, _Elsewhere) for one in given if one.dim() or isinstance(one, _Elsewhere)}
        packet = function.overloadpacket
        waits = packet in _WAITING and True in there
        moves = packet in _MIXED and len(there | {isinstance(one, _Elsewhere) for one in made}) > 1
        if waits or moves or (True in there and made and not any(isinstance(one, _Elsewhere) for one in made)):
            self.noted.append(str(packet))
        return found


@contextmanager
def crossings() -> Iterator[list[str]]:
    """Within `pretended_gpu`: give the list of what has crossed between it and the processor, or waited for it."""
    noted: list[str] = []
    with _Watching(noted):
        yield noted


def _computed(function: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    given = tree_leaves((args, kwargs))
    there = [one for one in given if isinstance(one, _Elsewhere)]
    # a single number may lie anywhere
    here = [one for one in given if isinstance(one, torch.Tensor) and not isinstance(one, _Elsewhere) and one.dim()]
    if there and here and function.overloadpacket not in _MIXED:
        raise RuntimeError(f"Expected all tensors to be on the same device, in {function}.")
    asked = [one for one in given if isinstance(one, torch.device)]
    goes_there = asked[0].type == THERE.type if asked else bool(there)
    if function.overloadpacket is _aten.copy_:
        goes_there = isinstance(args[0], _Elsewhere)
    args, kwargs = tree_map_only(torch.device, lambda _: _HERE, (args, kwargs))
    args, kwargs = tree_map_only(_Elsewhere, lambda one: one.held, (args, kwargs))
    found = function(*args, **kwargs)
    if not goes_there:
        return found
    known = {id(one.held): one for one in there}  # what was changed in its place stays itself
    with torch.inference_mode(False):
        return tree_map_only(torch.Tensor, lambda one: known[id(one)] if id(one) in known else _Elsewhere(one), found)
