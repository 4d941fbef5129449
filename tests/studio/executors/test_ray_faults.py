"""A real Ray of two nodes on this machine with PostgreSQL and S3, and what happens when parts of it are killed.

Each time nothing may be lost and nothing published twice, and what comes out is what comes out without faults.
"""

import importlib.util
import os
import shutil
import signal
import socket
import tempfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest
import soundfile
import torch

from engine.audio.files import read_audio
from engine.conversion.convert import convert_file
from engine.conversion.settings import AUTO, by_style
from engine.datasets.dataset import load_dataset
from engine.training.plan import TrainingPlan
from engine.training.train import train_dataset
from engine.voices.voice import Voice, load_voice
from studio.client import Client
from studio.load.trial_cluster import TrialCluster, TrialNode, trial_cluster
from studio.load.trial_service import TrialService, trial_service
from studio.store.storage import open_storage
from tests.waiting import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
]
RATE = 44_100
VOICES = ("kathleen", "kerstin")
RECORDINGS, CONVERSIONS, EPOCHS = 5, 40, 2
LEASE_S = 8.0
DONE_S = 900.0
# counts how often a task's state becomes "completed", whoever writes it
COUNTING = """
CREATE TABLE completions (id text);
CREATE FUNCTION note() RETURNS trigger AS
  $$ BEGIN INSERT INTO completions VALUES (NEW.id); RETURN NEW; END $$ LANGUAGE plpgsql;
CREATE TRIGGER completing AFTER UPDATE ON tasks FOR EACH ROW
  WHEN (NEW.state = 'completed' AND OLD.state <> 'completed') EXECUTE FUNCTION note();
"""


@pytest.fixture(autouse=True)
def one_thread(torch_threads) -> None:
    """As many as the cluster's workers have: with others, sums are added up in another order."""
    torch.set_num_threads(1)


@dataclass
class Place:
    """What all services and nodes share, and what is said of it."""

    database_url: str
    storage_url: str
    folder: Path
    services: list[TrialService] = field(default_factory=list)

    def settings(self, cluster: TrialCluster) -> dict[str, Any]:
        return (
            {"executor": "ray", "ray_address": cluster.address, "database_url": self.database_url}
            | {"page": "off", "storage_url": self.storage_url, "lease_s": LEASE_S, "threads": 1, "grace_s": 5}
            | {"submissions_per_minute": 100_000, "ray_trainings": 1}
        )

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            found = connection.execute(statement)
            return found.fetchall() if found.description else []

    def outputs(self, task: str) -> list[str]:
        """Digests of what a task has published."""
        [[result]] = self.ask(f"SELECT result FROM tasks WHERE id = '{task}'")
        storage = open_storage(self.storage_url, self.folder / "looked at")
        place = Path(tempfile.mkdtemp(dir=self.folder))
        return [digest(storage.fetch(key, place)) for key in result["outputs"]]

    def voices(self) -> list[Voice]:
        storage = open_storage(self.storage_url, self.folder / "looked at")
        found = []
        for [key] in self.ask("SELECT voice_key FROM models"):
            storage.pull_folder(key, self.folder / "voices" / key)
            found.append(load_voice(self.folder / "voices" / key))
        return found

    def done(self) -> int:
        [[count]] = self.ask("SELECT count(*) FROM tasks WHERE state = 'completed' AND kind = 'conversion'")
        return count


@pytest.fixture
def place(postgresql_of_its_own, s3_server, s3_bucket, tmp_path) -> Place:
    storage = f"s3://{s3_bucket}?endpoint={s3_server}&region=us-east-1"
    return Place(postgresql_of_its_own, storage, tmp_path)


@pytest.fixture
def in_cluster(monkeypatch) -> Callable[[TrialCluster], None]:
    """Let services begun from here find the token of the cluster."""

    def join(cluster: TrialCluster) -> None:
        monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", cluster.environment["RAY_AUTH_TOKEN_PATH"])

    return join


def songs(folder: Path, vocal: Callable[[float, float], np.ndarray], seconds: float) -> list[Path]:
    paths = [folder / f"song-{number}.wav" for number in range(RECORDINGS)]
    for number, path in enumerate(paths):
        soundfile.write(path, vocal(seconds, 130.0 + 10 * number), RATE)
    return paths


def converted(source: Path, voice: str, target: Path) -> str:
    """The digest of what the engine itself makes of it."""
    convert_file(source, [target], load_voice(voice), by_style(AUTO, {}))
    return digest(target)


def digest(path: Path) -> str:
    """The digest of the samples: no two signatures of the same file are the same."""
    return sha256(read_audio(path).samples.tobytes()).hexdigest()


def busy_worker(nodes: list[TrialNode]) -> int | None:
    """A worker that is in the middle of something."""
    for node in nodes:
        for worker in node.workers():
            if "timbre" in Path(f"/proc/{worker}/cmdline").read_text(errors="replace"):
                return worker
    return None


def test_ray_completes_all_tasks_once_despite_killed_workers_nodes_and_services(
    place, in_cluster, vocal, new_recordings, tmp_path
):
    recordings = songs(tmp_path, vocal, 2.0)
    dataset = shutil.copytree(new_recordings, tmp_path / "dataset")
    archive = zipped(dataset, tmp_path / "mia.zip")
    with trial_cluster(tmp_path / "cluster") as cluster:
        in_cluster(cluster)
        settings = place.settings(cluster)
        with trial_service(tmp_path / "one", **settings) as one, trial_service(tmp_path / "two", **settings) as two:
            place.ask(COUNTING)
            token = one.token("anna")
            with Client(one.base_url, token) as client:
                trained = [client.create_model(archive), client.create_model(archive)]
                for model in trained:
                    client.train(model, EPOCHS)
                asked = [(recordings[n % RECORDINGS], VOICES[n % len(VOICES)]) for n in range(CONVERSIONS)]
                tasks = [client.convert(path, voice) for path, voice in asked]

            wait_until(lambda: place.done() >= 3)
            os.kill(wait_until(lambda: busy_worker(cluster.nodes)), signal.SIGKILL)
            wait_until(lambda: place.done() >= 10)
            cluster.nodes[1].kill()
            cluster.add_node()
            wait_until(lambda: place.done() >= 18)
            os.killpg(one.process.pid, signal.SIGKILL)  # with its dispatcher

            wait_until(lambda: place.done() == CONVERSIONS)
            wait_until(lambda: place.ask("SELECT count(*) FROM models WHERE state = 'completed'")[0][0] == 2)
            with Client(two.base_url, token) as client:
                assert {client.check_task(task)["status"] for task in tasks} == {"completed"}

    ended = place.ask("SELECT state, count(*) FROM tasks WHERE kind IN ('conversion', 'training') GROUP BY state")
    assert ended == [("completed", CONVERSIONS + 2)]
    assert place.ask("SELECT id FROM completions GROUP BY id HAVING count(*) > 1") == []
    attempts = place.ask("SELECT sum(fence - 1) FROM tasks")[0][0]
    assert attempts >= 2  # some were begun again: at least what the killed worker and the killed node had in work

    wanted = {pair: converted(*pair, tmp_path / "wanted.wav") for pair in set(asked)}
    for pair, task in zip(asked, tasks, strict=True):
        assert place.outputs(task) == [wanted[pair]]
    undisturbed = train_dataset(load_dataset(dataset), TrainingPlan(epochs=EPOCHS))
    for voice in place.voices():
        theirs, ours = voice.decoder.state_dict(), undisturbed.decoder.state_dict()
        assert all(torch.equal(value, ours[name]) for name, value in theirs.items())


def test_ray_publishes_nothing_twice_if_a_node_loses_the_database(place, in_cluster, vocal, tmp_path):
    [recording, *_] = songs(tmp_path, vocal, 20.0)
    with trial_cluster(tmp_path / "cluster", nodes=1) as cluster, stopping_proxy(place.database_url) as proxy:
        in_cluster(cluster)
        cut = cluster.add_node(TIMBRE_STUDIO_DATABASE_URL=proxy.url)
        with trial_service(tmp_path / "one", **place.settings(cluster)) as service:
            place.ask(COUNTING)
            with Client(service.base_url, service.token("anna")) as client:
                tasks = [client.convert(recording, "kathleen") for _ in range(4)]
                running = "SELECT count(*) FROM tasks WHERE state = 'running' AND progress > 0.1"
                wait_until(lambda: busy_worker([cut]) and place.ask(running)[0][0] == 2)
                proxy.stop()
                time.sleep(30.0)
                proxy.go_on()
                wait_until(lambda: place.done() == len(tasks))
                time.sleep(2 * LEASE_S)  # whoever was cut off has had the time to write, if he could
    assert place.ask("SELECT id FROM completions GROUP BY id HAVING count(*) > 1") == []
    assert place.ask("SELECT count(*) FROM completions")[0][0] == len(tasks)
    assert place.ask("SELECT max(fence) FROM tasks")[0][0] >= 2  # what was cut off was done by another
    wanted = converted(recording, "kathleen", tmp_path / "wanted.wav")
    assert [place.outputs(task) for task in tasks] == [[wanted]] * len(tasks)


# ---- what is trained on, and compared


def zipped(dataset: Path, target: Path) -> Path:
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(dataset.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(dataset))
    return target


# ---- a network that stops


def _until_it_is_closed() -> suppress:
    return suppress(OSError)


class StoppingProxy:
    """Passes on what comes to it, while it is not stopped; then it is kept, and nothing is said."""

    def __init__(self, host: str, port: int) -> None:
        self._to = host, port
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        return self._listener.getsockname()[1]

    url = ""

    def stop(self) -> None:
        self._open.clear()

    def go_on(self) -> None:
        self._open.set()

    def close(self) -> None:
        self.go_on()
        for one in (self._listener, *self._sockets):
            with _until_it_is_closed():
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with _until_it_is_closed():
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(self._to)
                self._sockets += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with _until_it_is_closed():
            while data := source.recv(1 << 16):
                self._open.wait()
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@contextmanager
def stopping_proxy(url: str) -> Iterator[StoppingProxy]:
    """A proxy before the database, and its address."""
    begin, _, rest = url.rpartition("@")
    server, _, name = rest.partition("/")
    host, _, port = server.partition(":")
    proxy = StoppingProxy(host, int(port))
    proxy.url = f"{begin}@127.0.0.1:{proxy.port}/{name}"
    try:
        yield proxy
    finally:
        proxy.close()
