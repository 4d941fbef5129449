import pytest
from sqlalchemy import func, select, update

from studio.errors import NotFound
from studio.executors.visitors import PREFIX, account_of_visitor, delete_old_visitors
from studio.store.accounts import create_account, find_account
from studio.store.tables import METADATA, accounts
from studio.store.tasks import cancelled, claim, find, request_cancel, submit

HOUR_S = 3600.0


def grown_old(database, account, seconds):
    with database.write() as connection:
        changed = update(accounts).where(accounts.c.id == account.id)
        connection.execute(changed.values(created_at=accounts.c.created_at - seconds))


def test_account_of_visitor_maps_each_cookie_to_its_own_account(database):
    first, again, other = (account_of_visitor(database, cookie, "s") for cookie in ("one", "one", "two"))
    assert first == again != other
    assert first.name.startswith(PREFIX)
    assert "one" not in first.name.removeprefix(PREFIX)
    assert not first.is_local


def test_account_of_visitor_without_a_cookie_depends_on_the_session(database):
    assert account_of_visitor(database, None, "a") == account_of_visitor(database, None, "a")
    assert account_of_visitor(database, None, "a") != account_of_visitor(database, None, "b")


def test_delete_old_visitors_deletes_accounts_with_files_and_rows(database, folder_storage):
    old, young = account_of_visitor(database, "old", ""), account_of_visitor(database, "young", "")
    person = create_account(database, "band")
    for account in (old, young, person):
        folder_storage.put_bytes(b"sound", f"accounts/{account.id}/tasks/x/input.wav")
        with database.write() as connection:
            task = submit(connection, account.id, "conversion", {"input_key": "x"})
        request_cancel(database, account.id, task)
    grown_old(database, old, 2 * HOUR_S)
    grown_old(database, person, 2 * HOUR_S)
    assert delete_old_visitors(database, folder_storage, HOUR_S) == 1
    with pytest.raises(NotFound):
        find_account(database, old.name)
    assert not list(folder_storage.list_keys(f"accounts/{old.id}"))
    with database.read() as connection:
        for table in METADATA.sorted_tables:
            if "account_id" in table.c:
                left = select(func.count()).select_from(table).where(table.c.account_id == old.id)
                assert connection.scalar(left) == 0
    for account in (young, person):
        assert find_account(database, account.name) == account
        assert list(folder_storage.list_keys(f"accounts/{account.id}"))
    assert delete_old_visitors(database, folder_storage, HOUR_S) == 0


def test_delete_old_visitors_cancels_active_work_and_deletes_later(database, folder_storage):
    old = account_of_visitor(database, "old", "")
    with database.write() as connection:
        runs = submit(connection, old.id, "conversion", {"input_key": "y"})
    with database.write() as connection:
        waits = submit(connection, old.id, "conversion", {"input_key": "x"})
    held = claim(database, "worker", ["conversion"], 60.0)
    assert held is not None
    assert held.id == runs
    grown_old(database, old, 2 * HOUR_S)
    assert delete_old_visitors(database, folder_storage, HOUR_S) == 0
    assert find(database, old.id, waits).state == "cancelled"
    assert find(database, old.id, runs).cancel_requested
    with database.write() as connection:
        cancelled(connection, held)
    assert delete_old_visitors(database, folder_storage, HOUR_S) == 1
