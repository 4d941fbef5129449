"""When tasks will have ended: by their progress, by what is usual, and by what is before them."""

import pytest
from sqlalchemy import select, update

from studio.actions.conversions import ConversionRequest, start_conversion
from studio.actions.queue_times import ends_in_s, with_true_wait
from studio.errors import TooMany
from studio.store.database import Now
from studio.store.tables import tasks
from studio.store.tasks import claim, renew

FULL = TooMany("full", 10.0, "queue_full")


def start(studio, recording, account=None) -> str:
    return start_conversion(
        studio, account or studio.local, recording(), "vocal.wav", ConversionRequest("kathleen", {})
    )


def change(studio, task_id, **values) -> None:
    with studio.database.write() as connection:
        connection.execute(update(tasks).where(tasks.c.id == task_id).values(**values))


def moment(studio) -> float:
    with studio.database.read() as connection:
        return connection.scalar(select(Now()))


def running(studio, task_id, spent_s, progress, now_s) -> None:
    task = claim(studio.database, "worker", ["conversion"], 3600)
    assert task.id == task_id
    renew(studio.database, task, 3600, progress)
    change(studio, task_id, started_at=now_s - spent_s)


def test_ends_in_s_follows_the_progress_of_a_running_task(studio, recording):
    task_id, now_s = start(studio, recording), moment(studio)
    running(studio, task_id, 30.0, 0.25, now_s)
    assert ends_in_s(studio, studio.local, task_id, now_s) == pytest.approx(90.0)


def test_ends_in_s_of_a_queued_task_counts_those_before_it_by_what_is_usual(studio, recording, converted):
    now_s = moment(studio)
    change(studio, converted, started_at=now_s - 40.0, finished_at=now_s)  # 40 s are usual
    ids = [start(studio, recording) for _ in range(3)]
    assert [ends_in_s(studio, studio.local, one, now_s) for one in ids] == pytest.approx([40.0, 80.0, 120.0])
    assert ends_in_s(studio, studio.local, converted, now_s) is None


def test_ends_in_s_is_unknown_without_any_experience(studio, recording):
    assert ends_in_s(studio, studio.local, start(studio, recording), moment(studio)) is None


def test_with_true_wait_is_that_of_the_accounts_next_end_or_as_it_was(studio, recording, other):
    now_s = moment(studio)
    assert with_true_wait(studio, studio.local, "conversion", FULL, now_s) is FULL
    task_id = start(studio, recording)
    assert with_true_wait(studio, studio.local, "conversion", FULL, now_s) is FULL
    running(studio, task_id, 30.0, 0.25, now_s)
    start(studio, recording)
    assert with_true_wait(studio, studio.local, "conversion", FULL, now_s).retry_after_s == pytest.approx(90.0)
    assert with_true_wait(studio, other, "conversion", FULL, now_s).retry_after_s == pytest.approx(90.0)
    change(studio, task_id, started_at=now_s - 1e9)
    refused = with_true_wait(studio, studio.local, "conversion", FULL, now_s)
    assert (refused.retry_after_s, refused.code, str(refused)) == (3600.0, "queue_full", "full")
