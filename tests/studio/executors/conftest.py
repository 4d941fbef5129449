"""A small installation with everything real in it, and ways to give it work and to look at what came of it."""

import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import structlog

from engine.conversion.settings import ConversionSettings
from engine.datasets.dataset import create_dataset, load_dataset
from engine.training.plan import TrainingPlan
from engine.voices.profile import profile_as_json
from studio.executors.heartbeat import Stopping
from studio.executors.job import WorkerContext
from studio.executors.local import COMMAND, LocalExecutor
from studio.executors.process import environment_of
from studio.executors.voice_cache import VoiceCache
from studio.executors.worker import Order
from studio.executors.worker_ids import owner_of
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store import tasks
from studio.store.accounts import Account, account_prefix, local_account
from studio.store.catalogue import Model, add_model, find_model, set_keys, training_begun
from studio.store.database import Database, open_database
from studio.store.storage import Storage, open_storage
from tests.trainings import shorten_auditions, skip_estimates
from tests.waiting import wait_until

RATE = 44_100
VOICE = "kathleen"
LEASE_S = 5.0


@dataclass
class Installation:
    """A data folder with database and storage, and an account in it."""

    settings: Settings
    service: ServiceSettings
    database: Database
    storage: Storage
    account: Account
    vocal: Callable[[float, float], np.ndarray]

    def context(self, **changed: Any) -> WorkerContext:
        """What a worker in this process works with."""
        given = (
            {"settings": self.settings, "service": self.service, "database": self.database}
            | {"storage": self.storage}
            | {"voices": VoiceCache(), "stopping": Stopping(self.service.grace_s), "log": structlog.get_logger()}
        )
        return WorkerContext(**given | changed)

    def submit_conversion(
        self,
        seconds: float = 1.0,
        model: str = VOICE,
        effects: str = "off",
        form: dict[str, str] | None = None,
        **settings: Any,
    ) -> str:
        """A conversion of a recording of so many seconds; its id."""
        number = f"{len(self.task_ids()):012x}".rjust(24, "a")
        key = f"tasks/{number}/input.wav"
        self.storage.put_file(self._recording(seconds), key)
        parameters = {"input_key": key, "file_name": "vocal.wav", "format": "wav"}
        parameters |= {"settings": vars(ConversionSettings(**settings))}
        parameters |= {"model_account": "demo", "effects": effects, **({"form": form} if form else {})}
        with self.database.write() as connection:
            return tasks.submit(connection, self.account.id, "conversion", parameters, model_id=model, task_id=number)

    def create_voice(self, recordings: Path) -> Model:
        """A voice of the recordings in a dataset's folder, which stays where it is."""
        brought = shutil.copytree(recordings, self.settings.data / "brought")
        dataset = load_dataset(brought)
        with self.database.write() as connection:
            model = add_model(connection, self.storage, self.account, profile_as_json(dataset.profile), "pending")
            key = f"{account_prefix(self.account)}datasets/{model.id}"
            self.storage.push_folder(brought, key)
            set_keys(connection, model, dataset_key=key)
        return self.model(model.id)

    def model(self, model_id: str) -> Model:
        """The voice's row as it is now."""
        return find_model(self.database, self.account, model_id)

    def submit_training(self, model_id: str, epochs: int, **plan: Any) -> str:
        """A training to so many epochs in all, as the service begins it; its id."""
        with self.database.write() as connection:
            training_begun(connection, self.account.id, model_id)
            parameters = {"epochs": epochs, "evaluate_epochs": 1000, **plan}
            return tasks.submit(connection, self.account.id, "training", parameters, model_id=model_id)

    def task_ids(self) -> list[str]:
        return [task.id for task in tasks.list_tasks(self.database, self.account.id, limit=1000)[0]]

    def task(self, task_id: str) -> tasks.Task:
        """The row as it is now."""
        return tasks.find(self.database, self.account.id, task_id)

    def claim(self, *kinds: str, lease_s: float = LEASE_S) -> tasks.Task:
        """The next task, once there is one that may be begun."""
        kinds = kinds or ("conversion", "report", "training")
        return wait_until(lambda: tasks.claim(self.database, "this test", kinds, lease_s))

    def wait_for(self, task_id: str, *states: str) -> tasks.Task:
        """The row once it is in one of these states."""

        def there() -> tasks.Task | None:
            task = self.task(task_id)
            assert not task.has_ended or task.state in states, (task.state, task.error)
            return task if task.state in states else None

        return wait_until(there)

    def results(self, task_id: str) -> list[str]:
        """Keys of all files of a task beside the recording."""
        return sorted(key for key in self.storage.list_keys(f"tasks/{task_id}/") if "/input" not in key)

    def named(self, task: tasks.Task) -> list[str]:
        """Keys of the files that the row of a conversion names, beside the recording."""
        result = task.result or {}
        return sorted([*result["outputs"], result["groundwork"]])

    @contextmanager
    def executor(self, command: Sequence[str] = COMMAND, **service: Any) -> Iterator[LocalExecutor]:
        """A local executor that runs, and is ended with all its workers."""
        settings = replace(self.service, **service)
        executor = LocalExecutor(self.settings, settings, structlog.get_logger(), command)
        executor.start()
        try:
            yield executor
        finally:
            executor.stop()

    @contextmanager
    def worker(
        self, lane: str = "conversions", command: Sequence[str] = COMMAND, **service: Any
    ) -> Iterator[subprocess.Popen[bytes]]:
        """A worker that nobody watches over; its stdin is open."""
        process = subprocess.Popen(command, stdin=subprocess.PIPE, bufsize=0, env=environment_of(1))
        settings = asdict(replace(self.service, **service))
        order = Order(str(self.settings.data), settings, lane, owner_of(process.pid), 1)
        try:
            process.stdin.write(order.as_line().encode())
            yield process
        finally:
            process.kill()
            process.communicate()

    @property
    def hold(self) -> Path:
        """While there is this file, the workers of `slow_program` stay in the middle of a conversion."""
        return self.settings.data / "hold"

    def slow_program(self, before: str = "") -> list[str]:
        """The command of a worker that beats faster, and converts while it is not held up."""
        return self.program(f"""{textwrap.dedent(before)}
import pathlib, time
import engine.conversion.convert
import studio.executors.heartbeat
studio.executors.heartbeat._BEAT_S = 0.1
hold = pathlib.Path({str(self.hold)!r})
real = engine.conversion.convert.convert_file
def convert_file(source, targets, voice, settings, report, device, installation, threads):
    def held(fraction, message):
        report(fraction, message)
        while fraction > 0.3 and hold.exists():
            time.sleep(0.02)
            report(fraction, message)
    return real(source, targets, voice, settings, held, device, installation, threads)
engine.conversion.convert.convert_file = convert_file
""")

    def program(self, before: str) -> list[str]:
        """The command of a worker that runs `before` first, which can change what it imports."""
        path = self.settings.data / "worker.py"
        end = "import sys\nfrom studio.executors.worker import main\nsys.exit(main())\n"
        path.write_text(f"{textwrap.dedent(before)}\n{end}")
        return [sys.executable, str(path)]

    def _recording(self, seconds: float) -> Path:
        """A new file each time: putting it into the storage takes it away."""
        kept = self.settings.data / "recordings" / f"{seconds:g}.wav"
        if not kept.exists():
            kept.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(kept, self.vocal(seconds, 140.0), RATE)
        copy = kept.with_suffix(".copy.wav")
        shutil.copyfile(kept, copy)
        return copy


@pytest.fixture(scope="session")
def new_recordings(tmp_path_factory, vocal) -> Path:
    """The folder of a dataset with eighteen seconds of a voice."""
    folder = tmp_path_factory.mktemp("recordings")
    paths = [folder / f"take {number}.wav" for number in range(2)]
    for number, path in enumerate(paths):
        soundfile.write(path, vocal(9.0, 200.0 + 40 * number), RATE)
    return create_dataset(paths, folder / "dataset", {"name": "Mia"}).folder


@pytest.fixture(scope="session")
def recordings(new_recordings, short_foreign, analysed_once, tmp_path_factory) -> Path:
    """The same after one epoch of training, in steps that are quick; which begins each training sooner."""
    from engine.training.train import train_dataset

    with pytest.MonkeyPatch.context() as patch:
        shorten_auditions(patch, short_foreign, analysed_once)
        skip_estimates(patch)
        folder = shutil.copytree(new_recordings, tmp_path_factory.mktemp("begun") / "dataset")
        train_dataset(load_dataset(folder), TrainingPlan(epochs=1, batch=8, foreign=1))
    return folder


@pytest.fixture
def installation(tmp_path, sqlite_template, vocal) -> Iterator[Installation]:
    """A fresh one, on SQLite and a folder, as most are."""
    yield from _installation(tmp_path / "data", sqlite_template, vocal)


@pytest.fixture(scope="module")
def shared_installation(tmp_path_factory, sqlite_template, vocal) -> Iterator[Installation]:
    """One for all tests of a module."""
    yield from _installation(tmp_path_factory.mktemp("shared") / "data", sqlite_template, vocal)


def _installation(data: Path, template: Path, vocal: Callable[[float, float], np.ndarray]) -> Iterator[Installation]:
    data.mkdir()
    shutil.copy(template, data / "studio.sqlite")
    database = open_database(f"sqlite:///{data / 'studio.sqlite'}")
    service = ServiceSettings(lease_s=LEASE_S, grace_s=0.0, threads=1)
    yield Installation(Settings(data), service, database, open_storage("", data), local_account(database), vocal)
    database.close()
