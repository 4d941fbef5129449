import time

import pytest

from studio.executors.supervisor import LONGEST_BACKOFF_S, Backoff


def pause_s(backoff: Backoff) -> float:
    return backoff.not_before - time.monotonic()


def test_backoff_doubles_with_each_failure_up_to_a_limit():
    backoff = Backoff(first_s=0.5)
    pauses = []
    for _ in range(20):
        backoff.failed()
        pauses.append(pause_s(backoff))
    assert pauses[:3] == pytest.approx([1.0, 2.0, 4.0], abs=0.1)
    assert pauses[-1] == pytest.approx(LONGEST_BACKOFF_S, abs=0.1)
    assert not backoff.is_over


def test_backoff_starts_over_after_a_healthy_time():
    backoff = Backoff(first_s=0.0, healthy_s=30.0, failures=5)
    backoff.failed(lasted_s=31.0)
    assert (backoff.failures, backoff.is_over) == (1, True)


def test_backoff_ends_after_a_success():
    backoff = Backoff(first_s=10.0)
    backoff.failed()
    backoff.succeeded()
    assert (backoff.failures, backoff.is_over) == (0, True)
