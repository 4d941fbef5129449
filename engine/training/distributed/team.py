"""Processes that learn one voice together, on one machine or several: each takes its share of every batch, and what
the shares teach is added up. So they learn what one process learns, but for the order in which sums are added.

The first of a team trains as ever (`engine.training.train`), keeps all files, and tells the others everything: what
there is to learn from, then each step; they follow (`team_member`). Nothing a process sends is run as code: clips
and states are tensors, steps are numbers. Sums are added on the processor (gloo), so that members may have GPUs, the
same one, or none.
"""

import io
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, distributed

from engine.errors import TeamLost
from engine.features.clips import Clip
from engine.training.checkpoint import on_processor
from engine.training.distributed.clip_parcel import packed, unpacked
from engine.training.plan import TrainingPlan

if TYPE_CHECKING:  # which some builds of torch lack, that can do all the rest
    from torch.distributed import Store

_MEETING = timedelta(seconds=60)  # for those who have said that they are here to find each other
_WAIT = timedelta(hours=1)  # for the first to listen to an evaluation, while the others have nothing to do
_LESSON, _STEP, _STATE, _END = 3, 1, 2, 0


@dataclass(frozen=True)
class Lesson:
    """What is learned, and by which plan: the same for all of a team."""

    clips: Sequence[Clip]
    plan: TrainingPlan


@dataclass(frozen=True)
class Step:
    """A step that all take together; see `engine.training.fine_tuning.FineTuning.step`."""

    number: int
    pieces: list[tuple[int, int]]
    rate_share: float


class Team:
    """A process's place among those that learn together, 0 for the first; alone where there is no other."""

    def __init__(self, place: int = 0, size: int = 1, group: Any = None) -> None:
        self.place, self.size, self._group = place, size, group

    @property
    def leads(self) -> bool:
        """Whether it is the first of several, which tells the others what to do."""
        return self.size > 1 and self.place == 0

    def share(self, count: int) -> slice:
        """This process's part of so many pieces; parts differ by one piece at the most, and may be empty."""
        return slice(self.place * count // self.size, (self.place + 1) * count // self.size)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor by its sum over all processes, the same in all of them. Raises TeamLost."""
        if self._group is None:
            return
        together = torch.cat([one.detach().reshape(-1) for one in tensors]).cpu()
        with _understood():
            self._group.allreduce([together]).wait()
        begin = 0
        for one in tensors:
            one.detach().copy_(together[begin : begin + one.numel()].view_as(one))
            begin += one.numel()

    # ---- what the first says

    def tell_lesson(self, lesson: Lesson) -> None:
        """Have the others learn this, where this is the first of several."""
        if self.leads:
            self._send_bytes(_LESSON, json.dumps(asdict(lesson.plan)).encode())
            self._send_bytes(_LESSON, packed(lesson.clips))

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
            torch.save(on_processor(state), file)
            self._send_bytes(_STATE, file.getvalue())

    def dismiss(self) -> None:
        """Let the others end, where this is the first of several, and leave the team."""
        if self._group is None:
            return
        try:
            if self.leads:
                self._send(torch.tensor([_END, 0, 0]))
        finally:
            self._group.shutdown()
            self._group = None

    # ---- what the others hear

    def hear(self) -> Lesson | Step | dict[str, Any] | None:
        """The next lesson, step or state the first tells of; None when it is over. Raises TeamLost where it is lost."""
        kind, number, count = self._heading()
        if kind == _LESSON:
            plan = TrainingPlan(**json.loads(self._received_bytes(count)))
            return Lesson(unpacked(self._received_bytes(self._heading()[2])), plan)
        if kind == _STEP:
            pieces = self._received(torch.zeros((count, 2), dtype=torch.int64)).tolist()
            rate_share = float(self._received(torch.zeros(1, dtype=torch.float64)))
            return Step(number, [(clip, first) for clip, first in pieces], rate_share)
        if kind == _STATE:
            data = io.BytesIO(self._received_bytes(count))
            state: dict[str, Any] = torch.load(data, map_location="cpu", weights_only=True)
            return state
        return None

    def _heading(self) -> tuple[int, int, int]:
        kind, number, count = (int(one) for one in self._received(torch.zeros(3, dtype=torch.int64)))
        return kind, number, count

    def _send_bytes(self, kind: int, data: bytes) -> None:
        self._send(torch.tensor([kind, 0, len(data)]))
        self._send(torch.frombuffer(bytearray(data), dtype=torch.uint8))

    def _received_bytes(self, count: int) -> bytes:
        return self._received(torch.zeros(count, dtype=torch.uint8)).numpy().tobytes()

    def _send(self, tensor: Tensor) -> None:
        self._received(tensor)

    def _received(self, tensor: Tensor) -> Tensor:
        assert self._group is not None
        with _understood():
            self._group.broadcast(tensor, 0).wait()
        return tensor


ALONE = Team()


def form_team(store: "Store", place: int, size: int, address: str) -> Team:
    """A team of `size`, whose members all do this; it waits for them.

    address: of this process, as the others reach it, which anybody who does can disturb: so only in a network of one's
    own. Raises TeamLost where one does not come.
    """
    if size == 1:
        return ALONE
    # the process group itself, since torch's functions around it keep one team in a process, and look for the address
    # in the name of the machine
    gloo: Any = distributed.ProcessGroupGloo
    options = gloo._Options()
    options._devices = [gloo.create_device(hostname=address)]
    options._timeout = _MEETING
    with _understood():
        group = gloo(store, place, size, options)
        group.set_timeout(_WAIT)
    return Team(place, size, group)


@contextmanager
def _understood() -> Iterator[None]:
    """What torch says of others that are lost, as an error of ours."""
    try:
        yield
    except (RuntimeError, ValueError) as cause:
        text = "A process that learned the same voice was lost. Start the training again: it goes on where it was."
        raise TeamLost(text) from cause
