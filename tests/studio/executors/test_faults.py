"""What happens when things break at the worst moment: real processes, really killed, in the middle of real work.

Each time nothing may be lost and nothing published twice: a task ends once, with the files that its row names and no
others.
"""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from engine.training_history import read_history
from engine.voice import load_voice
from studio import tasks
from studio.executors import local
from studio.executors.local import CONVERSIONS, environment_of
from studio.executors.recovery import recover
from studio.executors.work import run_task

LONG_S = 20.0  # of sound, which takes some seconds to convert
SERVER = """
    import json, sys
    from pathlib import Path
    import structlog
    from studio.executors.local import LocalExecutor
    from studio.service_settings import ServiceSettings
    from studio.settings import Settings
    executor = LocalExecutor(Settings(Path(sys.argv[1])), ServiceSettings(**json.loads(sys.argv[2])), structlog.get_logger())
    executor.start()
    sys.stdin.read()
    executor.stop()
"""  # noqa: E501


def begun(installation, task_id):
    """Wait until a task is in the middle of its work."""
    return installation.eventually(lambda: installation.task(task_id).progress > 0.05 and installation.task(task_id))


def pid_of(task) -> int:
    """The process that has a task, as its signature says."""
    return int(task.owner.split("/")[1].split(".")[0])


def was_done_once(installation, task) -> bool:
    """Whether there are exactly the files that the row names, of its last claim."""
    named = [f"tasks/{task.id}/{task.fence}/take-1.wav"]
    return task.state == "completed" and task.result["outputs"] == named == installation.results(task.id)


def start_server(installation, **service) -> subprocess.Popen:
    """An executor in a process of its own, which leads a group of processes."""
    settings = json.dumps(asdict(replace(installation.service, **service)))
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SERVER), str(installation.settings.data), settings],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment_of(1),
        start_new_session=True,
    )


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"


# ---- killed


def test_a_killed_worker_is_replaced_and_its_task_done_once(installation):
    task_id = installation.submit_conversion(LONG_S)
    with installation.executor(lease_s=60.0) as executor:  # it is not the lease that tells
        os.kill(pid_of(begun(installation, task_id)), signal.SIGKILL)
        task = installation.wait_for(task_id, "completed")
        assert (task.fence, task.attempt) == (2, 2)
        assert was_done_once(installation, task)
        alive = executor.alive()
        assert (alive["workers"], alive["restarts"]) == (1, 1)
        installation.eventually(lambda: not list(installation.settings.work.iterdir()))


def test_a_task_that_kills_its_worker_again_and_again_fails_with_the_reason(installation):
    program = installation.settings.data / "dies.py"
    program.write_text(
        "import json, os, sys, time\n"
        "from studio import tasks\n"
        "from studio.database import open_database\n"
        "order = json.loads(sys.stdin.readline())\n"
        "database = open_database('sqlite:///' + order['data'] + '/studio.sqlite')\n"
        "while not tasks.claim(database, order['owner'], ['conversion'], 60.0): time.sleep(0.1)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    task_id = installation.submit_conversion()
    with installation.executor([sys.executable, str(program)], attempts=2) as executor:
        task = installation.wait_for(task_id, "failed")
        assert (task.error_code, task.fence, task.attempt) == ("worker_lost", 2, 2)
        assert "2 times" in task.error
        assert installation.results(task_id) == []
        assert executor.alive()["restarts"] == 2


def test_a_killed_server_with_ten_tasks_waiting_loses_none_and_does_none_twice(installation):
    # first the server alone: its worker notices, gives its task back and ends
    first = installation.submit_conversion(LONG_S)
    server = start_server(installation, lease_s=60.0)
    worker = pid_of(begun(installation, first))
    os.kill(server.pid, signal.SIGKILL)
    server.communicate()
    task = installation.wait_for(first, "queued")
    assert (task.attempt, task.fence) == (0, 1)
    installation.eventually(lambda: is_gone(worker))

    # then it with all its processes, in the middle of the second of eleven tasks
    ten = [installation.submit_conversion(4.0) for _ in range(10)]
    server = start_server(installation, lease_s=60.0)
    begun(installation, installation.wait_for(first, "completed") and ten[0])
    os.killpg(server.pid, signal.SIGKILL)
    server.communicate()
    states = [installation.task(task_id).state for task_id in ten]
    assert states.count("queued") >= 8

    server = start_server(installation, lease_s=60.0)  # so long it would wait if it could not tell who is dead
    done = [installation.wait_for(task_id, "completed", seconds=30.0) for task_id in (first, *ten)]
    server.communicate()  # the end of its stdin ends it
    assert server.returncode == 0
    assert all(was_done_once(installation, task) for task in done)
    assert sum(task.fence for task in done) <= 13  # claimed once each, and twice what was begun when it was killed


def test_a_killed_training_goes_on_from_its_checkpoint(installation, recordings, short_foreign):
    voice = installation.create_voice(recordings)  # which has had an epoch of two steps
    learned = installation.settings.data / "learned"
    program = installation.program(f"""
        import pathlib
        import engine.audition
        import engine.training
        engine.audition.FOREIGN = pathlib.Path({str(short_foreign)!r})
        learn = engine.training._Training._learn
        def note(self, pieces):
            with open({str(learned)!r}, "a") as file:
                file.write(f"{{self.step}}\\n")
            learn(self, pieces)
        engine.training._Training._learn = note
    """)
    task_id = installation.submit_training(voice.id, 6, save_s=0.0)
    with installation.executor(program, lease_s=60.0) as executor:
        installation.eventually(lambda: installation.model(voice.id).epoch >= 3)
        os.kill(pid_of(installation.task(task_id)), signal.SIGKILL)
        task = installation.wait_for(task_id, "completed", seconds=60.0)
        assert (task.fence, executor.alive()["restarts"]) == (2, 1)
    model = installation.model(voice.id)
    assert (model.state, model.epoch, model.epochs) == ("completed", 6, 6)
    history = read_history(installation.settings.datasets / voice.id / "training")
    assert [line["epoch"] for line in history.epochs] == [1, 2, 3, 4, 5, 6]
    steps = [int(line) for line in learned.read_text().split()]
    assert sorted(set(steps)) == list(range(2, 12))
    assert len(steps) <= 11  # at most the one that it was killed in was done twice
    assert load_voice(voice.id, installation.settings.voices)


# ---- silent


def test_a_worker_that_was_stopped_and_comes_back_publishes_nothing(installation):
    task_id = installation.submit_conversion(LONG_S)
    with installation.worker(lease_s=1.0) as worker:
        first = begun(installation, task_id)
        os.kill(worker.pid, signal.SIGSTOP)
        is_back = lambda: recover(installation.database, 3) or installation.task(task_id).state == "queued"  # noqa: E731
        installation.eventually(is_back)
        assert run_task(installation.bench(), installation.claim()) == "completed"
        before = installation.task(task_id)
        os.kill(worker.pid, signal.SIGCONT)
        second = installation.submit_conversion(1.0)
        installation.wait_for(second, "completed")  # by the worker that came back: it is done with the first
        assert (installation.task(task_id), first.fence) == (before, 1)
        assert was_done_once(installation, before)
        worker.stdin.close()
        assert worker.wait(10) == 0


@pytest.mark.slow
def test_a_worker_that_is_not_heard_of_is_ended_and_its_task_done_by_another(installation):
    task_id = installation.submit_conversion(LONG_S)
    with installation.executor(lease_s=1.0) as executor:
        stopped = pid_of(begun(installation, task_id))
        os.kill(stopped, signal.SIGSTOP)
        task = installation.wait_for(task_id, "completed")
        assert task.fence == 2
        assert was_done_once(installation, task)
        assert is_gone(stopped)
        assert executor.alive()["restarts"] == 1


@pytest.mark.slow
def test_a_worker_that_does_not_hear_of_a_cancellation_is_ended(installation, monkeypatch):
    monkeypatch.setitem(local._CANCEL_PATIENCE_S, CONVERSIONS, 0.5)
    task_id = installation.submit_conversion(LONG_S)
    with installation.executor(lease_s=60.0):
        stopped = pid_of(begun(installation, task_id))
        os.kill(stopped, signal.SIGSTOP)
        tasks.request_cancel(installation.database, installation.account.id, task_id)
        installation.wait_for(task_id, "cancelled")
        assert is_gone(stopped)
        assert installation.results(task_id) == []


# ---- asked to end


def test_a_worker_that_is_asked_to_end_gives_back_what_it_cannot_finish(installation):
    task_id = installation.submit_conversion(LONG_S)
    with installation.worker(grace_s=0.0) as worker:
        begun(installation, task_id)
        os.kill(worker.pid, signal.SIGINT)  # Ctrl-C on a terminal reaches it too, and is the server's to act on
        worker.stdin.close()
        assert worker.wait(10) == 0
    task = installation.task(task_id)
    assert (task.state, task.attempt, installation.results(task_id)) == ("queued", 0, [])
    assert not list(installation.settings.work.iterdir())


def test_a_worker_that_is_asked_to_end_finishes_what_it_can(installation):
    task_id = installation.submit_conversion(LONG_S)
    with installation.worker(grace_s=60.0) as worker:
        begun(installation, task_id)
        os.kill(worker.pid, signal.SIGTERM)
        assert worker.wait(30) == 0
    assert was_done_once(installation, installation.task(task_id))


# ---- out of reach


@pytest.mark.parametrize("locked_s", [2.5, pytest.param(6.5, marks=pytest.mark.slow)])  # 5 s is how long others wait
def test_a_database_that_is_locked_for_longer_than_a_lease_costs_nothing(installation, locked_s):
    task_id = installation.submit_conversion(LONG_S)
    with installation.executor(lease_s=1.0) as executor:
        begun(installation, task_id)
        other = sqlite3.connect(installation.settings.data / "studio.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        time.sleep(locked_s)
        other.execute("ROLLBACK")
        other.close()
        task = installation.wait_for(task_id, "completed")
        assert was_done_once(installation, task)
        assert (task.fence, executor.alive()["restarts"]) == (1, 0)


def test_a_full_disk_is_said_and_the_next_task_is_done_once_there_is_room(installation):
    work = installation.settings.work
    work.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(work)]
    if os.geteuid() or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small disk, and not everywhere")
    try:
        task_id = installation.submit_conversion(10.0)
        assert run_task(installation.bench(), installation.claim()) == "failed"
        assert "full" in installation.task(task_id).error
        assert installation.results(task_id) == list(work.iterdir()) == []
    finally:
        subprocess.run(["umount", str(work)], check=True)
    task_id = installation.submit_conversion(10.0)
    assert run_task(installation.bench(), installation.claim()) == "completed"


def test_a_machine_whose_clock_is_wrong_works_like_any_other(installation):
    """Its leases are the database's; with PostgreSQL that is another machine's clock."""
    program = installation.program("""
        import time
        right = time.time
        time.time = lambda: right() + 86_400.0
    """)
    task_id = installation.submit_conversion(LONG_S)
    with installation.worker(command=program, lease_s=2.0):
        begun(installation, task_id)
        time.sleep(2.0)
        assert recover(installation.database, 3) == []
        task = installation.wait_for(task_id, "completed")
    assert task.fence == 1
    assert abs(task.finished_at - time.time()) < 60.0
