"""Decide whether an expired lease means a lost worker: not right after a time when no lease could be renewed."""

import time

from studio.store.database import Database

HOLD_OFF_S = 1.5  # grace for expired leases after renewal was impossible
_SLOW_WRITE_S = 0.5  # for an empty write
_CLOCK_JUMP_S = 2.0  # more is not drift: the machine has slept


class LeaseWatch:
    """Detects what keeps all workers from renewing their leases. For one thread."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._count_from = 0.0
        self._clock_ahead_s = time.time() - time.monotonic()

    @property
    def counts(self) -> bool:
        """Return whether expired leases count now."""
        return time.monotonic() >= self._count_from

    def hold_off(self) -> None:
        """Let all workers renew their leases before any counts as lost."""
        self._count_from = time.monotonic() + HOLD_OFF_S

    def notice_a_busy_database(self) -> None:
        """Hold off if another process keeps the database locked. Raises Unavailable."""
        begun_at = time.monotonic()
        with self._database.write():
            pass
        if time.monotonic() - begun_at > _SLOW_WRITE_S:
            self.hold_off()

    def notice_sleep(self) -> None:
        """Hold off after the machine slept: the database's clock went on, heartbeats did not."""
        ahead_s = time.time() - time.monotonic()
        if abs(ahead_s - self._clock_ahead_s) > _CLOCK_JUMP_S:
            self.hold_off()
        self._clock_ahead_s = ahead_s
