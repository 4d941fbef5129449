"""Actions in processes of their own: real ones, on a studio of the test's own."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.errors import ProfileError
from studio.actions.uploads import scratch_folder
from studio.errors import DiskFull, Invalid, Unavailable
from studio.executors.action_processes import LONG_S, ApartActions, lower_priority
from studio.settings.environment import load_settings
from studio.settings.service import ServiceSettings
from studio.store.studio import Cost, Studio, costs, open_studio
from tests.waiting import PATIENCE_S, wait_until

FAMILY = """
import subprocess, sys, threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
child = subprocess.Popen([sys.executable, "-c", "import time; print(1, flush=True); time.sleep(600)"])
print(child.pid, flush=True)
child.wait()
"""


# ---- what the processes do: they import this module


def whereabouts(studio: Studio, *given: str, **options: str) -> tuple:
    return os.getpid(), studio.local, studio.settings, os.environ["OMP_NUM_THREADS"], given, options


@costs(Cost.WARM)
def stay_long(studio: Studio, seconds: float) -> int:
    time.sleep(seconds)
    return os.getpid()


def say_where_and_hang(studio: Studio, place: Path) -> None:
    (place / "pid.part").write_text(str(os.getpid()))
    (place / "pid.part").rename(place / "pid")
    threading.Event().wait(PATIENCE_S)


def receive_and_hang(studio: Studio, place: Path) -> None:
    with scratch_folder(studio) as folder:
        (folder / "recording").write_bytes(b"half of it")
        say_where_and_hang(studio, place)


def refuse(studio: Studio, kind: str) -> None:
    raise {
        "invalid": Invalid([("name", "Give a name."), ("age", "Give an age.")], "some_code"),
        "profile": ProfileError([("name", "Give a name.")]),
        "later": Unavailable("Not now.", 7.5, "busy"),
        "full": OSError(28, "No space left on device"),
        "bug": ZeroDivisionError("a bug"),
    }[kind]


# ---- tests


@pytest.fixture
def woken() -> list[bool]:
    """How often the workers were woken."""
    return []


@pytest.fixture
def studio(home: Path, woken: list[bool]) -> Iterator[Studio]:
    opened = open_studio(load_settings(), ServiceSettings(free_disk_mb=0))
    apart = ApartActions(replace(opened, wake=lambda: woken.append(True)))
    yield replace(opened, submit=apart.submit)
    apart.close()
    opened.close()


def test_apart_actions_run_in_one_process_that_is_not_this_and_wake_the_workers(studio, woken):
    asked = [studio.apart(studio.local, whereabouts, "a", b="c") for _ in range(2)]
    (pid, local, settings, threads, given, options), again = (one.result(PATIENCE_S) for one in asked)
    assert (local, settings, given, options) == (studio.local, studio.settings, ("a",), {"b": "c"})
    assert int(threads) >= 1
    assert pid == again[0] != os.getpid()
    assert len(woken) == 2


def test_apart_actions_raise_the_errors_of_the_action(studio):
    def error_of(kind: str) -> BaseException | None:
        return studio.apart(studio.local, refuse, kind).exception(PATIENCE_S)

    invalid, profile, later = (error_of(kind) for kind in ("invalid", "profile", "later"))
    assert isinstance(invalid, Invalid)
    assert (invalid.code, invalid.problems) == ("some_code", (("name", "Give a name."), ("age", "Give an age.")))
    assert isinstance(profile, ProfileError)
    assert (str(profile), profile.problems) == ("Give a name.", (("name", "Give a name."),))
    assert isinstance(later, Unavailable)
    assert (str(later), later.retry_after_s) == ("Not now.", 7.5)
    assert isinstance(error_of("full"), DiskFull)
    bug = error_of("bug")
    assert isinstance(bug, RuntimeError)
    assert "ZeroDivisionError: a bug" in str(bug)  # for the log; a client is told nothing of it


def test_warm_actions_share_one_process_that_long_ones_do_not_end(studio):
    other = studio.apart(studio.local, whereabouts).result(PATIENCE_S)[0]
    asked = (studio.apart(studio.local, stay_long, seconds) for seconds in (0.0, LONG_S + 0.2, 0.0))
    first, long, last = (one.result(PATIENCE_S) for one in asked)
    assert first == long == last != other


def test_apart_actions_go_on_after_a_killed_process(studio, tmp_path):
    hanging = studio.apart(studio.local, say_where_and_hang, tmp_path)
    wait_until((tmp_path / "pid").exists)
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    error = hanging.exception(PATIENCE_S)
    assert isinstance(error, Unavailable)
    assert error.code == "interrupted"
    assert studio.apart(studio.local, whereabouts).result(PATIENCE_S)


def test_apart_actions_delete_what_a_killed_process_was_receiving_and_nothing_else(studio, tmp_path):
    """It lay in `incoming` for an hour, or until the next start."""
    incoming = studio.settings.work / "incoming"
    with scratch_folder(studio) as own:
        hanging = studio.apart(studio.local, receive_and_hang, tmp_path)
        wait_until((tmp_path / "pid").exists)
        assert len(list(incoming.iterdir())) == 2
        os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
        assert isinstance(hanging.exception(PATIENCE_S), Unavailable)
        assert list(incoming.iterdir()) == [own]


def test_apart_actions_kill_a_process_that_takes_too_long(home, tmp_path):
    opened = open_studio(load_settings(), ServiceSettings(free_disk_mb=0, stalled_minutes=0.02))
    impatient = ApartActions(opened)
    studio = replace(opened, submit=impatient.submit)
    error = studio.apart(studio.local, say_where_and_hang, tmp_path).exception(PATIENCE_S)
    assert isinstance(error, Unavailable)
    assert error.code == "took_too_long"
    pid = (tmp_path / "pid").read_text() if (tmp_path / "pid").exists() else "0"
    wait_until(lambda: not int(pid) or not psutil.pid_exists(int(pid)))
    impatient.close()
    opened.close()


def niceness(studio: Studio) -> tuple[int, int]:
    return os.getpid(), os.getpriority(os.PRIO_PROCESS, 0)


def take_long(studio: Studio) -> tuple[int, int]:
    end_s = time.monotonic() + PATIENCE_S
    while os.getpriority(os.PRIO_PROCESS, 0) < 19 and time.monotonic() < end_s:
        time.sleep(0.05)
    return niceness(studio)


@pytest.mark.skipif(not hasattr(os, "getpriority"), reason="Windows has no such priorities")
def test_apart_actions_that_take_long_yield_to_others_and_none_after_them_does(studio):
    before, nice = studio.apart(studio.local, niceness).result(PATIENCE_S)
    assert nice < 19
    assert studio.apart(studio.local, take_long).result(PATIENCE_S) == (before, 19)
    # none can raise its own priority again: the next action has a new process
    after, again = studio.apart(studio.local, niceness).result(PATIENCE_S)
    assert (again, after != before) == (nice, True)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show what a process has started")
def test_lower_priority_reaches_threads_and_processes_that_run_already():
    with subprocess.Popen([sys.executable, "-c", FAMILY], stdout=subprocess.PIPE, text=True) as family:
        child = int(family.stdout.readline())
        threads = wait_until(lambda: (found := os.listdir(f"/proc/{family.pid}/task")) and len(found) > 1 and found)
        lower_priority(family.pid)
        assert {os.getpriority(os.PRIO_PROCESS, int(one)) for one in threads} == {19}
        assert os.getpriority(os.PRIO_PROCESS, child) == 19
        assert os.getpriority(os.PRIO_PROCESS, 0) != 19
        os.kill(child, 9)
    lower_priority(family.pid)  # which has ended
