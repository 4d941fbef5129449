"""The middleware: tokens, sizes and rates are checked before the body is read."""

import functools
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import update

from studio.errors import TooMany
from studio.http.errors import MEDIA_TYPE
from studio.http.middleware import ServerState
from studio.store.database import Now
from studio.store.tables import tokens
from studio.store.tokens import revoke_token
from tests.waiting import PATIENCE_S, OwnClock, wait_until

PROTECTED = [
    *(("GET", "/models"), ("POST", "/convert"), ("GET", "/check-task/abc"), ("POST", "/models/create")),
    *(("POST", "/models/kathleen/train"), ("GET", "/tasks"), ("GET", "/tasks/abc"), ("DELETE", "/tasks/abc")),
    *(("GET", "/models/kathleen"), ("DELETE", "/models/kathleen"), ("GET", "/models/kathleen/package")),
    *(("POST", "/models/import"), ("GET", "/metrics"), ("POST", "/files/a"), ("GET", "/convert")),
    *(("GET", "/models/a/b/c"), ("PATCH", "/tasks"), ("OPTIONS", "/models")),
]
HEAD = b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
TYPE = {"Content-Type": "multipart/form-data; boundary=x"}


def is_problem(answer: httpx.Response, status: int, code: str) -> bool:
    document = answer.json()
    return (
        (answer.status_code, document["status"], document["code"]) == (status, status, code)
        and answer.headers["content-type"] == MEDIA_TYPE
        and bool(answer.headers["x-request-id"])
    )


def incoming(http) -> list:
    """What lies where uploads go."""
    folder = http.studio.settings.work / "incoming"
    return list(folder.iterdir()) if folder.exists() else []


# ---- who comes in


@pytest.mark.parametrize(("method", "path"), PROTECTED)
def test_protected_routes_refuse_a_missing_token(http, method, path):
    answer = http.stranger().request(method, path)
    assert is_problem(answer, 401, "token_missing")
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "header", ["Bearer", "Basic YTpi", "Bearer ts_wrong", f"Bearer ts_{'a' * 43}", "ts_" + "a" * 43, "Bearer \xff"]
)
def test_models_route_refuses_an_invalid_authorization_header(http, header):
    answer = http.stranger().get("/models", headers={"Authorization": header.encode("latin-1")})
    assert answer.status_code == 401
    assert answer.json()["code"] in ("token_missing", "token_invalid")


def test_models_route_refuses_an_expired_or_revoked_token(http):
    short = http.token("gone", expires_s=3600.0)
    assert http.stranger().get("/models", headers={"Authorization": f"Bearer {short}"}).is_success
    with http.studio.database.write() as connection:
        gone = tokens.c.account_id == http.account("gone").id
        connection.execute(update(tokens).where(gone).values(expires_at=Now() - 0.001))
    assert is_problem(
        http.stranger().get("/models", headers={"Authorization": f"Bearer {short}"}), 401, "token_invalid"
    )
    client = http.client("revoked")
    assert client.get("/models").is_success
    revoke_token(http.studio.database, "test", http.account("revoked"))
    assert is_problem(client.get("/models"), 401, "token_invalid")


def test_authorization_header_accepts_bearer_in_lower_case(http):
    assert http.stranger().get("/models", headers={"Authorization": f"bearer {http.token()}"}).is_success


def test_documentation_requires_a_token_except_on_this_machine(http, serve):
    for path in ("/docs", "/openapi.json", "/docs-files/swagger-ui.css"):
        assert http.stranger().get(path).is_success
    exposed = serve(host="0.0.0.0")
    for path in ("/docs", "/openapi.json", "/docs-files/swagger-ui.css"):
        assert exposed.stranger().get(path).status_code == 401
        assert exposed.client().get(path).is_success


def test_request_id_is_kept_if_valid_and_generated_otherwise(http):
    client = http.client()
    assert client.get("/health", headers={"X-Request-ID": "my-id.1"}).headers["x-request-id"] == "my-id.1"
    for bad in ("a" * 65, "a b", "", '"x"'):
        made = client.get("/health", headers={"X-Request-ID": bad}).headers["x-request-id"]
        assert made
        assert made != bad


def test_call_log_omits_invalid_ids(http, logged):
    for path in ("/models/dear%20diary", "/tasks/" + "z" * 2000, "/tasks/abc"):
        assert http.client().get(path).status_code == 404
    said = [json.loads(line) for line in logged.getvalue().splitlines() if '"call"' in line]
    assert [one.get("model_id", one.get("task_id")) for one in said] == [None, None, "abc"]


# ---- before the body


def connected(http) -> socket.socket:
    host, port = http.base_url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=PATIENCE_S)


def exchanged(http, head: str, body: bytes = b"") -> bytes:
    """What the service answers to these very bytes until it closes."""
    with connected(http) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + body)
        return b"".join(iter(functools.partial(connection.recv, 65536), b""))


@pytest.fixture
def impatient(monkeypatch):
    """A middleware that drains a refused body for a shorter time."""
    monkeypatch.setattr("studio.http.middleware.DRAIN_S", 0.3)


@pytest.mark.usefixtures("impatient")
def test_wrong_token_is_refused_before_the_body_is_sent(http):
    head = "POST /convert HTTP/1.1\nHost: a\nAuthorization: Bearer ts_x\nContent-Length: 99000000\n\n"
    answer = exchanged(http, head)  # which ends, although nothing comes of the body
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"connection: close" in answer.lower()


def test_too_large_body_is_refused_without_100_continue(http):
    head = f"POST /convert HTTP/1.1\nHost: a\nAuthorization: Bearer {http.token()}\n"
    answer = exchanged(http, head + "Content-Length: 200000000\nExpect: 100-continue\n\n")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"100 Continue" not in answer


@pytest.mark.usefixtures("impatient")
def test_content_length_with_5000_leading_zeros_is_valid(http):
    answer = exchanged(http, f"POST /convert HTTP/1.1\nHost: a\nContent-Length: {'0' * 5000}5\n\n", b"hello")
    assert answer.startswith(b"HTTP/1.1 401 ")


@pytest.mark.usefixtures("impatient")
def test_upload_limit_refuses_a_too_large_content_length(serve):
    small = serve(largest_upload_mb=1)
    head = f"POST /convert HTTP/1.1\nHost: a\nAuthorization: Bearer {small.token()}\nContent-Length: 1100000\n\n"
    answer = exchanged(small, head, b"x" * 1000)
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "too_large"


def test_upload_limit_counts_a_body_without_content_length(serve):
    small = serve(largest_upload_mb=1)

    def body():
        yield HEAD
        for _ in range(40):
            yield b"x" * 50_000

    answer = small.client().post("/convert", content=body(), headers=TYPE)
    assert is_problem(answer, 413, "too_large")
    assert not incoming(small)


def test_upload_limit_accepts_a_file_of_exactly_the_largest_size(serve):
    small = serve(largest_upload_mb=1)
    client = small.client()
    for size, status in ((1_000_000, 404), (1_000_001, 413)):
        answer = client.post("/convert", files={"audio": ("a.wav", b"x" * size)}, data={"model": "nobody"})
        assert answer.status_code == status


def test_refused_upload_receives_its_answer_while_still_sending(http, monkeypatch):
    monkeypatch.setattr("studio.http.middleware.DRAIN_S", PATIENCE_S)
    answer = httpx.post(
        f"{http.base_url}/convert",
        content=(b"x" * 65536 for _ in range(60)),
        headers=TYPE,
        timeout=PATIENCE_S,
        trust_env=False,
    )
    assert is_problem(answer, 401, "token_missing")


def test_convert_refuses_an_upload_without_free_disk_space(serve):
    full = serve(free_disk_mb=10_000_000)
    answer = full.client().post("/convert", files={"audio": ("a.wav", b"x")}, data={"model": "kathleen"})
    assert is_problem(answer, 507, "disk_full")


# ---- how often and how many


def test_submission_limit_counts_calls_per_minute_and_account(serve, monkeypatch):
    monkeypatch.setattr("studio.store.rate_limits.MINUTE_S", 1e7)  # it does not end while this runs
    slow = serve(submissions_per_minute=3)
    answers = [slow.client("a").post("/models/nobody/train", data={"epochs": "1"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [404, 404, 404, 429, 429]
    assert is_problem(answers[-1], 429, "rate_limit")
    assert 1 <= int(answers[-1].headers["retry-after"]) <= 1e7
    assert slow.client("b").post("/models/nobody/train", data={"epochs": "1"}).status_code == 404
    assert slow.client("a").get("/models").is_success


@pytest.mark.parametrize("export", ["/models/nobody/package", "/projects/nobody/export"])
def test_submission_limit_counts_exports_as_work(serve, monkeypatch, export):
    monkeypatch.setattr("studio.store.rate_limits.MINUTE_S", 1e7)
    slow = serve(submissions_per_minute=2, reads_per_minute=2)
    answers = [slow.client("a").get(export) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [404, 404, 429, 429]
    assert slow.client("a").get("/models").is_success  # none of them was a read
    slow.app.state.server.shutting_down = True
    assert is_problem(slow.client("b").get(export), 503, "shutting_down")


def test_read_limit_counts_calls_per_account(serve, monkeypatch):
    monkeypatch.setattr("studio.http.middleware.time", OwnClock())  # which would else allow more, one in 12 s
    slow = serve(reads_per_minute=5)
    answers = [slow.client("a").get("/tasks") for _ in range(7)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert slow.client("b").get("/tasks").is_success
    assert slow.stranger().get("/health").is_success


def test_uploads_at_once_limits_concurrent_uploads(serve):
    few = serve(uploads_at_once=1)
    ending = threading.Event()

    def slowly():
        yield HEAD
        ending.wait(PATIENCE_S)
        yield b"\r\n--x--\r\n"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(few.client("a").post, "/convert", content=slowly(), headers=TYPE)
        wait_until(lambda: few.app.state.server.uploads.total())
        second = few.client("b").post("/convert", content=(piece for piece in (HEAD,)), headers=TYPE)
        small = few.client("b").post("/models/nobody/train", data={"epochs": "1"})
        ending.set()
        assert is_problem(second, 429, "too_many_uploads")
        assert small.status_code == 404  # a few bytes need no such place
        assert first.result(PATIENCE_S).status_code == 422
    third = few.client("b").post("/convert", content=(piece for piece in (HEAD,)), headers=TYPE)
    assert third.status_code == 422


def test_server_state_limits_the_uploads_of_one_account():
    state = ServerState()
    with state.upload("a", 3, 2), state.upload("a", 3, 2):
        with pytest.raises(TooMany), state.upload("a", 3, 2):
            pass
        with state.upload("b", 3, 2), pytest.raises(TooMany), state.upload("c", 3, 2):
            pass
    assert not state.uploads
    with state.upload("c", 3, 2):
        assert state.uploads.total() == 1


@pytest.mark.parametrize("token", [True, False])
def test_health_call_with_a_body_takes_no_upload_slot(serve, token):
    few = serve(uploads_at_once=1)
    said = f"Authorization: Bearer {few.token('a')}\r\n" if token else ""
    with connected(few) as connection:
        connection.sendall(f"GET /health HTTP/1.1\r\nHost: a\r\n{said}Transfer-Encoding: chunked\r\n\r\n".encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 200 ")  # and it is read on, for a while
        upload = few.client("b").post("/convert", content=(piece for piece in (HEAD,)), headers=TYPE)
        assert upload.status_code == 422


def test_shutting_down_service_refuses_new_tasks_but_answers_reads(serve):
    ending = serve()
    ending.app.state.server.shutting_down = True
    answer = ending.client().post("/models/nobody/train", data={"epochs": "1"})
    assert is_problem(answer, 503, "shutting_down")
    assert int(answer.headers["retry-after"]) >= 1
    assert ending.client().get("/models").is_success  # whoever waits for a task still can
    assert is_problem(ending.stranger().get("/health"), 503, "shutting_down")


# ---- what goes wrong behind it


def test_internal_error_hides_its_text_from_the_client_and_logs_it(serve, logged):
    broken = serve()

    async def fail() -> None:
        raise RuntimeError("the password is swordfish")

    broken.app.router.add_api_route("/health/fail", fail, include_in_schema=False)
    broken.app.router.routes.insert(0, broken.app.router.routes.pop())
    answer = broken.stranger().get("/health/fail", headers={"X-Request-ID": "find-me"})
    assert is_problem(answer, 500, "internal")
    assert "swordfish" not in answer.text
    [entry] = [json.loads(line) for line in logged.getvalue().splitlines() if "internal error" in line]
    assert entry["request_id"] == "find-me"
    assert "swordfish" in entry["exception"]


def test_call_log_contains_ids_and_no_secrets(serve, logged):
    service = serve()
    token = service.token("logged")
    headers = {"Authorization": f"Bearer {token}", "X-Request-ID": "r-1"}
    client = service.stranger()
    client.get("/check-task/0123456789abcdef01234567?secret=swordfish", headers=headers)
    client.get(f"/models?q={token}", headers=headers)
    client.post("/models/nobody/train", data={"epochs": "7", "x": token}, headers=headers)
    client.get(f"/files/{token}?expires=1&signature=swordfish")
    client.get(f"/tasks/{token}", headers=headers)
    client.get("/models", headers={"Authorization": f"Bearer {token}x"})
    said = logged.getvalue()
    assert token not in said
    assert "swordfish" not in said
    entries = [json.loads(line) for line in said.splitlines()]
    calls = [entry for entry in entries if entry["event"] == "call"]
    assert len(calls) == 6
    expected = {
        "request_id": "r-1",
        "account": service.account("logged").id,
        "method": "GET",
        "path": "/check-task/{task_id}",
        "status": 422,
        "task_id": "0123456789abcdef01234567",
    }
    assert calls[0].items() >= expected.items()
    assert calls[0]["ms"] >= 0


def test_aborted_upload_leaves_no_file_and_frees_its_slot(serve):
    service = serve()
    head = f"POST /convert HTTP/1.1\nHost: a\nAuthorization: Bearer {service.token()}\nContent-Length: 5000000\n"
    head += "Content-Type: multipart/form-data; boundary=x\n\n"
    with connected(service) as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + HEAD + b"x" * 2_000_000)
        wait_until(lambda: incoming(service))
    wait_until(lambda: not (service.app.state.server.calls or incoming(service)))
    assert service.app.state.server.uploads.total() == 0
