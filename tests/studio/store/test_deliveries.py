"""Deliveries: due when their task has ended, each taken once, tried again after pauses, and kept over a restart."""

import pytest
from sqlalchemy import select, update

from studio.errors import Invalid, NotFound
from studio.store.accounts import create_account
from studio.store.database import Now, open_database
from studio.store.deliveries import (
    KEPT_S,
    PAUSES_S,
    find_delivery,
    list_deliveries,
    promise_delivery,
    repeat,
    sweep,
    take_due,
    was_delivered,
    was_not_delivered,
)
from studio.store.tables import deliveries
from studio.store.tasks import find, remove, request_cancel, submit

URL = "https://example.com/done"


def queued(database, account) -> str:
    with database.write() as connection:
        return submit(connection, account, "conversion", {})


def ended(database, account) -> str:
    task_id = queued(database, account)
    request_cancel(database, account, task_id)
    return task_id


def promised_delivery(database, *given) -> str:
    with database.write() as connection:
        return promise_delivery(connection, *given)


def promised(database, account, url=URL) -> str:
    return promised_delivery(database, account, ended(database, account), url, "http://studio")


def due(database, most=10, most_of_account=10):
    return take_due(database, most, most_of_account, 60.0)


def pass_time(database, seconds) -> None:
    with database.write() as connection:
        moved = {one: deliveries.c[one] - seconds for one in ("next_at", "created_at", "finished_at")}
        connection.execute(update(deliveries).values(moved))


def test_take_due_waits_for_the_end_of_the_task(database, account):
    task_id = queued(database, account)
    delivery_id = promised_delivery(database, account, task_id, URL, "http://studio")
    assert due(database) == []
    request_cancel(database, account, task_id)
    assert [one.id for one in due(database)] == [delivery_id]


def test_take_due_gives_each_to_one_server_until_its_time_is_over(database, account):
    promised(database, account)
    assert len(due(database)) == 1
    assert due(database) == []
    pass_time(database, 61)
    assert len(due(database)) == 1  # whoever had it has died


def test_take_due_takes_a_few_of_each_account_the_longest_due_first(database, account):
    first = [promised(database, account, f"{URL}/{number}") for number in range(4)]
    pass_time(database, 10)
    other = create_account(database, "other").id
    others = [promised(database, other) for _ in range(2)]
    taken = [one.id for one in due(database, most_of_account=2)]
    assert len(taken) == 4
    assert set(others) < set(taken)
    assert len(set(taken) & set(first)) == 2
    assert len(due(database, most=1)) == 1


def test_take_due_includes_those_of_deleted_tasks(database, account):
    task_id = ended(database, account)
    promised_delivery(database, account, task_id, URL, "http://studio")
    remove(database, account, task_id)
    assert [one.task_id for one in due(database)] == [task_id]


def test_promise_delivery_again_is_the_same_and_another_address_another(database, account):
    task_id = ended(database, account)
    ids = [promised_delivery(database, account, task_id, url, "http://studio") for url in (URL, URL, f"{URL}/x")]
    assert ids[0] == ids[1] != ids[2]
    assert len(list_deliveries(database, account)[0]) == 2


def test_was_not_delivered_pauses_longer_each_time_and_gives_up(database, account):
    delivery_id = promised(database, account)
    pauses = []
    for _ in range(len(PAUSES_S) + 1):
        [taken] = due(database)
        was_not_delivered(database, taken, "refused", 500)
        now = find_delivery(database, account, delivery_id)
        if now.state == "waiting":
            with database.read() as connection:
                pauses.append(now.next_at - connection.scalar(select(Now())))
            assert due(database) == []
        pass_time(database, PAUSES_S[-1] + 1)
    assert all(pause <= wanted for pause, wanted in zip(pauses, PAUSES_S, strict=True))
    assert pauses == sorted(pauses)
    found = find_delivery(database, account, delivery_id)
    assert (found.state, found.attempts, found.status, found.error) == ("failed", len(PAUSES_S) + 1, 500, "refused")
    assert due(database) == []


def test_was_not_delivered_for_good_ends_at_once_and_repeat_begins_anew(database, account):
    delivery_id = promised(database, account)
    [taken] = due(database)
    was_not_delivered(database, taken, "private", for_good=True)
    assert find_delivery(database, account, delivery_id).state == "failed"
    again = repeat(database, account, delivery_id, "https://example.org/")
    assert (again.state, again.attempts, again.url) == ("waiting", 0, "https://example.org/")
    [taken] = due(database)
    was_delivered(database, taken, 204)
    done = find_delivery(database, account, delivery_id)
    assert (done.state, done.status, done.error, done.attempts) == ("delivered", 204, None, 1)


def test_result_of_an_attempt_that_took_too_long_changes_nothing(database, account):
    delivery_id = promised(database, account)
    [slow] = due(database)
    repeat(database, account, delivery_id)
    was_delivered(database, slow, 200)
    assert find_delivery(database, account, delivery_id).state == "waiting"


def test_list_deliveries_pages_and_filters_the_accounts_own(database, account):
    ids = []
    for number in range(5):
        ids.append(promised(database, account, f"{URL}/{number}"))
        pass_time(database, 1)
    promised(database, create_account(database, "other").id)
    first, cursor = list_deliveries(database, account, limit=3)
    rest, last = list_deliveries(database, account, limit=3, cursor=cursor)
    assert [one.id for one in (*first, *rest)] == ids[::-1]
    assert last is None
    [found] = list_deliveries(database, account, task_id=first[0].task_id)[0]
    assert found.id == ids[-1]
    assert list_deliveries(database, account, state="failed")[0] == []
    with pytest.raises(Invalid):
        list_deliveries(database, account, cursor="x")


def test_deliveries_of_others_are_unknown(database, account):
    delivery_id = promised(database, create_account(database, "other").id)
    for act in (find_delivery, repeat):
        with pytest.raises(NotFound):
            act(database, account, delivery_id)


def test_deliveries_survive_a_restart_and_are_swept_when_old(database, database_url, account):
    delivery_id = promised(database, account)
    again = open_database(database_url)
    [taken] = due(again)
    was_delivered(again, taken, 200)
    again.close()
    assert find(database, account, taken.task_id).state == "cancelled"
    assert sweep(database) == 0
    pass_time(database, KEPT_S + 1)
    assert sweep(database) == 1
    with pytest.raises(NotFound):
        find_delivery(database, account, delivery_id)
