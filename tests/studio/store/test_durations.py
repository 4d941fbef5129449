"""Histograms of stages: counted by bucket, added to by all workers, and read cumulated."""

from studio.store.database import open_database
from studio.store.durations import LONGEST_S, UP_TO_S, add_durations, durations_by_stage
from tests.waiting import in_threads


def test_durations_by_stage_cumulates_the_buckets(database):
    for seconds in (0.05, 0.1, 0.3, 7.0, 1e6):
        add_durations(database, "conversion", {"analysing": seconds})
    add_durations(database, "training", {"analysing": 20.0, "training": 3000.0})
    found = durations_by_stage(database)
    assert set(found) == {("conversion", "analysing"), ("training", "analysing"), ("training", "training")}
    analysing = found[("conversion", "analysing")]
    numbers = dict(analysing.buckets)
    assert list(numbers) == list(UP_TO_S)
    assert [numbers[one] for one in (0.1, 0.25, 0.5, 10.0, 7200.0, LONGEST_S)] == [2, 2, 3, 4, 4, 5]
    assert analysing.seconds == 0.05 + 0.1 + 0.3 + 7.0 + 1e6
    assert found[("training", "training")].seconds == 3000.0


def test_add_durations_without_stages_writes_nothing(database):
    add_durations(database, "report", {})
    assert durations_by_stage(database) == {}


def test_add_durations_of_workers_at_the_same_time_are_all_counted(database, database_url):
    def work(_):
        own = open_database(database_url)
        for _ in range(5):
            add_durations(own, "conversion", {"writing": 1.0, "analysing": 2.0})
        own.close()

    in_threads(4, work)
    assert durations_by_stage(database)[("conversion", "writing")].seconds == 20.0
