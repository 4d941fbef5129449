"""One of several processes that learn a voice together, beside the first.

It reads what it is to do as a line of JSON on stdin, and ends with the team, or with its stdin. It reads and writes no
files: what it learns from, the first tells it.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from engine.devices import working_device
from engine.errors import TeamLost
from engine.networks.base import load_base
from engine.training.distributed.rendezvous import begin_team, join_team, store_on_disk
from engine.training.distributed.team import ALONE, Lesson, Step, Team
from engine.training.fine_tuning import FineTuning

# brings so many processes together, of which this one is the first, to learn on this device
Gather = Callable[[int, str], AbstractContextManager[Team]]
_PATIENCE_S = 120.0  # for a process to start, on a busy machine
_ENDED_WITHIN_S = 20.0


@dataclass(frozen=True)
class Membership:
    """What a member is told. meeting: the file of the team's store; device: see `engine.devices.choose_device`."""

    meeting: str
    device: str
    threads: int


def follow(team: Team, device: str) -> None:
    """Do what the first of the team tells of, until it is over; GPUs are dealt out in turn.

    Raises TeamLost where the first is lost, and SettingsError for a device that does not work.
    """
    chosen = working_device(device).of_several(team.place)
    tuning: FineTuning | None = None
    while (told := team.hear()) is not None:
        if isinstance(told, Lesson):
            base = load_base(device=chosen.torch_device)
            tuning = FineTuning(base, told.clips, told.plan, team, chosen.precision)
            continue
        assert tuning is not None  # the lesson comes first
        if isinstance(told, Step):
            tuning.step(told.number, told.pieces, told.rate_share)
        else:
            tuning.restore(told)


@contextmanager
def team_of_this_machine(processes: int, device: str) -> Iterator[Team]:
    """A team of so many processes, this one the first; each has its share of the threads this one may use.

    Raises TeamLost.
    """
    if processes == 1:
        yield ALONE
        return
    threads = torch.get_num_threads()
    share = max(1, threads // processes)
    with tempfile.TemporaryDirectory() as folder:
        meeting = Path(folder) / "meeting"
        members = [_started(Membership(str(meeting), device, share)) for _ in range(processes - 1)]
        torch.set_num_threads(share)
        try:
            store = store_on_disk(meeting)
            with led(begin_team(store, lambda: _living(members), _PATIENCE_S)) as team:
                yield team
        finally:
            torch.set_num_threads(threads)
            for member in members:
                _end(member)


@contextmanager
def led(team: Team) -> Iterator[Team]:
    """The team, whose others are dismissed at the end, however it comes."""
    try:
        yield team
    finally:
        with suppress(TeamLost):  # they are lost already
            team.dismiss()


def _started(order: Membership) -> "subprocess.Popen[bytes]":
    numbers = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(order.threads))
    environment = {**os.environ, **numbers, "OMP_WAIT_POLICY": "PASSIVE"}
    command = [sys.executable, "-P", "-m", "engine.training.distributed.team_member"]
    member = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
    assert member.stdin is not None
    with suppress(OSError):  # dead already, which is seen at the meeting
        member.stdin.write((json.dumps(asdict(order)) + "\n").encode())
        member.stdin.flush()
    return member


def _living(members: "list[subprocess.Popen[bytes]]") -> int:
    return sum(member.poll() is None for member in members)


def _end(member: "subprocess.Popen[bytes]") -> None:
    with suppress(OSError):
        if member.stdin:
            member.stdin.close()
    try:
        member.wait(_ENDED_WITHIN_S)
    except subprocess.TimeoutExpired:
        member.kill()
        member.wait()


def main() -> int:
    """Follow until the team is over; the exit status."""
    order = Membership(**json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    torch.set_num_threads(order.threads)
    try:
        team = join_team(store_on_disk(Path(order.meeting)))
        if team is not None:
            follow(team, order.device)
            team.dismiss()
    except TeamLost:
        return 1  # the first is lost, and who needs to know does
    return 0


def _end_with_stdin() -> None:
    """Whoever started this holds its stdin open as long as he lives."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
