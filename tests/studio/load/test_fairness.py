"""The trial of fairness, small, on the real service."""

import pytest

from studio.load.fairness import LIMITS, Waits, measure
from studio.load.trial_service import trial_service


def test_waits_keep_bounds_only_below_the_p95_limit():
    waits = Waits(rounds=20, queued=100, alone_s=1.0, p50_s=2.0, p95_s=4.0, longest_s=5.0)
    assert waits.keeps_bounds
    assert not Waits(**{**vars(waits), "p95_s": 90.0}).keeps_bounds


@pytest.mark.slow
def test_short_conversion_does_not_wait_for_the_queue_of_another_account(tmp_path):
    """A zip of 4.4 MB of one account made a conversion of 2 s of another wait for 228 s."""
    with trial_service(tmp_path / "home", **LIMITS | {"conversions_per_account": 40}) as service:
        waits = measure(service, rounds=3, queued=40, long_s=700.0)
    assert waits.longest_s < waits.alone_s + 30.0
