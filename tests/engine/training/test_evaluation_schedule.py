from itertools import pairwise

import pytest

from engine.training.evaluation_schedule import EvaluationSchedule


def evaluated(schedule: EvaluationSchedule, epochs: int) -> list[int]:
    """The epochs after which it is due."""
    found, last = [], 0
    for epoch in range(1, epochs + 1):
        if schedule.is_due(epoch, last, epochs):
            found.append(epoch)
            last = epoch
    return found


@pytest.mark.parametrize("epochs", [1, 2, 7, 100])
def test_evaluation_schedule_always_includes_the_last_epoch(epochs):
    assert evaluated(EvaluationSchedule(5), epochs)[-1] == epochs
    assert evaluated(EvaluationSchedule(5, growing=False), epochs)[-1] == epochs


def test_evaluation_schedule_keeps_the_given_interval_without_growth():
    assert evaluated(EvaluationSchedule(10, growing=False), 45) == [10, 20, 30, 40, 45]


def test_evaluation_schedule_widens_its_intervals_and_avoids_a_short_last_one():
    epochs = evaluated(EvaluationSchedule(3), 400)
    apart = [later - sooner for sooner, later in pairwise(epochs)]
    assert apart[:3] == [3, 3, 3]
    assert apart[-2] > 10
    assert apart[-1] > 5


@pytest.mark.parametrize(("schedule", "epochs"), [(EvaluationSchedule(3), 400), (EvaluationSchedule(7, False), 20)])
def test_evaluation_schedule_count_includes_the_one_before_the_first_epoch(schedule, epochs):
    assert schedule.count(epochs) == 1 + len(evaluated(schedule, epochs))
