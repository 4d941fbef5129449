"""Numbers carried to a pretended graphics card and back."""

from dataclasses import dataclass

import torch
from torch import Tensor

from engine.carrying import brought, carried, on_device
from tests.engine.pretended_gpu import THERE, crossings, pretended_gpu

VALUES = [
    *(torch.arange(3, dtype=torch.float32), torch.ones(2, 3, dtype=torch.float16), torch.zeros(0)),
    *(torch.tensor([1 << 40, -1]), torch.eye(4)[:, 1:3], torch.tensor(2.5)),
]


@dataclass(frozen=True)
class Inner:
    curve: Tensor
    name: str


@dataclass(frozen=True)
class Outer:
    inner: Inner | None
    curve: Tensor
    count: int


def test_tensors_of_any_kind_come_back_as_they_were_after_one_copy_there_and_one_back():
    with pretended_gpu(), crossings() as crossed:
        there = carried(VALUES, THERE)
        assert [one.device for one in there] == [THERE] * len(VALUES)
        assert len(crossed) == 1
        back = brought(there)
        assert len(crossed) == 2
    for found, given in zip(back, VALUES, strict=True):
        assert found.dtype == given.dtype
        assert torch.equal(found, given)


def test_on_the_processor_nothing_is_copied():
    here = torch.device("cpu")
    assert all(one is other for one, other in zip(carried(VALUES, here), VALUES, strict=True))
    assert all(one is other for one, other in zip(brought(VALUES), VALUES, strict=True))
    held = [Outer(None, VALUES[0], 1)]
    assert on_device(held, here) == held
    assert carried([], THERE) == brought([]) == []


def test_on_device_carries_the_tensors_within_dataclasses_at_once():
    held = [Outer(Inner(torch.ones(2), "a"), torch.zeros(3), 7), Outer(None, torch.full((1,), 5.0), 8)]
    with pretended_gpu(), crossings() as crossed:
        one, other = on_device(held, THERE)
        assert len(crossed) == 1
        assert one.inner is not None
        found = brought([one.inner.curve, one.curve, other.curve])
    assert [value.tolist() for value in found] == [[1.0, 1.0], [0.0, 0.0, 0.0], [5.0]]
    assert (one.inner.name, one.count, other.inner, other.count) == ("a", 7, None, 8)
