"""Trainings as they are stored: the same whatever the storage, one worker at a time, and nothing of them lost."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from engine.training.history import TrainingHistory, write_history
from studio.errors import LeaseLost, Unavailable
from studio.store import tasks
from studio.store.accounts import Account
from studio.store.catalogue import Model, add_model, find_model
from studio.store.database import Database
from studio.store.records.codec import written
from studio.store.records.voices import Training
from studio.store.storage import Storage
from studio.store.tasks import Task
from studio.store.trainings import StoredTraining, stored_training
from studio.store.workspaces import LOCK_FILE, dataset_workspace
from tests.waiting import PATIENCE_S

HOLD = """
import sys
from filelock import FileLock
lock = FileLock(sys.argv[1])
lock.acquire()
print("held", flush=True)
sys.stdin.readline()
"""


def train_a_little(trained: StoredTraining, epoch: int) -> None:
    """Files as a training leaves them: some change with every checkpoint, some never do."""
    training = trained.folder
    (training / "evaluations" / f"{epoch:06}").mkdir(parents=True)
    (training / "evaluations" / f"{epoch:06}" / "weights.safetensors").write_bytes(bytes([epoch]) * 5000)
    if (training / "checkpoint.pt").exists():
        (training / "checkpoint.pt").rename(training / "checkpoint.pt.previous")
    (training / "checkpoint.pt").write_bytes(f"state after {epoch}".encode())
    (training / "checkpoint.pt.part").write_bytes(b"never whole")
    write_history(TrainingHistory("training", 9, [{"epoch": epoch}]), training)


def kept(training: Path) -> dict[str, bytes]:
    """What belongs to a training."""
    paths = [
        path for path in training.rglob("*") if path.is_file() and path.suffix not in (".part", ".previous", ".lock")
    ]
    return {path.relative_to(training).as_posix(): path.read_bytes() for path in paths}


def claimed(database: Database, account: Account) -> Task:
    with database.write() as connection:
        asked = written(Training(9))
        tasks.submit(connection, account.id, "training", asked, model_id="mia")
    return next_claim(database)


def claimed_again(database: Database, task: Task) -> Task:
    """The same task, after its worker was found to be gone."""
    tasks.requeue(database, task)
    return next_claim(database)


def next_claim(database: Database) -> Task:
    task = tasks.claim(database, "the tests", ["training"], 600.0)
    assert task is not None
    return task


@contextmanager
def training(database: Database, storage: Storage, account: Account, task: Task) -> Iterator[StoredTraining]:
    model = find_model(database, account, "mia")
    with stored_training(database, storage, account, model, task) as stored:
        yield stored


def test_stored_training_resumes_a_training(sqlite_database, storage, guest, model):
    task, keys = claimed(sqlite_database, guest), set()

    def saved(stored: StoredTraining, epoch: int) -> dict[str, bytes]:
        train_a_little(stored, epoch)
        stored.save(epoch)
        keys.add(find_model(sqlite_database, guest, "mia").training_key)
        return kept(stored.folder)

    with training(sqlite_database, storage, guest, task) as stored:
        saved(stored, 1)
        expected = saved(stored, 2)
    for epoch in (3, 4):
        if epoch == 3:
            task = claimed_again(sqlite_database, task)
        else:
            with sqlite_database.write() as connection:
                tasks.complete(connection, task, {})
            task = claimed(sqlite_database, guest)
        with training(sqlite_database, storage, guest, task) as stored:
            assert kept(stored.folder) == expected
            assert stored.last_epoch() == epoch - 1
            expected = saved(stored, epoch)
    history = find_model(sqlite_database, guest, "mia").training_key or f"{model.dataset_key}/training"
    assert json.loads(b"".join(storage.read(f"{history}/history.json")))["epochs"] == [{"epoch": 4}]
    assert len(keys) == (4 if stored.workspace.is_copy else 1)


def test_save_stores_only_new_files(sqlite_database, s3_storage, guest, model_on_s3):
    first = claimed(sqlite_database, guest)
    with training(sqlite_database, s3_storage, guest, first) as trained:
        train_a_little(trained, 1)
        trained.save(1)
        [old] = [key for key in stored_keys(s3_storage) if key.endswith("weights.safetensors")]
        tag = s3_storage.head(old).etag
        modified = s3_storage.head(old).modified_s
        train_a_little(trained, 2)
        trained.save(2)
        trained.save(2)
    names = [key.rpartition("/")[2] for key in stored_keys(s3_storage)]
    assert sorted(names) == [
        "checkpoint.pt",
        "files.json",
        "history.json",
        "weights.safetensors",
        "weights.safetensors",
    ]
    assert (s3_storage.head(old).etag, s3_storage.head(old).modified_s) == (tag, modified)


def test_save_keeps_the_previous_snapshot_if_interrupted(sqlite_database, s3_storage, guest, model_on_s3, monkeypatch):
    def killed(self: StoredTraining, epoch: int, training_key: str) -> None:
        raise KeyboardInterrupt

    first = claimed(sqlite_database, guest)
    with training(sqlite_database, s3_storage, guest, first) as trained:
        train_a_little(trained, 1)
        trained.save(1)
        expected = kept(trained.folder)
        train_a_little(trained, 2)
        with monkeypatch.context() as patch:
            patch.setattr(StoredTraining, "reached", killed)
            with pytest.raises(KeyboardInterrupt):
                trained.save(2)
    with training(sqlite_database, s3_storage, guest, claimed_again(sqlite_database, first)) as trained:
        assert kept(trained.folder) == expected
        train_a_little(trained, 3)
        trained.save(3)
    latest = find_model(sqlite_database, guest, "mia").training_key
    checkpoints = [key for key in stored_keys(s3_storage) if key.endswith("checkpoint.pt")]
    assert checkpoints == [f"{latest}/checkpoint.pt"]


def test_save_by_a_late_worker_keeps_the_snapshot_of_the_next(sqlite_database, s3_storage, guest, model_on_s3):
    first = claimed(sqlite_database, guest)
    with training(sqlite_database, s3_storage, guest, first) as late:
        train_a_little(late, 1)
        late.save(1)
        second = claimed_again(sqlite_database, first)
        with training(sqlite_database, s3_storage, guest, second) as trained:
            train_a_little(trained, 2)
            trained.save(2)
            expected = kept(trained.folder)
            train_a_little(late, 7)
            with pytest.raises(LeaseLost):
                late.save(7)
            assert late.snapshots is not None
            late.snapshots.delete_older()  # the moment between its last word and its end
    with training(sqlite_database, s3_storage, guest, claimed_again(sqlite_database, second)) as trained:
        assert kept(trained.folder) == expected


def test_recordings_can_be_examined_during_a_training(sqlite_database, folder_storage, guest):
    model, task = a_dataset(folder_storage, guest), claimed(sqlite_database, guest)
    with (
        stored_training(sqlite_database, folder_storage, guest, model, task),
        dataset_workspace(folder_storage, model) as other,
    ):
        assert (other.folder / "model.json").exists()


def test_stored_training_refuses_a_second_training_after_waiting(sqlite_database, folder_storage, guest):
    given = sqlite_database, folder_storage, guest, a_dataset(folder_storage, guest), claimed(sqlite_database, guest)
    with stored_training(*given):
        with pytest.raises(Unavailable, match="already being trained") as trouble, stored_training(*given, wait_s=0.3):
            pass
        assert trouble.value.code == "training_busy"
    with stored_training(*given, wait_s=0):
        pass


def test_stored_training_waits_for_another_training_to_end(sqlite_database, folder_storage, guest, monkeypatch):
    given = sqlite_database, folder_storage, guest, a_dataset(folder_storage, guest), claimed(sqlite_database, guest)
    pauses: list[float] = []
    with ExitStack() as other:
        other.enter_context(stored_training(*given))

        def sleep(seconds: float) -> None:
            pauses.append(seconds)
            if len(pauses) == 2:
                other.close()

        monkeypatch.setattr("time.sleep", sleep)  # as a lock does that somebody waits for
        with stored_training(*given, wait_s=PATIENCE_S):
            assert len(pauses) == 2


def test_stored_training_opens_after_the_lock_holder_is_killed(sqlite_database, folder_storage, guest):
    model, task = a_dataset(folder_storage, guest), claimed(sqlite_database, guest)
    given = sqlite_database, folder_storage, guest, model, task
    lock = folder_storage.folder(model.dataset_key) / LOCK_FILE
    command, pipe = [sys.executable, "-c", HOLD, str(lock)], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as other:
        try:
            assert other.stdout.readline() == "held\n"
            with pytest.raises(Unavailable), stored_training(*given, wait_s=0):
                pass
        finally:
            other.kill()
    with stored_training(*given, wait_s=PATIENCE_S):
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


def stored_keys(storage: Storage) -> list[str]:
    return sorted(storage.list_keys("accounts"))
