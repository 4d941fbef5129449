"""A demo that is flooded with new sessions, and a service whose places for uploads are held by trickling clients."""

import secrets
import threading
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest

from studio.load.trial_service import TrialService, trial_service
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.slow

SESSIONS, KEPT = 600, 40
GROWTH = 20_000_000  # bytes; 5 MB where 40 are kept, 34 where all are
HEAD = b'--x\r\nContent-Disposition: form-data; name="audio"; filename="a.wav"\r\n\r\n'


def joins(demo: TrialService, number: int, address: str = "") -> Iterator[int]:
    """Open sessions, and wait for what each answers; yield the status of the call."""
    headers = {"Origin": demo.base_url} | ({"X-Forwarded-For": address} if address else {})
    with httpx.Client(base_url=demo.base_url, headers=headers, trust_env=False, timeout=PATIENCE_S) as client:
        for _ in range(number):
            session = secrets.token_hex(6)
            event = {"fn_index": 0, "session_hash": session, "data": []}
            answer = client.post("/gradio_api/queue/join", json=event)
            if answer.is_success:
                with client.stream("GET", "/gradio_api/queue/data", params={"session_hash": session}) as told:
                    next(line for line in told.iter_lines() if "process_completed" in line)
            yield answer.status_code


def test_demo_memory_stays_bounded_with_new_sessions(tmp_path):
    with trial_service(tmp_path / "home", executor="none", demo="on", page_sessions=KEPT) as demo:
        assert set(joins(demo, KEPT // 2, "8.8.4.4")) == {200}
        before = psutil.Process(demo.process.pid).memory_info().rss
        for number in range(SESSIONS // 20):  # from many addresses
            assert set(joins(demo, 20, f"8.8.{number}.8")) == {200}
        assert psutil.Process(demo.process.pid).memory_info().rss - before < GROWTH


def test_demo_limits_new_sessions_per_address(tmp_path):
    with trial_service(tmp_path / "home", executor="none", demo="on", page_sessions_per_address=10) as demo:
        answers = list(joins(demo, 30, "8.8.8.8"))
        assert answers[:10] == [200] * 10
        assert 429 in answers
        assert set(joins(demo, 5, "1.1.1.1")) == {200}  # others are not


def test_service_cuts_off_trickling_uploads_and_frees_their_places(tmp_path):
    settings = {"executor": "none", "page": "off", "uploads_at_once": 2}
    with trial_service(tmp_path / "home", **settings) as service:
        headers = {"Authorization": f"Bearer {service.token()}", "Content-Type": "multipart/form-data; boundary=x"}
        ended, cut = threading.Event(), []

        def trickle() -> Iterator[bytes]:
            yield HEAD
            while not ended.is_set():
                time.sleep(1)
                yield b"x" * 1000

        def upload() -> None:
            with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
                cut.append(client.post(f"{service.base_url}/convert", content=trickle(), headers=headers).json())

        threads = [threading.Thread(target=upload) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(3)
        whole = HEAD + b'x\r\n--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nkathleen\r\n--x--\r\n'

        def other() -> int:
            content = iter([whole])  # of unknown length: such a body takes a place
            with httpx.Client(trust_env=False, timeout=PATIENCE_S) as client:
                return client.post(f"{service.base_url}/convert", content=content, headers=headers).status_code

        assert other() == 429
        deadline = time.monotonic() + 60
        while other() == 429:
            assert time.monotonic() < deadline
            time.sleep(2)
        ended.set()
        for thread in threads:
            thread.join()
        assert {one["code"] for one in cut} == {"too_slow"}
