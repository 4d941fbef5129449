"""Limit calls per account and minute: within this process, and counted in the database that all servers share."""

import math
import threading
from dataclasses import dataclass

from sqlalchemy import delete, select

from engine.texts import ntr
from studio.errors import StudioError, TooMany
from studio.store.database import SHORTLY_S, Database, Now, insert_into
from studio.store.tables import rates

MINUTE_S = 60.0
SUBMISSIONS, READS = "submissions", "reads"
_PARTS = 100  # a server reserves this fraction of a minute's reads


class Bucket:
    """Token bucket: the calls an account may make now, within this process. Times in seconds of any clock."""

    def __init__(self, per_minute: int, now_s: float) -> None:
        self._per_minute, self._left, self._at_s = per_minute, float(per_minute), now_s

    def take(self, now_s: float) -> None:
        """Count a call. Raises TooMany if the bucket is empty."""
        per_second = self._per_minute / 60
        self._left = min(self._per_minute, self._left + (now_s - self._at_s) * per_second)
        self._at_s = now_s
        if self._left < 1:
            raise _too_many(self._per_minute, (1 - self._left) / per_second)
        self._left -= 1


@dataclass(frozen=True)
class _Taken:
    """How many calls were granted, and the seconds until their minute ends."""

    number: int
    wait_s: float


def count_call(database: Database, account_id: str, per_minute: int) -> None:
    """Count a call of the account. Raises TooMany if it exceeds `per_minute` in this minute, Unavailable."""
    taken = _take(database, account_id, SUBMISSIONS, 1, per_minute)
    if not taken.number:
        raise _too_many(per_minute, taken.wait_s)


class SharedReads:
    """Count reads, reserving several at a time from the shared limit, so that few calls have to write. Thread-safe.
    What a server reserves and does not use is lost to the others until the minute ends."""

    def __init__(self, database: Database, per_minute: int) -> None:
        self._database, self._per_minute = database, per_minute
        self._left: dict[str, tuple[int, float]] = {}  # account -> remaining, until
        self._refused_until_s: dict[str, float] = {}
        self._lock = threading.Lock()

    def take_reserved(self, account_id: str, now_s: float) -> bool:
        """Count a call among the reserved ones, if any are left. now_s: of any clock.
        Raises TooMany, without a database query, if the account has already been refused in this minute."""
        with self._lock:
            if (wait_s := self._refused_until_s.get(account_id, 0.0) - now_s) > 0:
                raise _too_many(self._per_minute, wait_s)
            left, until_s = self._left.get(account_id, (0, 0.0))
            if not left or now_s >= until_s:
                return False
            self._left[account_id] = left - 1, until_s
            return True

    def take(self, account_id: str, now_s: float) -> None:
        """Reserve more calls and count one; a database that is busy refuses none. Raises TooMany if none are left."""
        try:
            number = max(1, self._per_minute // _PARTS)
            taken = _take(self._database, account_id, READS, number, self._per_minute, SHORTLY_S)
        except StudioError:
            return
        if not taken.number:
            with self._lock:
                self._refused_until_s[account_id] = now_s + taken.wait_s
            raise _too_many(self._per_minute, taken.wait_s)
        with self._lock:
            left, until_s = self._left.get(account_id, (0, 0.0))
            still = left if now_s < until_s else 0
            self._left[account_id] = still + taken.number - 1, now_s + taken.wait_s


def sweep(database: Database) -> int:
    """Delete the counts of past minutes; return how many."""
    with database.write() as connection:
        now_s = connection.execute(select(Now())).scalar_one()
        return connection.execute(delete(rates).where(rates.c.minute < int(now_s // MINUTE_S) - 1)).rowcount


def _take(
    database: Database, account_id: str, what: str, number: int, per_minute: int, patience_s: float | None = None
) -> _Taken:
    """Count `number` calls of the account at once: all or none."""
    with database.write(patience_s) as connection:
        now_s = connection.execute(select(Now())).scalar_one()
        minute = int(now_s // MINUTE_S)
        counted = (
            insert_into(connection, rates)
            .values(account_id=account_id, what=what, minute=minute, calls=number)
            .on_conflict_do_update(
                index_elements=[rates.c.account_id, rates.c.what, rates.c.minute],
                set_={"calls": rates.c.calls + number},
                where=rates.c.calls + number <= per_minute,
            )
            .returning(rates.c.calls)
        )
        calls = connection.execute(counted).scalar_one_or_none()
        if calls == number:  # once a minute, and only the account's own rows
            old = (rates.c.account_id == account_id, rates.c.what == what, rates.c.minute < minute)
            connection.execute(delete(rates).where(*old))
    return _Taken(0 if calls is None else number, max((minute + 1) * MINUTE_S - now_s, 1.0))


def _too_many(per_minute: int, wait_s: float) -> TooMany:
    return TooMany(
        ntr(
            "More than {per_minute} call per minute. Continue in {wait_s} s.",
            "More than {per_minute} calls per minute. Continue in {wait_s} s.",
            per_minute=per_minute,
            wait_s=math.ceil(wait_s),
        ),
        wait_s,
        "rate_limit",
    )
