"""One of several processes that learn a voice together, beside the first: `python -m engine.team_member`.

It reads what it is to do as a line of JSON on stdin, and ends with the team, or with its stdin. It writes no files.
"""

import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from engine.base import load_base
from engine.clips import Clip
from engine.dataset import Dataset, load_dataset
from engine.errors import TeamLost
from engine.fine_tuning import FineTuning
from engine.team import ALONE, Step, Team, join_team
from engine.training_plan import TrainingPlan

_ENDED_WITHIN_S = 20.0


@dataclass(frozen=True)
class Membership:
    """What a member is told. dataset: the folder of the recordings; address: see `engine.team.join_team`."""

    dataset: str
    plan: dict[str, Any]
    address: str
    place: int
    size: int
    threads: int


def follow(clips: Sequence[Clip], plan: TrainingPlan, team: Team) -> None:
    """Take the steps that the first of the team tells of, until it is over; clips: those it learns from.

    Raises TeamLost where the first is lost.
    """
    tuning = FineTuning(load_base(), clips, plan, team)
    while (told := team.hear()) is not None:
        if isinstance(told, Step):
            tuning.step(told.number, told.pieces, told.rate_share)
        else:
            tuning.restore(told)


@contextmanager
def team_of_this_machine(dataset: Dataset, plan: TrainingPlan, processes: int) -> Iterator[Team]:
    """A team of so many processes, this one the first, which learn from a dataset that is analysed already.

    Each has its share of the threads this process may use. Raises TeamLost.
    """
    if processes == 1:
        yield ALONE
        return
    threads = torch.get_num_threads()
    share = max(1, threads // processes)
    with tempfile.TemporaryDirectory() as folder:
        address = f"file://{folder}/meeting"
        orders = [
            Membership(str(dataset.folder), asdict(plan), address, place, processes, share)
            for place in range(1, processes)
        ]
        members = [_started(order) for order in orders]
        torch.set_num_threads(share)
        try:
            team = join_team(address, 0, processes)
            try:
                yield team
            finally:
                with suppress(TeamLost):  # they are lost already
                    team.dismiss()
        finally:
            torch.set_num_threads(threads)
            for member in members:
                _end(member)


def _started(order: Membership) -> "subprocess.Popen[bytes]":
    numbers = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(order.threads))
    # what is said between processes of one machine stays on it
    environment = {**os.environ, **numbers, "GLOO_SOCKET_IFNAME": "lo", "OMP_WAIT_POLICY": "PASSIVE"}
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    command = [sys.executable, "-P", "-m", "engine.team_member"]
    member = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment)
    assert member.stdin is not None
    with suppress(OSError):  # dead already, which the first meeting tells
        member.stdin.write((json.dumps(dataclasses.asdict(order)) + "\n").encode())
        member.stdin.flush()
    return member


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
    from engine.training import learned_clips, usable_clips

    order = Membership(**json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    torch.set_num_threads(order.threads)
    plan = TrainingPlan(**order.plan)
    clips = learned_clips(usable_clips(load_dataset(Path(order.dataset))), plan)
    team = join_team(order.address, order.place, order.size)
    try:
        follow(clips, plan, team)
    except TeamLost:
        return 1  # the first is lost, and who needs to know does
    team.dismiss()
    return 0


def _end_with_stdin() -> None:
    """Whoever started this holds its stdin open as long as he lives."""
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main())
