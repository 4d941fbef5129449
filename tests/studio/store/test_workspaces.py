"""Voices and recordings to work with: the same whatever the storage, one worker at a time, and nothing of it lost."""

import json
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from engine.datasets.dataset import load_dataset
from engine.training.history import TrainingHistory, read_history, write_history
from studio.errors import LeaseLost, NotFound, Unavailable, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import Model, add_model, find_model, training_reached
from studio.store.database import Database
from studio.store.storage import Storage
from studio.store.training_snapshots import LOCK_FILE
from studio.store.workspaces import Workspace, dataset_workspace
from tests.waiting import PATIENCE_S

HOLD = """
import sys
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.readline()
"""


def pointing(database: Database, model: Model, written: list[str]) -> Callable[[str], None]:
    """What a worker does with the key of a snapshot."""

    def point(key: str) -> None:
        with database.write() as connection:
            training_reached(connection, model, len(written) + 1, key)
        written.append(key)

    return point


def now(database: Database, storage: Storage, account: Account) -> Model:
    return find_model(database, account, "mia")


def train_a_little(workspace: Workspace, epoch: int) -> None:
    """Files as a training leaves them: some change with every checkpoint, some never do."""
    training = workspace.folder / "training"
    (training / "evaluations" / f"{epoch:06}").mkdir(parents=True)
    (training / "evaluations" / f"{epoch:06}" / "weights.safetensors").write_bytes(bytes([epoch]) * 5000)
    if (training / "checkpoint.pt").exists():
        (training / "checkpoint.pt").rename(training / "checkpoint.pt.previous")
    (training / "checkpoint.pt").write_bytes(f"state after {epoch}".encode())
    (training / "checkpoint.pt.part").write_bytes(b"never whole")
    write_history(TrainingHistory("training", 9, [{"epoch": epoch}]), training)


def kept(folder: Path) -> dict[str, bytes]:
    """What belongs to a training."""
    training = folder / "training"
    paths = [
        path for path in training.rglob("*") if path.is_file() and path.suffix not in (".part", ".previous", ".lock")
    ]
    return {path.relative_to(training).as_posix(): path.read_bytes() for path in paths}


def test_dataset_workspace_holds_the_recordings_and_saves_the_report(sqlite_database, storage, guest, model):
    with dataset_workspace(storage, guest, model, 1) as workspace:
        assert len(load_dataset(workspace.folder).recordings) == 3
        assert workspace.is_copy == (storage.folder("x") is None)
        (workspace.folder / "report.json").write_text("{}")
        workspace.save_report()
    assert b"".join(storage.read(f"{model.dataset_key}/report.json")) == b"{}"
    assert workspace.folder.exists() == (not workspace.is_copy)


def test_dataset_workspace_refuses_a_voice_without_recordings(storage, guest, model):
    with (
        pytest.raises(WrongState, match="cannot be trained"),
        dataset_workspace(storage, guest, replace(model, dataset_key=None), 1),
    ):
        pass
    storage.delete_below(model.dataset_key)
    with pytest.raises(NotFound), dataset_workspace(storage, guest, model, 1):
        pass


def test_dataset_workspace_resumes_a_training(sqlite_database, storage, guest, model):
    written: list[str] = []
    point = pointing(sqlite_database, model, written)
    with dataset_workspace(storage, guest, model, 1) as workspace:
        for epoch in (1, 2):
            train_a_little(workspace, epoch)
            workspace.save(point)
        expected = kept(workspace.folder)
    for fence in (2, 1):  # another attempt, then another task
        with dataset_workspace(storage, guest, now(sqlite_database, storage, guest), fence) as workspace:
            assert kept(workspace.folder) == expected
            assert read_history(workspace.folder / "training").epoch == 2 + (fence == 1)
            train_a_little(workspace, 3 + (fence == 1))
            workspace.save(point)
            expected = kept(workspace.folder)
    history = now(sqlite_database, storage, guest).training_key or f"{model.dataset_key}/training"
    assert json.loads(b"".join(storage.read(f"{history}/history.json")))["epochs"] == [{"epoch": 4}]
    assert len(written) == len(set(written)) == (4 if workspace.is_copy else 0)


def test_workspace_save_stores_only_new_files(sqlite_database, s3_storage, guest, model_on_s3):
    model, written = model_on_s3, []
    point = pointing(sqlite_database, model, written)
    with dataset_workspace(s3_storage, guest, model, 1) as workspace:
        train_a_little(workspace, 1)
        workspace.save(point)
        [old] = [key for key in stored(s3_storage) if key.endswith("weights.safetensors")]
        tag = s3_storage.head(old).etag
        modified = s3_storage.head(old).modified_s
        train_a_little(workspace, 2)
        workspace.save(point)
        workspace.save(point)
    names = [key.rpartition("/")[2] for key in stored(s3_storage)]
    assert sorted(names) == [
        "checkpoint.pt",
        "files.json",
        "history.json",
        "weights.safetensors",
        "weights.safetensors",
    ]
    assert (s3_storage.head(old).etag, s3_storage.head(old).modified_s) == (tag, modified)


def test_workspace_save_keeps_the_previous_snapshot_if_interrupted(sqlite_database, s3_storage, guest, model_on_s3):
    written: list[str] = []
    with dataset_workspace(s3_storage, guest, model_on_s3, 1) as workspace:
        train_a_little(workspace, 1)
        workspace.save(pointing(sqlite_database, model_on_s3, written))
        expected = kept(workspace.folder)
        train_a_little(workspace, 2)

        def killed(key: str) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            workspace.save(killed)
    with dataset_workspace(s3_storage, guest, now(sqlite_database, s3_storage, guest), 2) as workspace:
        assert kept(workspace.folder) == expected
        train_a_little(workspace, 3)
        workspace.save(pointing(sqlite_database, model_on_s3, written))
    assert {key.split("/")[4] for key in stored(s3_storage) if key.endswith("checkpoint.pt")} == {
        written[-1].split("/")[4]
    }


def test_workspace_save_by_a_late_worker_keeps_the_snapshot_of_the_next(
    sqlite_database, s3_storage, guest, model_on_s3
):
    written: list[str] = []
    point = pointing(sqlite_database, model_on_s3, written)
    with dataset_workspace(s3_storage, guest, model_on_s3, 1) as late:
        train_a_little(late, 1)
        late.save(point)
        with dataset_workspace(s3_storage, guest, now(sqlite_database, s3_storage, guest), 2) as workspace:
            train_a_little(workspace, 2)
            workspace.save(point)
            expected = kept(workspace.folder)
            train_a_little(late, 7)

            def refused(key: str) -> None:
                raise LeaseLost

            with pytest.raises(LeaseLost):
                late.save(refused)
            late._snapshots.delete_older()  # the moment between its last word and its end
    with dataset_workspace(s3_storage, guest, now(sqlite_database, s3_storage, guest), 3) as workspace:
        assert kept(workspace.folder) == expected


def test_dataset_workspace_opens_for_a_report_during_a_training(folder_storage, sqlite_database, guest, tmp_path):
    model = a_dataset(folder_storage, guest)
    with (
        dataset_workspace(folder_storage, guest, model, 1),
        dataset_workspace(folder_storage, guest, model, 2, training=False, wait_s=0) as other,
    ):
        assert (other.folder / "model.json").exists()


def test_dataset_workspace_refuses_a_second_training_after_waiting(folder_storage, guest):
    model = a_dataset(folder_storage, guest)
    with dataset_workspace(folder_storage, guest, model, 1):
        with (
            pytest.raises(Unavailable, match="already being trained") as trouble,
            dataset_workspace(folder_storage, guest, model, 2, wait_s=0.3),
        ):
            pass
        assert trouble.value.code == "training_busy"
    with dataset_workspace(folder_storage, guest, model, 2, wait_s=0):
        pass


def test_dataset_workspace_waits_for_another_training_to_end(folder_storage, guest, monkeypatch):
    model = a_dataset(folder_storage, guest)
    pauses: list[float] = []
    with ExitStack() as other:
        other.enter_context(dataset_workspace(folder_storage, guest, model, 1))

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                other.close()

        monkeypatch.setattr("time.sleep", sleep)  # as a lock does that somebody waits for
        with dataset_workspace(folder_storage, guest, model, 2, wait_s=PATIENCE_S):
            assert len(pauses) == 2


def test_dataset_workspace_opens_after_the_lock_holder_is_killed(folder_storage, guest):
    model = a_dataset(folder_storage, guest)
    lock = folder_storage.folder(model.dataset_key) / LOCK_FILE
    command, pipe = [sys.executable, "-c", HOLD, str(lock)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(Unavailable), dataset_workspace(folder_storage, guest, model, 2, wait_s=0):
                pass
        finally:
            other.kill()
    with dataset_workspace(folder_storage, guest, model, 2, wait_s=PATIENCE_S):
        pass


@pytest.fixture
def model_on_s3(sqlite_database, s3_storage, guest) -> Model:
    with sqlite_database.write() as connection:
        model = add_model(connection, s3_storage, guest, {"name": "Mia"}, "pending", dataset_key="datasets/mia")
    s3_storage.put_bytes(json.dumps({"name": "Mia"}).encode(), "datasets/mia/model.json")
    return model


def a_dataset(storage: Storage, account: Account) -> Model:
    storage.put_bytes(b'{"name": "Mia"}', "datasets/mia/model.json")
    return a_model(account, None, "datasets/mia")


def a_model(account: Account, voice_key: str | None, dataset_key: str | None = None) -> Model:
    return Model(account.id, "mia", "Mia", "completed", {}, voice_key, dataset_key, None, 0, 0, False, None, None, 0, 0)


def stored(storage: Storage) -> list[str]:
    return sorted(storage.list_keys("accounts"))
