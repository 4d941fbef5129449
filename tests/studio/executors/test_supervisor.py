import pytest

from studio.executors.supervisor import LONGEST_BACKOFF_S, Backoff
from tests.waiting import OwnClock


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> OwnClock:
    own = OwnClock()
    monkeypatch.setattr("studio.executors.supervisor.time", own)
    return own


def test_backoff_doubles_with_each_failure_up_to_a_limit(clock):
    backoff = Backoff(first_s=0.5)
    pauses = []
    for _ in range(20):
        backoff.failed()
        pauses.append(backoff.not_before - clock.now_s)
    assert pauses[:3] == [1.0, 2.0, 4.0]
    assert pauses[-1] == LONGEST_BACKOFF_S
    assert not backoff.is_over
    clock.sleep(LONGEST_BACKOFF_S)
    assert backoff.is_over


def test_backoff_starts_over_after_a_healthy_time():
    backoff = Backoff(first_s=0.0, healthy_s=30.0, failures=5)
    backoff.failed(lasted_s=31.0)
    assert (backoff.failures, backoff.is_over) == (1, True)


def test_backoff_ends_after_a_success():
    backoff = Backoff(first_s=10.0)
    backoff.failed()
    backoff.succeeded()
    assert (backoff.failures, backoff.is_over) == (0, True)
