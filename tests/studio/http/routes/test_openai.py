"""Addresses as OpenAI's: voices as models, sound for sound, and errors where such clients look for them."""

import asyncio
import io
import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
import soundfile

from studio.errors import NotFound, TooLarge, Unavailable
from studio.http.routes import openai
from studio.http.routes.openai import spoken
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.studio import open_studio
from studio.store.tasks import claim, fail
from tests.waiting import PATIENCE_S, wait_until

URL = "http://127.0.0.1:8880/v1"


@pytest.fixture
def meanwhile():
    with ThreadPoolExecutor(2) as pool:
        yield pool.submit


def convert(client, singing, **fields) -> httpx.Response:
    files = {"file": (singing.name, singing.read_bytes())}
    return client.post("/v1/audio/conversions", files=files, data={"model": "kathleen", **fields})


def wav(recording) -> bytes:
    made = io.BytesIO()
    soundfile.write(made, *soundfile.read(recording), format="WAV")
    return made.getvalue()


def waiting(http, number: int = 1) -> None:
    """Wait until so many calls wait for their tasks; their places they have before these are queued."""
    wait_until(lambda: len(http.app.state.watch._waiting) == number)


def test_models_and_voices_are_listed_in_their_shapes(http):
    client = http.client()
    listed = client.get("/v1/models").json()
    assert listed["object"] == "list"
    assert {"id": "kathleen", "object": "model", "created": 0, "owned_by": "timbre-studio"} in listed["data"]
    assert client.get("/v1/models/kathleen").json()["id"] == "kathleen"
    assert {"id": "kathleen", "name": "Kathleen"} in client.get("/v1/audio/voices").json()["voices"]


@pytest.mark.parametrize(
    ("kind", "media_type", "start"), [(None, "audio/wav", b"RIFF"), ("flac", "audio/flac", b"fLaC")]
)
def test_conversion_answers_with_the_sound_itself(http, singing, meanwhile, kind, media_type, start):
    client = http.client("openai")
    answer = meanwhile(convert, client, singing, **({} if kind is None else {"response_format": kind}), likeness="0.5")
    waiting(http)
    http.work("openai", [wav(singing)])
    found = answer.result()
    assert (found.status_code, found.headers["content-type"]) == (200, media_type)
    assert found.content.startswith(start)
    assert int(found.headers["content-length"]) == len(found.content)
    assert client.get(f"/tasks/{found.headers['x-task-id']}").json()["state"] == "completed"


def test_conversion_that_fails_gives_the_reason_with_a_status_that_is_not_tried_again(http, singing, meanwhile):
    client = http.client("openai fails")
    answer = meanwhile(convert, client, singing, callback_url="https://example.com/done")
    waiting(http)
    [callback] = client.get("/callbacks").json()["callbacks"]
    assert callback["url"] == "https://example.com/done"
    own = http.account("openai fails").id
    while (task := claim(http.studio.database, "test", ("conversion",), PATIENCE_S)).account_id != own:
        pass  # what another test has left
    with http.studio.database.write() as connection:
        fail(connection, task, "The recording holds no voice.", "no_voice")
    found = answer.result()
    assert found.status_code == 422
    assert found.json()["error"] == (
        {"message": "The recording holds no voice.", "type": "invalid_request_error"}
        | {"param": "file", "code": "no_voice"}
    )


def test_conversion_whose_client_leaves_is_cancelled(http, singing):
    client = http.client("openai leaves")
    timeout = httpx.Timeout(PATIENCE_S, read=1.0)
    with (
        httpx.Client(base_url=http.base_url, headers=client.headers, trust_env=False, timeout=timeout) as leaver,
        pytest.raises(httpx.ReadTimeout),
    ):
        convert(leaver, singing)
    wait_until(lambda: [task["state"] for task in client.get("/tasks").json()["tasks"]] == ["cancelled"])


def test_conversion_that_takes_too_long_is_cancelled_and_says_what_to_use(http, singing, monkeypatch):
    monkeypatch.setattr(openai, "LONGEST_WORK_S", 0.0)
    client = http.client("openai slow")
    found = convert(client, singing)
    assert (found.status_code, found.json()["error"]["code"]) == (413, "too_long")
    assert client.get("/tasks").json()["tasks"][0]["state"] == "cancelled"


@pytest.mark.parametrize(
    ("address", "status", "code"),
    [
        ("/v1/models/nobody", 404, "model_not_found"),
        ("/v1/engines", 404, "no_such_path"),
        ("/v1/audio/speech", 405, "method_not_allowed"),
    ],
)
def test_errors_stand_where_such_clients_look(http, address, status, code):
    found = http.client().get(address)
    assert (found.status_code, found.json()["code"], found.json()["error"]["code"]) == (status, code, code)
    assert found.json()["error"]["message"] == found.json()["detail"]
    refused = http.stranger().get(address)
    assert (refused.status_code, refused.json()["error"]["code"]) == (401, "token_missing")
    assert "error" not in http.client().get("/models/nobody").json()


def test_wrong_fields_are_named(http, singing):
    client = http.client()
    assert convert(client, singing, response_format="opus").json()["error"]["param"] == "response_format"
    assert convert(client, singing, likenes="1").json()["code"] == "unknown_field"
    assert convert(client, singing, voice="nobody").json()["code"] == "model_not_found"


def test_speech_without_a_service_says_what_to_do(http):
    asked = {"model": "tts-1", "input": "Hello.", "voice": "kathleen"}
    found = http.client().post("/v1/audio/speech", json=asked)
    assert (found.status_code, found.json()["code"]) == (404, "no_speech_service")
    assert "--speech-url" in found.json()["detail"]


@pytest.fixture
def studio_of(tmp_path):
    opened = []

    def make(**settings):
        given = {"speech_url": URL, "free_disk_mb": 0} | settings
        opened.append(open_studio(Settings(tmp_path), ServiceSettings(**given)))
        return opened[-1]

    yield make
    for studio in opened:
        studio.close()


def said(studio, answer, text="Hello.", speed=1.0):
    """Return what the service was asked, and the speech."""
    asked = []

    def speak(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return answer

    async def fetch():
        async with spoken(studio, text, speed, httpx.MockTransport(speak)) as recording:
            return recording, recording.read_bytes()

    recording, sound = asyncio.run(fetch())
    assert not recording.parent.exists()
    return asked[0], sound


def test_spoken_asks_the_service_in_its_own_voice(studio_of):
    studio = studio_of(speech_voice="nova", speech_key="secret", speech_model="kokoro")
    request, sound = said(studio, httpx.Response(200, content=b"RIFF..."), "Grüße", 1.5)
    assert str(request.url) == f"{URL}/audio/speech"
    assert request.headers["authorization"] == "Bearer secret"
    expected = {"model": "kokoro", "voice": "nova", "input": "Grüße", "speed": 1.5, "response_format": "wav"}
    assert json.loads(request.content) == expected
    assert sound == b"RIFF..."


@pytest.mark.parametrize(
    ("settings", "answer", "error", "words"),
    [
        ({}, httpx.Response(302, headers={"Location": "http://elsewhere/"}), Unavailable, "speech service"),
        ({}, httpx.Response(307, headers={"Location": "http://xn--a/"}), Unavailable, "speech service"),
        ({}, httpx.Response(401), Unavailable, "speech service"),
        ({}, httpx.Response(500), Unavailable, "speech service"),
        ({"largest_upload_mb": 1}, httpx.Response(200, content=b"x" * 1_100_000), TooLarge, "too long"),
        ({"speech_url": ""}, httpx.Response(200), NotFound, "--speech-url"),
    ],
    ids=["elsewhere", "to no address", "refused", "broken", "too long", "no service"],
)
def test_spoken_refuses_what_is_no_speech(studio_of, settings, answer, error, words):
    with pytest.raises(error, match=words):
        said(studio_of(**settings), answer)


def test_spoken_ends_speech_that_trickles(studio_of, monkeypatch):
    class Trickle(httpx.AsyncByteStream):
        async def __aiter__(self):
            yield b"RIFF"
            await asyncio.Event().wait()

    monkeypatch.setattr("studio.http.routes.openai._LONGEST_S", 0.05)
    with pytest.raises(Unavailable, match="speech service"):
        said(studio_of(), httpx.Response(200, stream=Trickle()))
