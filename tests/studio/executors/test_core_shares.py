"""Shares of the cores: how they are divided, and how processes learn of each other."""

import os
import signal
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from studio.executors import core_shares
from studio.executors.core_shares import CONVERSIONS, LIVE, TRAININGS, CoreShare, CoreShares, divided
from tests.waiting import wait_until

CORES = 8
WORKS = """
import sys
from pathlib import Path
from studio.executors.core_shares import CONVERSIONS, CoreShare
share = CoreShare(Path(sys.argv[1]), int(sys.argv[2]), CONVERSIONS)
with share.at_work():
    print("at work", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def cores(monkeypatch):
    monkeypatch.setattr(core_shares, "usable_cores", lambda: CORES)
    with closing(CoreShares()) as shares:
        yield shares


def share(cores: CoreShares, kind: str, most: int = 0) -> CoreShare:
    return CoreShare(cores.path, cores.enter(), kind, most)


@pytest.mark.parametrize(
    ("at_work", "cores", "most", "conversions", "trainings", "live"),
    [
        ((0, 0, 0), 8, 0, (), (), ()),
        ((1, 0, 0), 8, 0, (8,), (), ()),
        ((3, 0, 0), 8, 0, (3, 3, 2), (), ()),
        ((0, 1, 0), 8, 0, (), (8,), ()),
        ((0, 2, 0), 8, 0, (), (4, 4), ()),
        ((1, 1, 0), 8, 0, (8,), (1,), ()),  # which yields by its priority
        ((1, 1, 0), 8, 3, (3,), (3,), ()),
        ((1, 2, 0), 8, 3, (3,), (3, 2), ()),
        ((1, 1, 1), 8, 0, (6,), (1,), (2,)),
        ((2, 1, 2), 8, 0, (2, 2), (1,), (2, 2)),
        ((0, 1, 1), 8, 0, (), (6,), (2,)),
        ((1, 1, 1), 2, 0, (1,), (1,), (2,)),  # all must get on
        ((4, 0, 0), 2, 0, (1, 1, 1, 1), (), ()),
        ((1, 0, 1), 1, 0, (1,), (), (1,)),
    ],
)
def test_divided_gives_all_to_one_and_shares_to_several(at_work, cores, most, conversions, trainings, live):
    found = divided(*at_work, cores=cores, most=most)
    assert (found.conversions, found.trainings, found.live) == (conversions, trainings, live)


def test_a_conversion_alone_has_all_cores_and_shares_them_as_soon_as_another_begins(cores):
    first, second = share(cores, CONVERSIONS), share(cores, CONVERSIONS)
    with first.at_work():
        assert first.threads() == CORES
        with second.at_work():
            assert (first.threads(), second.threads()) == (4, 4)
        assert first.threads() == CORES
    assert cores.division().conversions == ()


def test_cores_that_cannot_be_divided_equally_are_all_in_use(cores):
    shares = [share(cores, CONVERSIONS) for _ in range(3)]
    with ExitStack() as stack:
        for one in shares:
            stack.enter_context(one.at_work())
        assert [one.threads() for one in shares] == [3, 3, 2]


def test_a_training_yields_to_conversions_and_gets_its_cores_back(cores):
    training, conversion = share(cores, TRAININGS), share(cores, CONVERSIONS)
    with training.at_work():
        assert training.threads() == CORES
        with conversion.at_work():
            assert (training.threads(), conversion.threads()) == (1, CORES)
        assert training.threads() == CORES


def test_a_live_session_takes_two_cores_from_the_others_until_it_ends(cores):
    conversion = share(cores, CONVERSIONS)
    with conversion.at_work():
        place = cores.enter(LIVE)
        assert conversion.threads() == CORES - 2
        assert cores.division().live == (2,)
        cores.leave(place)
        assert conversion.threads() == CORES


def test_shares_keep_to_the_most_that_the_settings_allow(cores):
    one = share(cores, CONVERSIONS, most=2)
    with one.at_work():
        assert one.threads() == 2


def test_a_place_that_was_left_is_given_to_the_next(cores):
    assert [cores.enter(), cores.enter(), cores.enter()] == [0, 1, 2]
    cores.leave(1)
    assert [cores.enter(), cores.enter()] == [1, 3]


def test_more_processes_than_places_compute_by_themselves(cores):
    last = [cores.enter() for _ in range(core_shares._PLACES + 1)][-1]
    beyond = CoreShare(cores.path, last, CONVERSIONS)
    with beyond.at_work():
        assert beyond.threads() == 1
    cores.leave(last)


def test_the_share_of_a_killed_process_goes_back(cores):
    mine, place = share(cores, CONVERSIONS), cores.enter()
    command = [sys.executable, "-c", WORKS, str(cores.path), str(place)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as other:
        assert other.stdout.readline() == b"at work\n"
        with mine.at_work():
            assert mine.threads() == CORES // 2
            os.kill(other.pid, signal.SIGKILL)
            other.wait()
            cores.leave(place)  # as the executor does, which looks after its processes
            assert mine.threads() == CORES


def test_closing_removes_the_file_and_spoils_nothing_that_goes_on():
    cores = CoreShares()
    place, path = cores.enter(LIVE), cores.path
    still = CoreShare(path, cores.enter(), CONVERSIONS)
    cores.close()
    assert not path.exists()
    cores.leave(place)
    with still.at_work():
        assert still.threads() >= 1


def test_the_executor_gives_back_the_share_of_a_worker_that_was_killed(installation, tmp_path, cores):
    at_work = tmp_path / "at_work.py"
    at_work.write_text(
        "import json, sys, pathlib\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[3])!r})\n"
        "from studio.executors.core_shares import CoreShare\n"
        "order = json.loads(sys.stdin.readline())\n"
        "with CoreShare(pathlib.Path(order['cores']), order['place'], 'conversions').at_work(): sys.stdin.read()\n"
    )
    with installation.executor([sys.executable, str(at_work)], conversion_workers=2, threads=0) as executor:
        wait_until(lambda: executor._cores.division().conversions == (4, 4))
        executor._lanes["conversions"].workers[0].popen.kill()
        wait_until(lambda: executor.alive()["restarts"] == 1)
        wait_until(lambda: executor._cores.division().conversions == (4, 4))  # with the one in its place, and no third
        assert sum(map(len, (lane.workers for lane in executor._lanes.values()))) == 2
