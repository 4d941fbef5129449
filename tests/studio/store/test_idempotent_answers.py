"""A call that is repeated with its Idempotency-Key gets the answer it got, also if both come at once."""

import pytest
from sqlalchemy import func, select, update

from studio.errors import Invalid
from studio.store import idempotent_answers, tasks
from studio.store.accounts import create_account
from studio.store.database import Now
from studio.store.tables import answers as table
from tests.waiting import in_threads

CALL = "POST /convert"


def once(database, account, key="key", fingerprint="f", call=CALL):
    """A call that starts a task: its answer, and whether it was started now."""
    with database.write() as connection:
        known = idempotent_answers.recall(connection, account, call, key, fingerprint)
        if known is not None:
            return known["task_id"], False
        task_id = tasks.submit(connection, account, "conversion", {})
        idempotent_answers.remember(connection, account, call, key, fingerprint, {"task_id": task_id})
        return task_id, True


def test_recall_returns_the_answer_of_the_same_call(database, account):
    task_id, began = once(database, account)
    assert began
    assert once(database, account) == (task_id, False)
    with database.read() as connection:
        assert idempotent_answers.recall(connection, account, CALL, "key", "f") == {"task_id": task_id}
        assert idempotent_answers.recall(connection, account, CALL, "other key", "f") is None


def test_recall_keeps_accounts_calls_and_keys_apart(database, account):
    stranger = create_account(database, "anna").id
    first, _ = once(database, account)
    assert once(database, stranger)[1]
    assert once(database, account, call="POST /models/create")[1]
    assert once(database, account, key="KEY")[1]
    assert once(database, account) == (first, False)


def test_recall_refuses_a_used_key_with_different_content(database, account):
    once(database, account)
    with pytest.raises(Invalid, match="different content") as refused:
        once(database, account, fingerprint="g")
    assert refused.value.code == "idempotency_key_reused"
    assert refused.value.problems[0][0] == "Idempotency-Key"
    assert tasks.counts(database) == {("conversion", "queued"): 1}


def test_recall_forgets_a_key_after_a_day(database, account):
    first, _ = once(database, account)
    with database.write() as connection:
        connection.execute(update(table).values(created_at=Now() - 24 * 3600 + 60))
    assert once(database, account) == (first, False)
    with database.write() as connection:
        connection.execute(update(table).values(created_at=Now() - 24 * 3600 - 1))
    second, began = once(database, account, fingerprint="g")
    assert began
    assert second != first
    assert once(database, account, fingerprint="g") == (second, False)


def test_remember_keeps_nothing_of_a_failed_call(database, account):
    def fail():
        with database.write() as connection:
            idempotent_answers.remember(connection, account, CALL, "key", "f", {"task_id": "x"})
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert once(database, account)[1]


def test_recall_lets_only_one_of_several_simultaneous_calls_run(database, account):
    results = in_threads(6, lambda _: once(database, account))
    assert sorted(began for _, began in results) == [False] * 5 + [True]
    assert len({task_id for task_id, _ in results}) == 1
    assert tasks.counts(database) == {("conversion", "queued"): 1}


def test_recall_on_a_read_connection_does_not_wait_for_a_writer(database, account):
    with database.write() as connection:
        idempotent_answers.recall(connection, account, CALL, "key", "f")
        with database.read() as other:
            assert idempotent_answers.recall(other, account, CALL, "key", "f") is None


@pytest.mark.parametrize("key", ["", "a" * 256, "a\0b", "a\nb"])
def test_recall_refuses_invalid_keys(database, account, key):
    with pytest.raises(Invalid, match="Idempotency-Key must have"):
        once(database, account, key=key)


def test_sweep_deletes_answers_older_than_a_day(database, account):
    for key in ("old", "new"):
        once(database, account, key=key)
    with database.write() as connection:
        connection.execute(update(table).where(table.c.key == "old").values(created_at=Now() - 24 * 3600 - 1))
    assert idempotent_answers.sweep(database) == 1
    with database.read() as connection:
        assert connection.scalar(select(func.max(table.c.key))) == "new"
