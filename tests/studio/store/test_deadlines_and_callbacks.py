"""Deadlines of tasks: cancelled in time, with the reason, whatever they were doing."""

from sqlalchemy import select, update

from studio.executors.recovery import end_training
from studio.store.database import Now, open_database
from studio.store.deadlines_and_callbacks import NOT_BEGUN, RUNNING, cancel_overdue, set_deadline
from studio.store.tables import deadlines
from studio.store.tasks import cancelled, claim, complete, find, submit


def queued(database, account, deadline_s: float) -> str:
    with database.write() as connection:
        task_id = submit(connection, account, "conversion", {})
        set_deadline(connection, account, task_id, deadline_s)
        return task_id


def end(database, how, task, *result) -> None:
    with database.write() as connection:
        how(connection, task, *result)


def pass_time(database, seconds: float) -> None:
    """Let all deadlines be so much nearer: the clock is the database's."""
    with database.write() as connection:
        connection.execute(update(deadlines).values(at=deadlines.c.at - seconds))


def kept(database) -> list[str]:
    with database.read() as connection:
        return list(connection.scalars(select(deadlines.c.task_id)))


def test_cancel_overdue_leaves_tasks_whose_time_has_not_come(database, account):
    task_id = queued(database, account, 3600)
    pass_time(database, 1800)
    assert cancel_overdue(database, end_training) == 0
    assert find(database, account, task_id).state == "queued"
    assert kept(database) == [task_id]


def test_cancel_overdue_aborts_a_queued_task_with_the_reason(database, account):
    task_id = queued(database, account, 3600)
    pass_time(database, 3601)
    assert cancel_overdue(database, end_training) == 1
    task = find(database, account, task_id)
    assert (task.state, task.error_code) == ("cancelled", NOT_BEGUN)
    assert "did not begin before its deadline" in task.error
    assert kept(database) == []


def test_cancel_overdue_asks_the_worker_of_a_running_task_to_stop(database, account):
    task_id = queued(database, account, 3600)
    task = claim(database, "worker", ["conversion"], 60)
    pass_time(database, 3601)
    assert cancel_overdue(database, end_training) == 1
    assert find(database, account, task_id).cancel_requested
    end(database, cancelled, task)
    ended = find(database, account, task_id)
    assert (ended.state, ended.error_code) == ("cancelled", RUNNING)


def test_a_task_that_is_completed_all_the_same_has_no_error(database, account):
    task_id = queued(database, account, 1)
    task = claim(database, "worker", ["conversion"], 60)
    pass_time(database, 2)
    cancel_overdue(database, end_training)
    end(database, complete, task, {})
    assert (find(database, account, task_id).state, find(database, account, task_id).error) == ("completed", None)


def test_cancel_overdue_forgets_a_task_that_ended_in_time(database, account):
    task_id = queued(database, account, 1)
    task = claim(database, "worker", ["conversion"], 60)
    end(database, complete, task, {})
    pass_time(database, 2)
    assert cancel_overdue(database, end_training) == 0
    assert find(database, account, task_id).error is None
    assert kept(database) == []


def test_set_deadline_keeps_the_first_and_survives_a_restart(database, database_url, account):
    task_id = queued(database, account, 100)
    with database.write() as connection:
        set_deadline(connection, account, task_id, 1_000_000)
    again = open_database(database_url)
    with again.read() as connection:
        left_s = connection.scalar(select(deadlines.c.at - Now()))
    again.close()
    assert left_s < 101
