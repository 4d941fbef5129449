"""A demo that is flooded with new sessions."""

import secrets
from collections.abc import Iterator

import httpx
import psutil
import pytest

from studio.load.trial_service import TrialService, trial_service
from tests.waiting import PATIENCE_S

pytestmark = pytest.mark.slow

SESSIONS, KEPT = 600, 40
GROWTH = 20_000_000  # bytes; 5 MB where 40 are kept, 34 where all are


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
