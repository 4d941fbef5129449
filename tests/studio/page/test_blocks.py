"""The page as a browser asks for it, before any script runs; what it does is tested in a browser with the tabs."""

import json
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from studio.load.trial_service import TrialService, trial_service
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def demo(tmp_path_factory) -> Iterator[TrialService]:
    with trial_service(tmp_path_factory.mktemp("demo") / "home", executor="none", demo="on") as service:
        yield service


def asked(service: TrialService) -> httpx.Client:
    return httpx.Client(base_url=service.base_url, trust_env=False, timeout=PATIENCE_S)


def test_page_is_served_beside_the_service_routes(service):
    with asked(service) as client:
        assert "Timbre Studio" in client.get("/").text
        assert client.get("/health").json()["status"] == "ok"
        client.headers["Authorization"] = f"Bearer {service.token()}"
        for answer, status in ((client.post("/check-task/x"), 405), (client.get("/tasks/x/y"), 404)):
            assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
        assert "/config" not in client.get("/openapi.json").json()["paths"]


def test_page_publishes_no_gradio_api_endpoints(service):
    with asked(service) as client:
        assert client.get("/gradio_api/info").json() == {"named_endpoints": {}, "unnamed_endpoints": {}}


FILE = {"meta": {"_type": "gradio.FileData"}}


def told_by_event(client: httpx.Client, data: list[object], event: object = None) -> str:
    """What the first event of the page that takes a file ends with."""
    configuration = client.get("/config").json()
    (drop,) = [one["id"] for one in configuration["components"] if one["props"].get("elem_id") == "convert-drop"]
    (put_in,) = [one for one in configuration["dependencies"] if one["inputs"][:1] == [drop]]
    return ended(client, put_in, [*data, *[None] * (len(put_in["inputs"]) - len(data))], event)


def ended(client: httpx.Client, called: dict[str, Any], data: list[object], event: object = None) -> str:
    """What an event ends with, called in a session of its own."""
    session = secrets.token_hex(8)
    asked_for = {"fn_index": called["id"], "session_hash": session, "data": data, "event_data": event}
    body, headers = json.dumps(asked_for), {"Content-Type": "application/json"}  # which can hold half a character
    assert client.post("/gradio_api/queue/join", content=body, headers=headers).is_success
    with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as answer:
        return next(line for line in answer.iter_lines() if "process_completed" in line)


NOT_UPLOADED = ["/etc/passwd", "/dev/zero", "pyproject.toml", "https://example.org/a.wav"]
NOT_UPLOADED += ["a\0b", "a/" * 5000, "\ud800"]


@pytest.mark.parametrize("path", NOT_UPLOADED, ids=map(str, range(len(NOT_UPLOADED))))
def test_events_refuse_a_file_that_was_not_uploaded(service, path):
    with asked(service) as client:
        assert "was not uploaded here" in told_by_event(client, [FILE | {"path": path}])
        assert "was not uploaded here" in told_by_event(client, [None], {"at": [FILE | {"path": path}]})
        (uploaded,) = client.post("/gradio_api/upload", files={"files": ("a.wav", b"no sound")}).json()
        assert str(service.home) not in uploaded
        beside = str(Path(uploaded) / ".." / ".." / ".." / ".." / "studio.sqlite")
        assert "was not uploaded here" in told_by_event(client, [FILE | {"path": beside}])
        assert "is not an audio file" in told_by_event(client, [FILE | {"path": uploaded}])
        assert client.get(f"/gradio_api/file={uploaded}").content == b"no sound"


def test_demo_serves_an_upload_only_to_its_own_visitor(demo):
    with asked(demo) as anna, asked(demo) as bert:
        for client in (anna, bert):
            client.headers["Origin"] = demo.base_url
            client.get("/")
        (uploaded,) = anna.post("/gradio_api/upload", files={"files": ("a.wav", b"no sound")}).json()
        [path] = demo.home.rglob("a.wav")
        assert anna.get(f"/gradio_api/file={uploaded}").content == b"no sound"
        assert "is not an audio file" in told_by_event(anna, [FILE | {"path": uploaded}])
        for name in (uploaded, path):
            assert bert.get(f"/gradio_api/file={name}").status_code == 404
            assert "was not uploaded here" in told_by_event(bert, [FILE | {"path": str(name)}])


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("POST", "run/predict"), ("POST", "call/predict"), ("POST", "component_server")),
        ("POST", "process_recording"),
        *(("GET", "proxy=http://127.0.0.1"), ("GET", "file/etc/hosts"), ("POST", "vibe-edit"), ("GET", "deep_link")),
    ],
)
def test_unused_gradio_routes_return_not_found(service, method, path):
    with asked(service) as client:
        answer = client.request(method, f"/gradio_api/{path}", json={"data": [], "fn_index": 0})
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("body", [b"{", b"[" * 100_000, b"[]", b'{"session_hash": 1}', b'{"session_hash": "a/b"}'])
def test_queue_join_refuses_an_invalid_event_with_a_sentence(service, body):
    with asked(service) as client:
        answer = client.post("/gradio_api/queue/join", content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code == 422
        assert answer.json()["detail"].startswith("The event ")
        assert client.post("/gradio_api/queue/join", content=bytes(5_000_000)).status_code == 413


def test_gradio_session_routes_refuse_another_visitor(demo):
    with asked(demo) as anna, asked(demo) as bert:
        for client in (anna, bert):
            client.headers["Origin"] = demo.base_url
            client.get("/")
        event = {"fn_index": 0, "session_hash": "annas", "data": []}
        assert anna.post("/gradio_api/queue/join", json=event).is_success
        assert bert.post("/gradio_api/queue/join", json=event).status_code == 401
        assert bert.get("/gradio_api/queue/data", params={"session_hash": "annas"}).status_code == 401
        assert bert.get("/gradio_api/heartbeat/annas").status_code == 401
        assert bert.post("/gradio_api/cancel", json=event | {"event_id": "x"}).status_code == 401


def test_events_accept_a_choice_that_no_longer_exists(service):
    with asked(service) as client:
        configuration = client.get("/config").json()
        props = {one["id"]: one["props"] for one in configuration["components"]}
        changing = [one["id"] for one in configuration["components"] if props[one["id"]].get("choices") == []]
        assert len(changing) > 6
        called = [
            next((event for event in configuration["dependencies"] if one in event["inputs"]), None) for one in changing
        ]
        for one, event in zip(changing, called, strict=True):
            if event is not None:  # some only show
                data = ["gone" if it == one else props[it].get("value") for it in event["inputs"]]
                assert "list of choices" not in ended(client, event, data), props[one]["label"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:7860", "192.168.1.5", "[", ""])
def test_page_and_service_refuse_a_foreign_host_header(service, host):
    with asked(service) as client:
        assert client.get("/config", headers={"Host": host}).status_code in (400, 403)
        assert client.get("/models", headers={"Host": host}).status_code in (400, 401)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1.evil.example", "null", "["])
def test_upload_route_refuses_a_foreign_origin(service, origin):
    files = {"files": ("a.wav", b"x")}
    with asked(service) as client:
        assert client.post("/gradio_api/upload", files=files, headers={"Origin": origin}).status_code == 403
        assert client.post("/gradio_api/upload", files=files, headers={"Origin": service.base_url}).status_code == 200
        assert client.get("/health", headers={"Origin": origin}).status_code == 200


def test_options_asterisk_request_returns_404_or_405(service):
    host, port = service.base_url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(b"OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert connection.recv(100).split()[1] in (b"404", b"405")
