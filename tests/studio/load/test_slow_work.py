"""The trial beside slow work, small, on the real service."""

import pytest

from studio.load.slow_work import LIMITS, SlowWork, measure
from studio.load.trial_service import trial_service


def test_slow_work_keeps_bounds_only_while_convert_does_not_wait():
    found = SlowWork(0.1, 1.0, 0.1, 0.2, 1.0, 1.5, {"imports": 3}, (140, 150), 700)
    assert found.keeps_bounds
    assert not SlowWork(**{**vars(found), "call_p95_s": 38.0}).keeps_bounds


@pytest.mark.slow
def test_server_answers_slow_calls_of_one_account_and_stays_small(tmp_path):
    """Three calls of each kind grew it to 1.9 GB."""
    with trial_service(tmp_path / "home", **LIMITS) as service:
        found = measure(service, calls=4, rounds=2, at_once=9)
    assert set(found.answered) <= {"imports", "checks", "exports"}
    assert found.server_mb[1] - found.server_mb[0] < 100
