"""The Python client makes every call of the document, and each as the service takes it.

The service refuses fields that a call does not have, and each answer is held against the document (see conftest).
"""

import inspect
import re
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import numpy as np
import pytest
import soundfile

from studio.client import Client, ServiceError
from tests.waiting import PATIENCE_S, wait_until

RATE = 16_000


@pytest.fixture
def client(http) -> Iterator[Client]:
    with Client(http.base_url, http.token("client"), timeout_s=PATIENCE_S) as client:
        yield client


@pytest.fixture
def recordings(tmp_path):
    """A zip with twelve seconds of a tone."""
    tone = 0.2 * np.sin(2 * np.pi * 220 * np.arange(12 * RATE) / RATE)
    soundfile.write(tmp_path / "one.wav", tone, RATE)
    with zipfile.ZipFile(tmp_path / "mia.zip", "w") as archive:
        archive.write(tmp_path / "one.wav", "audio/one.wav")
    return tmp_path / "mia.zip"


def test_client_converts_with_all_settings_follows_and_shows_the_task(http, client, singing):
    settings = {"transpose": "auto", "preset": "melodic", "effects": {"reverb": 0.2}, "likeness": 0.8}
    later = {"callback_url": "https://example.com/done", "cancel_after_s": 3600}
    task_id = client.convert(singing, "kathleen", generations_count=2, untrained=False, **settings, **later)
    with ThreadPoolExecutor(1) as beside:
        following = beside.submit(lambda: list(client.events(task_id)))
        wait_until(lambda: http.app.state.watch._places.total())
        http.work("client", [b"RIFF-1", b"RIFF-2"])
        *steps, last = following.result()
    assert [one.name for one in steps] == ["progress"] * len(steps)
    assert (last.name, last.data["id"], last.is_last) == ("completed", task_id, True)
    assert client.check_task(task_id, wait_s=1)["status"] == client.task(task_id, wait_s=1)["state"] == "completed"
    assert (client.task(task_id)["effects"]["reverb"], client.task(task_id)["preset"]) == (0.2, "melodic")
    assert client.tasks(state="completed", limit=1)["tasks"][0]["id"] == task_id
    assert client.label_take(task_id, 2, starred=True) == {"number": 2, "name": "", "starred": True}
    with pytest.raises(ServiceError, match="take"):
        client.comp(task_id, [1, 2], cancel_after_s=60)  # these takes are no recordings
    [callback] = client.callbacks(task_id=task_id)["callbacks"]
    assert client.callback(callback["id"]) == callback
    assert client.repeat_callback(callback["id"], "https://example.org/")["url"] == "https://example.org/"
    assert client.callback_secret().startswith("whsec_")
    client.delete_results(task_id)


def test_client_sends_the_files_of_a_song(client, singing):
    task_id = client.convert(singing, "kathleen", backing=str(singing), stem=singing.read_bytes(), offset=1.5)
    client.cancel(task_id)
    assert client.task(task_id)["state"] == "cancelled"


def test_client_creates_trains_exports_imports_and_deletes_voices(client, recordings, tmp_path):
    model_id = client.create_model(recordings, name="Mia", traits=["warm"], consent={"statement": "Yes.", "by": "Mia"})
    assert client.model(model_id)["state"] == "pending"
    assert client.train(model_id, 10, cancel_after_s=60)["status"] == "training"
    client.cancel(client.model(model_id)["training"]["task_id"])
    with pytest.raises(ServiceError) as refused:
        client.teach("kathleen", recordings, name="Mia II", epochs=10)
    assert refused.value.code == "not_imported"
    package = client.export_model("kathleen", tmp_path / "kathleen.voice.zip")
    copy = client.import_model(package)
    assert copy in {voice["id"] for voice in client.models(q="kathleen")}
    client.delete_model(copy)
    with pytest.raises(ServiceError):
        client.import_model(recordings, index=recordings, speaker=1)


def test_client_changes_exports_and_deletes_projects(http, client, singing, tmp_path):
    task_id = client.convert(singing, "kathleen")
    http.work("client", [singing.read_bytes()])
    project_id = client.task(task_id)["project"]
    assert project_id in {one["id"] for one in client.projects(limit=10)["projects"]}
    assert client.change_project(project_id, name="Song", tempo_bpm=120.0)["timeline"]["tempo_bpm"] == 120.0
    assert client.project(project_id)["name"] == "Song"
    with pytest.raises(ServiceError):
        client.export_project("0" * 24, tmp_path / "no.zip", dry=True)
    client.delete_project(project_id)


def test_client_verifies_files_and_looks_at_the_service(client, singing):
    assert client.verify(singing)["state"] == "no_credentials"
    assert client.health()["status"] == "ok"
    assert "timbre_studio_tasks" in client.metrics()


def test_client_downloads_a_link(http, client, singing, tmp_path):
    task_id = client.convert(singing, "kathleen")
    http.work("client", [b"RIFF"])
    [link] = client.check_task(task_id)["output_audio_urls"]
    assert client.download(link, tmp_path / "take.wav").read_bytes() == b"RIFF"


GIVEN = {"audio": b"x", "archive": b"x", "takes": [1], "number": 1, "epochs": 1, "url": "http://studio/files/key"}


def calls_of(method: str, tmp_path) -> set[tuple[str, str]]:
    """(method, path) of the calls that a method of the client makes before it is answered as it likes."""
    called = set()

    def note(request: httpx.Request) -> httpx.Response:
        called.add((request.method, request.url.path))
        return httpx.Response(404, stream=httpx.ByteStream(b""))

    files = {"path": tmp_path / "fetched", "package": tmp_path / "sent", "folder": tmp_path}
    files["package"].write_bytes(b"x")
    with Client("http://studio", "token") as client, suppress(ServiceError):
        client._http._transport = httpx.MockTransport(note)
        taken = inspect.signature(getattr(client, method)).parameters.values()
        needed = [one.name for one in taken if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
        given = {name: {**GIVEN, **files}.get(name, "x1") for name in needed}
        answer = getattr(client, method)(**given)
        next(iter(answer))
    return called


def test_client_has_a_method_for_every_call_of_the_document(http, tmp_path):
    methods = [name for name in vars(Client) if not name.startswith("_") and name != "close"]
    made = set().union(*(calls_of(method, tmp_path) for method in methods))
    missing = set()
    for template, operations in http.app.openapi()["paths"].items():
        if template.startswith("/v1/"):
            continue  # the same for clients of OpenAI's
        pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
        called = {method for method, path in made if re.fullmatch(pattern, path)}
        missing |= {(method, template) for method in map(str.upper, operations)} - {(one, template) for one in called}
    assert missing == {("HEAD", "/files/{key}")}  # which is a download without the file
