"""The local executor: workers are there when they are needed, and no oftener."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from studio.executors import local
from studio.executors.local import LocalExecutor
from studio.executors.process import environment_of
from studio.settings import machine
from tests.waiting import wait_until

WAITS = "import sys\nfor line in sys.stdin: pass\n"  # a worker that does nothing, until it is to end


@pytest.fixture
def waiting_worker(tmp_path) -> list[str]:
    path = tmp_path / "waits.py"
    path.write_text(WAITS)
    return [sys.executable, str(path)]


def submit(installation, kind: str, model_id: str | None = None) -> None:
    from studio.store import tasks

    with installation.database.write() as connection:
        tasks.submit(connection, installation.account.id, kind, {}, model_id=model_id)


def submit_training(installation) -> None:
    submit(installation, "training", "mia")


def test_local_executor_starts_only_the_configured_conversion_workers(installation, waiting_worker):
    with installation.executor(waiting_worker, conversion_workers=3) as executor:
        wait_until(lambda: executor.alive()["workers"] == 3)
        time.sleep(0.6)
        assert executor.alive() == (
            {"workers": 3, "long_workers": 0, "report_workers": 0, "training_workers": 0, "analysis_workers": 0}
            | {"restarts": 0, "watched": 1}
        )
    assert set(executor.alive().values()) == {0}


def test_local_executor_starts_further_conversion_workers_only_for_tasks_that_wait(
    installation, waiting_worker, monkeypatch
):
    monkeypatch.setattr(local, "_FURTHER_AFTER_S", 0.5)
    monkeypatch.setattr(machine, "usable_cores", lambda: 2)
    with installation.executor(waiting_worker, conversion_workers=0, device="cpu") as executor:
        wait_until(lambda: executor.alive()["workers"] == 1)
        time.sleep(1.0)
        assert executor.alive()["workers"] == 1
        lane = executor._lanes["conversions"]
        [lasting] = lane.workers
        monkeypatch.setattr(executor, "_has_idle", lambda lane: False)  # the first is busy
        for _ in range(5):
            submit(installation, "conversion", "kathleen")
        executor.wake()
        wait_until(lambda: executor.alive()["workers"] == 2)
        time.sleep(1.0)
        assert executor.alive()["workers"] == 2
        assert [worker.order.idle_s > 0 for worker in lane.workers] == [False, True]
        lasting.popen.kill()
        wait_until(lambda: sorted(worker.order.idle_s > 0 for worker in lane.workers) == [False, True])


@pytest.mark.parametrize(
    ("send", "lane"),
    [(submit_training, "training"), (lambda installation: submit(installation, "analysis"), "analysis")],
)
def test_local_executor_starts_one_worker_for_waiting_trainings_or_analyses(installation, waiting_worker, send, lane):
    with installation.executor(waiting_worker) as executor:
        send(installation)
        send(installation)
        executor.wake()
        wait_until(lambda: executor.alive()[f"{lane}_workers"] == 1)
        time.sleep(0.6)
        counted = {name: executor.alive()[f"{name}_workers"] for name in ("training", "analysis")}
        assert counted == {"training": 0, "analysis": 0, lane: 1}


def test_local_executor_starts_no_training_worker_if_set_to_zero(installation, waiting_worker):
    submit_training(installation)
    with installation.executor(waiting_worker, training_workers=0) as executor:
        time.sleep(0.8)
        assert executor.alive()["training_workers"] == 0


def test_local_executor_counts_no_restart_when_an_idle_training_worker_ends(installation, tmp_path):
    path = tmp_path / "idle.py"
    path.write_text(
        "import json, sys\norder = json.loads(sys.stdin.readline())\nif not order['idle_s']: sys.stdin.read()\n"
    )
    submit_training(installation)
    with installation.executor([sys.executable, str(path)]) as executor:
        wait_until(lambda: executor.alive()["training_workers"] == 1)
        wait_until(lambda: executor.alive()["training_workers"] == 0)
        assert executor.alive()["restarts"] == 0


def test_local_executor_restarts_failing_workers_with_growing_delays(installation, tmp_path):
    path = tmp_path / "dies.py"
    path.write_text("import sys\nsys.exit(1)\n")
    with installation.executor([sys.executable, str(path)]) as executor:
        begun_s = time.monotonic()
        wait_until(lambda: executor.alive()["restarts"] >= 3)
        assert time.monotonic() - begun_s > 1.5  # after 0.5, 1 and 2 s, however fast workers start and die


def test_local_executor_can_be_stopped_before_it_starts(installation):
    import structlog

    executor = LocalExecutor(installation.settings, installation.service, structlog.get_logger())
    assert executor.alive()["workers"] == 0
    executor.stop()


def test_housekeeping_removes_only_abandoned_work_folders(installation, waiting_worker, monkeypatch):
    monkeypatch.setattr(local, "_FIRST_SWEEP_S", 0.1)
    work = installation.settings.work
    task_id = installation.submit_conversion()
    abandoned, in_use, other = work / f"{'b' * 24}-1", work / f"{task_id}-1", work / "incoming"
    installation.claim(lease_s=60.0)
    for folder in (abandoned, in_use, other):
        folder.mkdir(parents=True)
    with installation.executor(waiting_worker):
        wait_until(lambda: not abandoned.exists())
        assert in_use.exists()
        assert other.exists()


def test_environment_of_sets_the_program_path_and_thread_count():
    environment = environment_of(3)
    assert (environment["OMP_NUM_THREADS"], environment["OMP_WAIT_POLICY"]) == ("3", "PASSIVE")
    first = environment["PYTHONPATH"].split(":")[0]
    assert (Path(first) / "studio" / "executors").is_dir()


def test_local_executor_does_not_import_torch():
    code = "import sys, studio.executors.local; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], env=environment_of(1), check=False).returncode == 0


def test_local_executor_gives_the_number_of_a_dead_worker_to_its_successor(installation, waiting_worker):
    with installation.executor(waiting_worker, conversion_workers=3) as executor:
        wait_until(lambda: executor.alive()["workers"] == 3)
        lane = executor._lanes["conversions"]
        assert sorted(worker.order.number for worker in lane.workers) == [0, 1, 2]
        [second] = [worker for worker in lane.workers if worker.order.number == 1]
        second.popen.kill()
        wait_until(lambda: executor.alive()["restarts"] == 1)
        wait_until(lambda: executor.alive()["workers"] == 3)
        assert sorted(worker.order.number for worker in lane.workers) == [0, 1, 2]
        assert second not in lane.workers
