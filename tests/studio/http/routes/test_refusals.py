"""What is refused is not done: after each refusal, rows, files and what other services were asked are as before."""

import io
import json
import zipfile
from contextlib import ExitStack, suppress
from functools import partial

import httpx
import pytest
from sqlalchemy import func, select

from studio.errors import Unavailable
from studio.http.routes import openai
from studio.http.task_watch import MOST_OF_ACCOUNT
from studio.store import deliveries
from studio.store.accounts import account_prefix
from studio.store.tables import METADATA
from tests.studio.http.routes.conftest import SINGING, Running
from tests.waiting import PATIENCE_S

COUNTS = {"rates", "tokens", "accounts"}  # of calls, and those of the test itself
SOUND = (SINGING.name, SINGING.read_bytes())
CONVERT = {"data": {"model": "kathleen"}, "files": {"audio": SOUND}}
V1 = {"data": {"model": "kathleen"}, "files": {"file": SOUND}}


def state_of(service: Running) -> dict[str, object]:
    """How many rows each table has, with the files of the installation."""
    with service.studio.database.read() as connection:
        rows = {
            table.name: connection.scalar(select(func.count()).select_from(table))
            for table in METADATA.sorted_tables
            if table.name not in COUNTS
        }
    home = service.studio.settings.data
    files = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file() and ".sqlite" not in path.name}
    return {**rows, "files": sorted(files)}


@pytest.fixture
def refused(serve):
    """Makes a call that must be refused, and shows that nothing was done."""

    def check(service, ask, status, code) -> httpx.Response:
        before = state_of(service)
        answer = ask()
        assert (answer.status_code, answer.json().get("code")) == (status, code), answer.text
        assert state_of(service) == before
        return answer

    return check


def dataset(**more) -> tuple[str, bytes]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("model.json", json.dumps({"name": "Mia", **more}))
        for number in range(3):
            archive.write(SINGING, f"audio/{number}.flac")
    return "mia.zip", packed.getvalue()


def created(client, **headers) -> str:
    answer = client.post("/models/create", files={"training_audio_files": dataset()}, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.json()["model_id"]


def all_places(service, account: str) -> ExitStack:
    """Take all places of an account among the calls that wait."""
    stack = ExitStack()
    for _ in range(MOST_OF_ACCOUNT):
        stack.enter_context(service.app.state.watch.place(service.account(account).id))
    return stack


def test_conversion_beyond_the_calls_that_may_wait_queues_nothing(serve, refused):
    """It was 429, and the conversion ran."""
    service = serve()
    with all_places(service, "mia"):
        refused(service, partial(service.client("mia").post, "/v1/audio/conversions", **V1), 429, "too_many_waiting")


@pytest.mark.parametrize(
    ("fill", "asked", "status", "code"),
    [
        *(("places", {}, 429, "too_many_waiting"), ("queue", {}, 429, "queue_full")),
        *(("", {"voice": "nobody"}, 404, "model_not_found"), ("", {"speed": "9"}, 422, "invalid")),
    ],
)
def test_speech_that_cannot_be_converted_is_not_spoken(serve, refused, monkeypatch, fill, asked, status, code):
    service = serve(speech_url="http://127.0.0.1:9/v1", conversions_per_account=1)
    spoken = []
    monkeypatch.setattr(openai, "spoken", lambda *given: spoken.append(given))
    client, stack = service.client("mia"), ExitStack()
    if fill == "queue":
        client.post("/convert", **CONVERT)
    with all_places(service, "mia") if fill == "places" else stack:
        body = {"input": "Hello.", "voice": "kathleen", **asked}
        refused(service, partial(client.post, "/v1/audio/speech", json=body), status, code)
    assert spoken == []


@pytest.mark.parametrize("path", ["/convert", "/v1/audio/conversions"])
@pytest.mark.parametrize(
    ("fields", "headers", "code"),
    [
        *(({"callback_url": "http://127.0.0.1/"}, {}, "invalid"), ({"callback_url": "https://xn--a/"}, {}, "invalid")),
        *(({}, {"Cancel-After": "never"}, "invalid"), ({}, {"Idempotency-Key": "k\tk"}, "invalid")),
        *(({}, {"Idempotency-Key": "k" * 256}, "invalid"), ({"transpose": "99"}, {}, "invalid")),
        *(({"likenes": "1"}, {}, "unknown_field"), ({"parts": "0:01 nobody"}, {}, None)),
        ({"effects": "{"}, {}, "invalid"),
    ],
)
def test_conversion_with_a_wrong_part_starts_nothing(serve, path, fields, headers, code):
    service = serve()
    client, name = service.client("mia"), "audio" if path == "/convert" else "file"
    before = state_of(service)
    data = {"model": "kathleen", **fields}
    answer = client.post(path, data=data, files={name: SOUND}, headers=headers)
    assert 400 <= answer.status_code < 500, answer.text
    assert code is None or answer.json()["code"] == code
    assert state_of(service) == before


@pytest.mark.parametrize(
    "end", [b"", b"\r\n--x\r\n", b'\r\n--x\r\nContent-Disposition: form-data; name="likenes"\r\n\r\n1\r\n--x--']
)
def test_body_whose_later_part_is_wrong_leaves_no_file(serve, end):
    service = serve()
    head = b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a.flac"\r\n\r\n'
    before = state_of(service)
    answer = service.client("mia").post(
        "/convert", content=head + SOUND[1] + end, headers={"Content-Type": "multipart/form-data; boundary=x"}
    )
    assert answer.status_code == 422
    assert state_of(service) == before


def test_key_that_was_used_for_something_else_starts_nothing(serve, refused):
    service = serve()
    client, key = service.client("mia"), {"Idempotency-Key": "k"}
    client.post("/convert", **CONVERT, headers=key)
    other = {"data": {"model": "koguchi"}, "files": {"audio": SOUND}}
    refused(service, partial(client.post, "/convert", **other, headers=key), 422, "idempotency_key_reused")
    refused(service, partial(client.post, "/v1/audio/conversions", **V1, headers=key), 422, "idempotency_key_reused")
    model = created(client, **key)
    again = {"training_audio_files": dataset(description="another")}
    refused(service, partial(client.post, "/models/create", files=again, headers=key), 422, "idempotency_key_reused")
    client.post(f"/models/{model}/train", data={"epochs": "3"}, headers=key)
    train = partial(client.post, f"/models/{model}/train", data={"epochs": "4"}, headers=key)
    refused(service, train, 422, "idempotency_key_reused")


def test_full_quotas_start_nothing_and_unpack_nothing(serve, refused, monkeypatch):
    service = serve(conversions_per_account=1, models_per_account=1, trainings_per_account=1)
    client = service.client("mia")
    client.post("/convert", **CONVERT)
    refused(service, partial(client.post, "/convert", **CONVERT), 429, "queue_full")
    refused(service, partial(client.post, "/v1/audio/conversions", **V1), 429, "queue_full")
    model = created(client)
    package = client.get("/models/kathleen/package").content
    for module in ("datasets.create_dataset", "packages._unpacked"):
        monkeypatch.setattr(f"studio.actions.voices.{module}", None)  # which would break
    new = {"training_audio_files": dataset()}
    refused(service, partial(client.post, "/models/create", files=new), 429, "too_many_models")
    imported = {"package": ("a.voice.zip", package)}
    refused(service, partial(client.post, "/models/import", files=imported), 429, "too_many_models")
    wrong = partial(client.post, f"/models/{model}/train", data={"epochs": "3", "callback_url": "http://10.0.0.1/"})
    refused(service, wrong, 422, "invalid")
    late = partial(client.post, f"/models/{model}/train", data={"epochs": "3"}, headers={"Cancel-After": "0"})
    refused(service, late, 422, "invalid")
    service.work("mia", [SOUND[1]])


def test_changes_with_one_wrong_field_change_nothing(serve):
    service = serve()
    client = service.client("mia")
    task = client.post("/convert", **CONVERT).json()["task_id"]
    service.work("mia", [SOUND[1]])
    [project] = client.get("/projects").json()["projects"]
    for path, fields in (
        (f"/projects/{project['id']}", {"name": "New", "tempo_bpm": "-1"}),
        (f"/projects/{project['id']}", {"name": "x" * 1000, "tempo_bpm": "99"}),
        (f"/tasks/{task}/takes/1", {"name": "x" * 1000, "starred": "true"}),
        (f"/tasks/{task}/takes/1", {"name": "New", "starred": "perhaps"}),
        (f"/tasks/{task}/takes/9", {"name": "New", "starred": "true"}),
    ):
        looked = [client.get(one).json() for one in (f"/projects/{project['id']}", f"/tasks/{task}")]
        assert client.put(path, data=fields).status_code in (404, 422)
        assert [client.get(one).json() for one in (f"/projects/{project['id']}", f"/tasks/{task}")] == looked
    comp = client.post(f"/tasks/{task}/comp", data={"takes": "1", "callback_url": "http://localhost/"})
    assert comp.status_code == 422
    assert len(client.get("/tasks").json()["tasks"]) == 1


def test_events_beyond_the_places_and_repeats_to_a_wrong_address_change_nothing(serve, refused):
    service = serve()
    client = service.client("mia")
    sent = {**CONVERT, "data": {"model": "kathleen", "callback_url": "https://example.com/"}}
    task = client.post("/convert", **sent).json()["task_id"]
    with all_places(service, "mia"):
        refused(service, partial(client.get, f"/tasks/{task}/events"), 429, "too_many_waiting")
    [callback] = client.get("/callbacks").json()["callbacks"]
    repeat = partial(client.post, f"/callbacks/{callback['id']}/repeat", data={"callback_url": "https://xn--a/"})
    refused(service, repeat, 422, "invalid")
    assert client.get("/callbacks").json()["callbacks"] == [callback]


@pytest.mark.parametrize(
    ("fields", "headers"), [({"callback_url": "https://example.com/"}, {}), ({}, {"Cancel-After": "5m"})]
)
def test_task_whose_promises_cannot_be_kept_is_not_queued(serve, refused, monkeypatch, fields, headers):
    """They were stored after the task: what failed there was a 503, and the conversion ran without a deadline."""
    service = serve()
    client = service.client("mia")

    def broken(*given):
        raise Unavailable("The database is busy.", 1.0, "database_busy")

    for name in ("set_deadline", "promise_delivery"):
        monkeypatch.setattr(f"studio.store.deadlines_and_callbacks.{name}", broken)
    sent = {"data": {"model": "kathleen", **fields}, "files": {"audio": SOUND}, "headers": headers}
    refused(service, partial(client.post, "/convert", **sent), 503, "database_busy")


def test_promises_are_kept_with_the_task_and_for_a_call_that_is_repeated(serve, monkeypatch):
    service = serve()
    client, key = service.client("mia"), {"Idempotency-Key": "k"}
    assert client.post("/convert", **CONVERT, headers=key).status_code == 200
    late = {"Cancel-After": "1h", **key}
    assert client.post("/convert", **CONVERT, headers=late).status_code == 200
    counted = state_of(service)
    assert (counted["tasks"], counted["deadlines"], counted["deliveries"]) == (1, 1, 0)
    model = created(client, **{"Cancel-After": "1h"})
    train = client.post(f"/models/{model}/train", data={"epochs": "3", "callback_url": "https://example.com/"})
    assert train.json()["status"] == "training"
    counted = state_of(service)
    assert (counted["deadlines"], counted["deliveries"]) == (2, 1)
    assert account_prefix(service.account("mia")).startswith("accounts/")
    assert deliveries.list_deliveries(service.studio.database, service.account("mia").id)[0][0].state == "waiting"


def test_take_of_a_finished_conversion_waits_for_a_turn(serve, monkeypatch):
    """Where all turns of the account were taken, the work was done and its answer refused."""
    service = serve()
    client, turns = service.client("mia"), [openai.TooMany("full", 1.0)] * 2
    first_take = openai.first_take

    def busy(*given):
        if turns:
            raise turns.pop()
        return first_take(*given)

    monkeypatch.setattr(openai, "first_take", busy)
    monkeypatch.setattr(openai, "_TURN_S", 0.0)

    async def ended(*given):
        service.work("mia", [SOUND[1]])
        return True

    monkeypatch.setattr(openai, "while_connected", ended)
    assert client.post("/v1/audio/conversions", **V1).status_code == 200
    assert turns == []


# ---- bodies of calls without files


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", "/models/kathleen/train"), ("POST", "/tasks/{task}/comp"), ("PUT", "/tasks/{task}/takes/1")),
        *(("PUT", "/projects/{project}"), ("POST", "/callbacks/{task}/repeat"), ("POST", "/v1/audio/speech")),
    ],
)
def test_body_of_a_call_without_files_is_refused_by_its_length(serve, method, path):
    """Ninety megabytes were read and thrown away behind the refusal."""
    service = serve()
    client = service.client("mia")
    path = path.format(task="0" * 24, project="0" * 64)
    read = 0

    def body():
        nonlocal read
        for _ in range(900):
            read += 100_000
            yield bytes(100_000)

    answer = None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("studio.http.middleware.DRAIN_S", PATIENCE_S)
        with suppress(httpx.TransportError):  # it was still sending
            answer = client.request(method, path, content=body(), headers={"Content-Length": "90000000"})
    assert answer is None or (answer.status_code, answer.json()["code"]) == (413, "too_large")
    assert read < 32_000_000  # what the system has taken in meanwhile
