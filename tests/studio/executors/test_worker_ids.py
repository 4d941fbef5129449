"""Who is dead and who is not, by processes that really are."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from studio.executors.worker_ids import dead_among, owner_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="only Linux tells when a process began")


@pytest.fixture
def process():
    running = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield running
    running.kill()
    running.communicate()


def test_dead_among_leaves_out_living_processes(process):
    assert dead_among([owner_of(os.getpid()), owner_of(process.pid)]) == []


def test_dead_among_counts_a_killed_process_before_and_after_it_is_reaped(process):
    owner = owner_of(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, and still in the table of processes
    assert dead_among([owner]) == [owner]
    process.wait()
    assert dead_among([owner]) == [owner]


def test_dead_among_counts_an_earlier_process_with_the_same_pid(process):
    machine, process_began, name = owner_of(process.pid).split("/")
    pid, began = process_began.split(".")
    earlier = f"{machine}/{pid}.{int(began) - 1}/{name}"
    assert dead_among([earlier]) == [earlier]


@pytest.mark.parametrize(
    "owner", ["", "/", "elsewhere/1.1/ab", "worker", "/1.1/ab", "é/x.y/z", "{machine}/x.1/a", "{machine}/1/a"]
)
def test_dead_among_leaves_out_foreign_and_malformed_owners(owner):
    machine = owner_of(os.getpid()).split("/")[0]
    assert dead_among([owner.format(machine=machine)]) == []


def test_owner_of_returns_unique_ids_of_at_most_100_characters(process):
    owners = {owner_of(process.pid) for _ in range(5)}
    assert len(owners) == 5
    assert max(map(len, owners)) <= 100
