"""What a database does is counted, on both, and done once."""

from sqlalchemy import func, select, text, update

from studio.load.database_work import plans, work_of
from studio.store.accounts import create_account
from studio.store.tables import accounts

MANY = 400


def fill(database) -> None:
    for number in range(MANY):
        create_account(database, f"account {number}")
    if not database.is_sqlite:  # PostgreSQL plans by what it counts at a time of its own
        with database.write() as connection:
            connection.execute(text("ANALYZE"))


def find(database, column, value) -> object:
    with database.read() as connection:
        return connection.scalar(select(accounts.c.id).where(column == value))


def test_work_grows_with_the_rows_that_are_read_whatever_is_found(database):
    one = create_account(database, "one")
    by_id = work_of(database, lambda: find(database, accounts.c.id, one.id))
    by_all = work_of(database, lambda: find(database, accounts.c.created_at, -1.0))
    fill(database)
    assert by_id.statements == by_all.statements == 1
    assert work_of(database, lambda: find(database, accounts.c.id, one.id)).steps <= by_id.steps + 10
    assert work_of(database, lambda: find(database, accounts.c.created_at, -1.0)).steps >= by_all.steps + MANY


def test_work_is_done_once_and_nobody_counts_afterwards(database):
    one = create_account(database, "one")

    def longer() -> None:
        with database.write() as connection:
            connection.execute(update(accounts).where(accounts.c.id == one.id).values(name=accounts.c.name + "!"))

    assert work_of(database, longer).steps > 0
    with database.read() as connection:
        assert connection.scalar(select(accounts.c.name)) == "one!"
    before = work_of(database, lambda: None)
    longer()
    assert before == work_of(database, lambda: None)


def test_plans_are_the_database_s_own_words(database):
    def count() -> None:
        with database.read() as connection:
            connection.scalar(select(func.count()).select_from(accounts))

    [plan] = plans(database, count)
    assert "accounts" in plan
