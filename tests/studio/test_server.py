"""The server as a process: it starts, says where it is, stays small, and ends without leaving anybody hanging."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from engine.research.onnx_trials import small_model
from studio.load.trial_service import TrialService, trial_service
from studio.server import KEEP_ALIVE_S
from studio.settings.environment import HOME_VARIABLE, PREFIX
from tests.engine.rvc.models import checkpoint_of
from tests.studio.http.routes.test_rvc_models import saved
from tests.waiting import PATIENCE_S, wait_until

pytestmark = pytest.mark.system

TYPE = "multipart/form-data; boundary=x"
HEAD = b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'
BEGUN = bytes(1_500_000)  # of an upload, so that some of it is written
GROWTH = 60_000_000  # bytes that a server may grow by, however much is sent


@pytest.fixture
def bare(tmp_path) -> Iterator[TrialService]:
    """A service of nothing but the server."""
    settings = {"executor": "none", "page": "off", "free_disk_mb": 0, "grace_s": int(PATIENCE_S)}
    with trial_service(tmp_path / "home", **settings) as service:
        yield service


def said(service: TrialService) -> list[dict]:
    lines = service.log.read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.startswith("{")]


def incoming(service: TrialService) -> list[Path]:
    """What lies where uploads go."""
    return list((service.home / "work" / "incoming").glob("*"))


def test_server_finishes_a_running_upload_and_refuses_new_tasks_on_sigterm(bare):
    token = bare.token()
    headers = {"Authorization": f"Bearer {token}"}
    ending = threading.Event()
    answers = []

    def slowly() -> Iterator[bytes]:
        yield HEAD + BEGUN
        ending.wait(PATIENCE_S)
        yield b'RIFF\r\n--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nkathleen\r\n--x--\r\n'

    def upload() -> None:
        with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
            more = headers | {"Content-Type": TYPE}
            answers.append(client.post(f"{bare.base_url}/convert", content=slowly(), headers=more))

    thread = threading.Thread(target=upload)
    thread.start()
    wait_until(lambda: incoming(bare))
    bare.process.send_signal(signal.SIGTERM)
    with httpx.Client(trust_env=False, base_url=bare.base_url, headers=headers, timeout=PATIENCE_S) as client:
        wait_until(lambda: client.get("/health").status_code == 503)
        refused = client.post("/models/kathleen/train", data={"epochs": "1"})
        assert (refused.status_code, refused.json()["code"]) == (503, "shutting_down")
        assert refused.headers["retry-after"]
        assert client.get("/tasks").is_success
    assert bare.process.poll() is None
    ending.set()
    thread.join()
    assert answers[0].status_code == 415  # the upload that had begun was answered: it is no audio
    assert bare.process.wait(PATIENCE_S) == 0
    assert not incoming(bare)
    entries = said(bare)
    calls = [entry for entry in entries if entry["event"] == "call"]
    assert {(call["path"], call["status"]) for call in calls} >= {("/convert", 415), ("/models", 503)}
    assert token not in bare.log.read_text(encoding="utf-8")


def test_server_refuses_an_unfinished_upload_after_the_grace_period(tmp_path):
    with trial_service(tmp_path / "home", executor="none", page="off", free_disk_mb=0, grace_s=1) as service:
        lines = ["POST /convert HTTP/1.1", "Host: here", f"Authorization: Bearer {service.token()}"]
        lines += [f"Content-Type: {TYPE}", "Content-Length: 5000000", "", ""]
        host, port = service.base_url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
            connection.sendall("\r\n".join(lines).encode() + HEAD + BEGUN)
            wait_until(lambda: incoming(service))
            service.process.send_signal(signal.SIGTERM)
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 5\r\n" in head.lower()
        assert json.loads(body)["code"] == "shutting_down"
        assert service.process.wait(PATIENCE_S) == 0
        assert not [entry for entry in said(service) if "exception" in entry or entry["level"] == "critical"]


def ends_at_once_without_a_word_of_trouble(service: TrialService, number: int) -> bool:
    service.process.send_signal(number)
    ended = service.process.wait(KEEP_ALIVE_S - 5) == 0  # it waits for nobody
    return ended and not [one for one in said(service) if one["level"] in ("warning", "error", "critical")]


def test_server_ends_at_once_when_interrupted_while_idle(bare):
    assert ends_at_once_without_a_word_of_trouble(bare, signal.SIGINT)


def test_server_keeps_memory_small_for_a_large_upload_and_ends_at_once(bare):
    headers = {"Authorization": f"Bearer {bare.token()}", "Content-Type": TYPE}
    server = psutil.Process(bare.process.pid)

    def body() -> Iterator[bytes]:
        yield HEAD
        for _ in range(90):
            yield bytes(1_000_000)
            sizes.append(server.memory_info().rss)
        yield b"\r\n--x--\r\n"

    with httpx.Client(trust_env=False, base_url=bare.base_url, timeout=PATIENCE_S) as client:
        client.post("/convert", content=HEAD + b"\r\n--x--\r\n", headers=headers)
        before, sizes = server.memory_info().rss, []
        answer = client.post("/convert", content=body(), headers=headers)
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "model")
    assert max(sizes) - before < GROWTH
    assert ends_at_once_without_a_word_of_trouble(bare, signal.SIGTERM)


def test_serve_refuses_an_address_in_use_with_a_sentence(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = {"PORT": taken.getsockname()[1], "EXECUTOR": "none", "PAGE": "off"}
        environment = os.environ | {PREFIX + name: str(value) for name, value in settings.items()}
        environment |= {HOME_VARIABLE: str(tmp_path / "home")}
        command = [sys.executable, "-m", "studio", "serve"]
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    last = ended.stderr.strip().splitlines()[-1]
    assert last.startswith(f"The service cannot listen on 127.0.0.1, port {settings['PORT']}")
    assert last.endswith("perhaps by the studio itself. Use that, or choose another port with --port.")


def test_server_import_loads_no_slow_modules():
    slow = ("torch", "gradio", "librosa", "scipy.ndimage", "scipy.signal")  # to load
    code = f"import sys, studio.server; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ---- what it loads when it works


def test_server_and_page_load_no_network_and_no_reader_of_files_whatever_they_do(home, tmp_path):
    """After imports, a server held 881 MB; whatever is slow to load is loaded by other processes."""
    (tmp_path / "Mia.pth").write_bytes(saved(checkpoint_of("v1")))
    models = [str(tmp_path / "Mia.pth"), str(small_model(tmp_path / "Bo.onnx"))]
    command = [sys.executable, "-m", "tests.server_at_work", str(tmp_path), *models]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr[-3000:]
