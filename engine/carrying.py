"""Carry numbers to a graphics card and back: many tensors in one copy, which nothing waits for on the way there.

Every copy costs as much as a thousand numbers, and one that is waited for empties what is queued for the card.
"""

from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Held = TypeVar("Held", bound="DataclassInstance")
_ALIGNED = 8  # bytes: where a number of any kind may begin


def carried(values: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """Return tensors of the processor on a device, in one copy. On the processor they are returned as they are."""
    if device.type == "cpu" or not values:
        return list(values)
    packed = _packed(values)
    if device.type == "cuda":
        packed = packed.pin_memory()  # or the copy would be waited for
    return _unpacked(packed.to(device, non_blocking=True), values)


def brought(values: Sequence[Tensor]) -> list[Tensor]:
    """Return tensors of one device on the processor, in one copy, which waits for all that is queued there."""
    if not values or values[0].device.type == "cpu":
        return list(values)
    return _unpacked(_packed(values).cpu(), values)


def on_device(held: Sequence[Held], device: torch.device) -> list[Held]:
    """Return dataclasses on a device, in one copy, with the tensors of dataclasses and tuples in them."""
    if device.type == "cpu":
        return list(held)
    there = iter(carried([value for one in held for value in _tensors(one)], device))
    return [_with_tensors(one, there) for one in held]


def _packed(values: Sequence[Tensor]) -> Tensor:
    rows = [value.contiguous().view(-1).view(torch.uint8) for value in values]
    return torch.cat([functional.pad(row, (0, -len(row) % _ALIGNED)) for row in rows])


def _unpacked(packed: Tensor, values: Sequence[Tensor]) -> list[Tensor]:
    found, begin = [], 0
    for value in values:
        size = value.numel() * value.element_size()
        found.append(packed[begin : begin + size].view(value.dtype).view(value.shape))
        begin += size + -size % _ALIGNED
    return found


def _tensors(held: "DataclassInstance") -> Iterator[Tensor]:
    for field in fields(held):
        value = getattr(held, field.name)
        if isinstance(value, Tensor):
            yield value
        for one in value if isinstance(value, tuple) else (value,):
            if is_dataclass(one) and not isinstance(one, type):
                yield from _tensors(one)


def _with_tensors(held: Held, there: Iterator[Tensor]) -> Held:
    def moved(value: object) -> object:
        if isinstance(value, Tensor):
            return next(there)
        if isinstance(value, tuple):
            return tuple(map(moved, value)) if any(map(is_dataclass, value)) else value
        return _with_tensors(value, there) if is_dataclass(value) and not isinstance(value, type) else value

    return replace(held, **{field.name: moved(getattr(held, field.name)) for field in fields(held)})
