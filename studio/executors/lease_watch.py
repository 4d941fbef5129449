"""Whether an expired lease means a lost worker: not just after a time in which no lease could be renewed."""

import time

from studio.store.database import Database

HOLD_OFF_S = 1.5  # until a lease that ran out counts, after it could not be renewed
_SLOW_WRITE_S = 0.5  # of nothing at all
_CLOCK_JUMP_S = 2.0  # more is not drift: the machine has slept


class LeaseWatch:
    """Notices what keeps all workers from renewing their leases. For one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count_from = 0.0
        self._clock_ahead_s = time.time() - time.monotonic()

    @property
    def counts(self) -> bool:
        """Whether a lease that is over counts now."""
        return time.monotonic() >= self._count_from

    def hold_off(self) -> None:
        """No lease could be renewed for a while: let all workers renew theirs before any is taken for lost."""
        self._count_from = time.monotonic() + HOLD_OFF_S

    def notice_a_busy_database(self) -> None:
        """Hold off if another process keeps the database locked. Raises Unavailable."""
        begun_at = time.monotonic()
        with self._database.write():
            pass
        if time.monotonic() - begun_at > _SLOW_WRITE_S:
            self.hold_off()

    def notice_sleep(self) -> None:
        """Hold off after the machine has slept: the database's clock went on, heartbeats did not."""
        ahead_s = time.time() - time.monotonic()
        if abs(ahead_s - self._clock_ahead_s) > _CLOCK_JUMP_S:
            self.hold_off()
        self._clock_ahead_s = ahead_s
