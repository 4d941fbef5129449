import pytest

from studio.errors import Unavailable
from studio.executors.retries import LONGEST_BACKOFF_S, Backoff, retry
from tests.waiting import OwnClock


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> OwnClock:
    own = OwnClock()
    monkeypatch.setattr("studio.executors.retries.time", own)
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


def test_retry_pauses_longer_each_time_and_gives_up_when_its_time_is_over(clock):
    begun_s, calls_s = clock.now_s, []

    def fail():
        calls_s.append(clock.now_s - begun_s)
        raise Unavailable("Not now.", 1.0)

    with pytest.raises(Unavailable):
        retry(fail, 0.5)
    assert calls_s == pytest.approx([0.0, 0.1, 0.3])


def test_retry_returns_what_the_first_success_returns(clock):
    answers = [Unavailable("Not now.", 1.0), "done"]

    def act():
        answer = answers.pop(0)
        if isinstance(answer, Unavailable):
            raise answer
        return answer

    assert retry(act, 10.0) == "done"
