"""Processes that learn one voice together, on one machine or several: each takes its share of every batch, and what
the shares teach is added up. So they learn what one process learns, but for the order in which sums are added.

The first of a team trains as ever (`engine.training`), keeps all files, and tells the others each step; they follow
(`engine.team_member`). Nothing that a process says is taken for code: steps are numbers, states are tensors.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
from torch import Tensor, distributed

from engine.errors import TeamLost

_WAIT = timedelta(hours=1)  # for the first to listen to an evaluation, while the others have nothing to do
_STEP, _STATE, _END = 1, 2, 0


@dataclass(frozen=True)
class Step:
    """A step that all take together; see `engine.fine_tuning.FineTuning.step`."""

    number: int
    pieces: list[tuple[int, int]]
    rate_share: float


class Team:
    """A process's place among those that learn together, 0 for the first; alone where there is no other."""

    def __init__(self, place: int = 0, size: int = 1) -> None:
        self.place, self.size = place, size

    @property
    def leads(self) -> bool:
        """Whether it is the first of several, which tells the others what to do."""
        return self.size > 1 and self.place == 0

    def share(self, count: int) -> slice:
        """This process's part of so many pieces; parts differ by one piece at the most, and may be empty."""
        return slice(self.place * count // self.size, (self.place + 1) * count // self.size)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes, the same in all of them. Raises TeamLost."""
        if self.size == 1:
            return
        together = torch.cat([one.detach().reshape(-1) for one in tensors])
        with _understood():
            distributed.all_reduce(together)
        begin = 0
        for one in tensors:
            one.detach().copy_(together[begin : begin + one.numel()].view_as(one))
            begin += one.numel()

    # ---- what the first says

    def tell_step(self, step: Step) -> None:
        """Have the others take this step too, where this is the first of several."""
        if self.leads:
            self._send(torch.tensor([_STEP, step.number, len(step.pieces)]))
            self._send(torch.tensor(step.pieces, dtype=torch.int64))
            self._send(torch.tensor([step.rate_share], dtype=torch.float64))

    def tell_state(self, state: dict[str, Any]) -> None:
        """Have the others go on from this state, where this is the first of several."""
        if self.leads:
            file = io.BytesIO()
            torch.save(state, file)
            self._send(torch.tensor([_STATE, 0, file.tell()]))
            self._send(torch.frombuffer(bytearray(file.getvalue()), dtype=torch.uint8))

    def dismiss(self) -> None:
        """Let the others end, where this is the first of several, and leave the team."""
        if self.size == 1:
            return
        try:
            if self.leads:
                self._send(torch.tensor([_END, 0, 0]))
        finally:
            distributed.destroy_process_group()

    # ---- what the others hear

    def hear(self) -> Step | dict[str, Any] | None:
        """The next step or state the first tells of; None when it is over. Raises TeamLost where it is lost."""
        kind, number, count = (int(one) for one in self._received(torch.zeros(3, dtype=torch.int64)))
        if kind == _STEP:
            pieces = self._received(torch.zeros((count, 2), dtype=torch.int64)).tolist()
            rate_share = float(self._received(torch.zeros(1, dtype=torch.float64)))
            return Step(number, [(clip, first) for clip, first in pieces], rate_share)
        if kind == _STATE:
            data = self._received(torch.zeros(count, dtype=torch.uint8))
            state: dict[str, Any] = torch.load(io.BytesIO(data.numpy().tobytes()), weights_only=True)
            return state
        return None

    def _send(self, tensor: Tensor) -> None:
        with _understood():
            distributed.broadcast(tensor, 0)

    def _received(self, tensor: Tensor) -> Tensor:
        with _understood():
            distributed.broadcast(tensor, 0)
        return tensor


ALONE = Team()


def join_team(address: str, place: int, size: int) -> Team:
    """Join a team, whose others join it too: this waits for them.

    address: file:///PATH of a file that none has made yet, where all share a disk; or tcp://HOST:PORT of the first,
    which anybody who reaches it can disturb, so only in a network of one's own. Raises TeamLost.
    """
    with _understood():
        distributed.init_process_group("gloo", init_method=address, rank=place, world_size=size, timeout=_WAIT)
    return Team(place, size)


@contextmanager
def _understood() -> Iterator[None]:
    """What torch says of others that are lost, as an error of ours."""
    try:
        yield
    except (RuntimeError, ValueError) as cause:
        text = "A process that learned the same voice was lost. Start the training again: it goes on where it was."
        raise TeamLost(text) from cause
