"""How often an account may call: counted by the minute in the database, which all servers of an installation share."""

from sqlalchemy import delete, select

from studio.database import Database, Now, insert_into
from studio.errors import TooMany
from studio.tables import rates

MINUTE_S = 60.0


def count_call(database: Database, account_id: str, per_minute: int) -> None:
    """Count a call of the account. Raises TooMany where that is more than `per_minute` in this minute, Unavailable."""
    with database.write() as connection:
        now_s = connection.execute(select(Now())).scalar_one()
        minute = int(now_s // MINUTE_S)
        counted = (
            insert_into(connection, rates)
            .values(account_id=account_id, minute=minute, calls=1)
            .on_conflict_do_update(
                index_elements=[rates.c.account_id, rates.c.minute],
                set_={"calls": rates.c.calls + 1},
                where=rates.c.calls < per_minute,
            )
            .returning(rates.c.calls)
        )
        calls = connection.execute(counted).scalar_one_or_none()
        if calls == 1:  # once in a minute, and only the account's own rows, which nobody else waits for
            connection.execute(delete(rates).where(rates.c.account_id == account_id, rates.c.minute < minute))
    if calls is None:
        wait_s = max((minute + 1) * MINUTE_S - now_s, 1.0)
        raise TooMany(f"More than {per_minute} calls in a minute: go on in {wait_s:.0f} seconds.", wait_s, "rate_limit")


def sweep(database: Database) -> int:
    """Forget the counts of past minutes; tells how many they were."""
    with database.write() as connection:
        now_s = connection.execute(select(Now())).scalar_one()
        return connection.execute(delete(rates).where(rates.c.minute < int(now_s // MINUTE_S) - 1)).rowcount
