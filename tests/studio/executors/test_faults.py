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

from engine.training.history import read_history
from engine.voices.voice import load_voice
from studio.executors.local import CONVERSIONS
from studio.executors.process import environment_of
from studio.executors.recovery import recover
from studio.executors.work import run_task
from studio.store import tasks
from studio.store.kinds import LANES
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.system

SERVER = """
    import json, sys
    from pathlib import Path
    import structlog
    from studio.executors.local import LocalExecutor
    from studio.settings.service import ServiceSettings
    from studio.settings.environment import Settings
    data, service, command = sys.argv[1:]
    settings = Settings(Path(data)), ServiceSettings(**json.loads(service))
    executor = LocalExecutor(*settings, structlog.get_logger(), json.loads(command))
    executor.start()
    sys.stdin.read()
    executor.stop()
"""


@pytest.fixture
def held(installation) -> str:
    """A conversion whose worker, of `slow_program`, stays in the middle of it until the file `hold` is gone."""
    installation.hold.touch()
    return installation.submit_conversion()


def begun(installation, task_id):
    """Wait until a task is in the middle of its work."""
    return wait_until(lambda: installation.task(task_id).progress > 0.3 and installation.task(task_id))


def pid_of(task) -> int:
    """The process that has a task, as its signature says."""
    return int(task.owner.split("/")[1].split(".")[0])


def was_done_once(installation, task) -> bool:
    """Whether there are exactly the files that the row names, of its last claim."""
    if task.state != "completed" or task.result["outputs"] != [f"tasks/{task.id}/{task.fence}/take-1.wav"]:
        return False
    return installation.results(task.id) == installation.named(task)


def start_server(installation, **service) -> subprocess.Popen:
    """An executor in a process of its own, which leads a group of processes, and does one conversion at a time.

    By itself it starts a second worker where tasks wait long enough, as they do on a slow machine.
    """
    settings = json.dumps(asdict(replace(installation.service, conversion_workers=1, **service)))
    given = [str(installation.settings.data), settings, json.dumps(installation.slow_program())]
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SERVER), *given],
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


def test_executor_replaces_a_killed_worker_and_completes_its_task_once(installation, held):
    with installation.executor(installation.slow_program(), lease_s=60.0) as executor:  # it is not the lease that tells
        os.kill(pid_of(begun(installation, held)), signal.SIGKILL)
        installation.hold.unlink()
        task = installation.wait_for(held, "completed")
        assert (task.fence, task.attempt) == (2, 2)
        assert was_done_once(installation, task)
        alive = executor.alive()
        assert (alive["workers"], alive["restarts"]) == (1, 1)
        assert not list(installation.settings.work.iterdir())


def test_executor_fails_a_task_with_worker_lost_after_all_attempts(installation):
    program = installation.settings.data / "dies.py"
    program.write_text(
        "import json, os, sys, time\n"
        "from studio.store import tasks\n"
        "from studio.store.database import open_database\n"
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


def test_killed_server_completes_every_queued_task_once_after_restart(installation, held):
    # first the server alone: its worker notices, gives its task back and ends
    server = start_server(installation, lease_s=60.0)
    worker = pid_of(begun(installation, held))
    os.kill(server.pid, signal.SIGKILL)
    server.communicate()
    task = installation.wait_for(held, "queued")
    assert (task.attempt, task.fence) == (0, 1)
    wait_until(lambda: is_gone(worker))

    # then with all its processes, in the middle of its work
    ten = [installation.submit_conversion() for _ in range(10)]
    installation.hold.unlink()
    server = start_server(installation, lease_s=60.0)
    installation.wait_for(ten[0], "completed")
    installation.hold.touch()
    wait_until(lambda: any(0.3 < installation.task(task_id).progress < 1.0 for task_id in ten))
    os.killpg(server.pid, signal.SIGKILL)
    server.communicate()
    states = [installation.task(task_id).state for task_id in ten]
    assert states.count("running") == 1
    assert states.count("queued") >= 5
    installation.hold.unlink()

    server = start_server(installation, lease_s=60.0)  # so long it would wait if it could not tell who is dead
    done = [installation.wait_for(task_id, "completed") for task_id in (held, *ten)]
    server.communicate()  # the end of its stdin ends it
    assert server.returncode == 0
    assert all(was_done_once(installation, task) for task in done)
    assert sum(task.fence for task in done) == 11 + 2  # claimed once each, and again what was not done


def test_executor_resumes_a_killed_training_from_its_checkpoint(installation, recordings, short_foreign):
    voice = installation.create_voice(recordings)  # which has had an epoch of two steps
    learned = installation.settings.data / "learned"
    program = installation.program(f"""
        import pathlib
        import engine.training.checkpoint_audition
        import engine.training.train
        engine.training.checkpoint_audition.FOREIGN = pathlib.Path({str(short_foreign)!r})
        learn = engine.training.train._Training._learn
        def note(self, pieces):
            with open({str(learned)!r}, "a") as file:
                file.write(f"{{self.step}}\\n")
            learn(self, pieces)
        engine.training.train._Training._learn = note
    """)
    task_id = installation.submit_training(voice.id, 3, save_s=0.0)
    with installation.executor(program, lease_s=60.0) as executor:
        wait_until(lambda: installation.model(voice.id).epoch >= 2)
        os.kill(pid_of(installation.task(task_id)), signal.SIGKILL)
        task = installation.wait_for(task_id, "completed")
        assert (task.fence, executor.alive()["restarts"]) == (2, 1)
    model = installation.model(voice.id)
    assert (model.state, model.epoch, model.epochs) == ("completed", 3, 3)
    history = read_history(installation.settings.datasets / voice.id / "training")
    assert [line["epoch"] for line in history.epochs] == [1, 2, 3]
    steps = [int(line) for line in learned.read_text().split()]
    assert sorted(set(steps)) == list(range(2, 6))
    assert len(steps) <= 5  # at most the one that it was killed in was done twice
    assert load_voice(voice.id, installation.settings.voices)


# ---- silent


def test_worker_paused_past_its_lease_publishes_no_result(installation, held):
    with installation.worker(command=installation.slow_program(), lease_s=1.0) as worker:
        begun(installation, held)
        os.kill(worker.pid, signal.SIGSTOP)
        installation.hold.unlink()
        recovered = lambda: recover(installation.database, 3) or installation.task(held).state == "queued"  # noqa: E731
        wait_until(recovered)
        assert run_task(installation.context(), installation.claim()) == "completed"
        before = installation.task(held)
        os.kill(worker.pid, signal.SIGCONT)
        second = installation.submit_conversion()
        installation.wait_for(second, "completed")  # by the worker that came back: it is done with the first
        assert installation.task(held) == before
        assert before.fence == 2
        assert was_done_once(installation, before)
        worker.stdin.close()
        assert worker.wait(PATIENCE_S) == 0


@pytest.mark.slow
def test_executor_kills_a_hung_worker_and_completes_its_task_with_another(installation, held):
    with installation.executor(installation.slow_program(), lease_s=1.0) as executor:
        stopped = pid_of(begun(installation, held))
        os.kill(stopped, signal.SIGSTOP)
        installation.hold.unlink()
        task = installation.wait_for(held, "completed")
        assert task.fence == 2
        assert was_done_once(installation, task)
        assert is_gone(stopped)
        assert executor.alive()["restarts"] == 1


@pytest.mark.slow
def test_executor_kills_a_hung_worker_after_a_cancellation(installation, held, monkeypatch):
    monkeypatch.setitem(LANES, CONVERSIONS, replace(LANES[CONVERSIONS], patience_s=0.5))
    with installation.executor(installation.slow_program(), lease_s=60.0):
        stopped = pid_of(begun(installation, held))
        os.kill(stopped, signal.SIGSTOP)
        tasks.request_cancel(installation.database, installation.account.id, held)
        installation.wait_for(held, "cancelled")
        assert is_gone(stopped)
        assert installation.results(held) == []


# ---- asked to end


@pytest.mark.slow
def test_worker_asked_to_end_requeues_its_unfinished_task(installation, held):
    with installation.worker(command=installation.slow_program(), grace_s=0.0) as worker:
        begun(installation, held)
        os.kill(worker.pid, signal.SIGINT)  # Ctrl-C on a terminal reaches it too, and is the server's to act on
        worker.stdin.close()
        assert worker.wait(PATIENCE_S) == 0
    task = installation.task(held)
    assert (task.state, task.attempt, installation.results(held)) == ("queued", 0, [])
    assert not list(installation.settings.work.iterdir())


def test_worker_asked_to_end_finishes_its_task_within_the_grace_time(installation, held):
    with installation.worker(command=installation.slow_program(), grace_s=60.0) as worker:
        begun(installation, held)
        os.kill(worker.pid, signal.SIGTERM)
        installation.hold.unlink()
        assert worker.wait(PATIENCE_S) == 0
    assert was_done_once(installation, installation.task(held))


# ---- out of reach


@pytest.mark.parametrize("locked_s", [1.5, pytest.param(6.5, marks=pytest.mark.slow)])  # 5 s is how long others wait
def test_worker_keeps_its_task_if_the_database_is_locked_past_its_lease(installation, held, locked_s, monkeypatch):
    monkeypatch.setattr("studio.executors.supervisor.HOLD_OFF_S", PATIENCE_S)  # enough for the slowest worker
    with installation.executor(installation.slow_program(), lease_s=1.0) as executor:
        begun(installation, held)
        other = sqlite3.connect(installation.settings.data / "studio.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        installation.hold.unlink()
        time.sleep(locked_s)
        other.execute("ROLLBACK")
        other.close()
        task = installation.wait_for(held, "completed")
        assert was_done_once(installation, task)
        assert (task.fence, executor.alive()["restarts"]) == (1, 0)


def test_run_task_reports_a_full_disk_and_completes_the_next_task_once_freed(installation):
    work = installation.settings.work
    work.mkdir(exist_ok=True)
    mounting = ["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", str(work)]
    if os.geteuid() or subprocess.run(mounting, capture_output=True, check=False).returncode:
        pytest.skip("only root can make a small disk, and not everywhere")
    try:
        task_id = installation.submit_conversion(10.0)
        assert run_task(installation.context(), installation.claim()) == "failed"
        assert "full" in installation.task(task_id).error
        assert installation.results(task_id) == list(work.iterdir()) == []
    finally:
        subprocess.run(["umount", str(work)], check=True)
    task_id = installation.submit_conversion(10.0)
    assert run_task(installation.context(), installation.claim()) == "completed"


def test_worker_with_a_wrong_clock_keeps_its_lease(installation, held):
    """Its leases are the database's; with PostgreSQL that is another machine's clock."""
    wrong = installation.slow_program("import time\nright = time.time\ntime.time = lambda: right() + 86_400.0")
    with installation.worker(command=wrong, lease_s=60.0):
        first = begun(installation, held)
        renewed = wait_until(lambda: (now := installation.task(held)).lease_until > first.lease_until and now)
        assert renewed.lease_until < time.time() + 120.0
        assert recover(installation.database, 3) == []
        installation.hold.unlink()
        task = installation.wait_for(held, "completed")
    assert task.fence == 1
    assert abs(task.finished_at - time.time()) < 60.0
