"""When a client should look again: estimates from what runs, what waits, and how long it usually takes."""

import math

from studio.errors import TooMany
from studio.store.accounts import Account
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, Task, find, list_tasks, places, running_now, usual_seconds

_LEAST_PROGRESS = 0.05  # below which it says nothing of the time left
_LONGEST_S = 3600.0
_OF_ACCOUNT = 200  # active tasks that are looked at


def ends_in_s(studio: Studio, account: Account, task_id: str, now_s: float) -> float | None:
    """Return the seconds until a task of the account ends, roughly; None if that is unknown. Raises NotFound."""
    task = find(studio.database, account.id, task_id)
    return _Pace(studio, task.kind, now_s).ends_in_s(task) if task.state in ACTIVE else None


def with_true_wait(studio: Studio, account: Account, kind: str, refused: TooMany, now_s: float) -> TooMany:
    """Return the refusal of a full queue with the time until the account's next task of this kind has ended, or that
    of anybody's if the account has none; without knowledge as it is."""
    pace = _Pace(studio, kind, now_s)
    own = [
        task
        for state in ACTIVE
        for task in list_tasks(studio.database, account.id, state=state, kind=kind, limit=_OF_ACCOUNT)[0]
    ]
    known = [left_s for task in own if (left_s := pace.ends_in_s(task)) is not None]
    if not own:
        known = [left_s for one in pace.running if (left_s := pace.left_s(*one)) is not None]
    if not known:
        return refused
    return TooMany(str(refused), min(known), refused.code)


class _Pace:
    """How fast tasks of one kind are done at this moment."""

    def __init__(self, studio: Studio, kind: str, now_s: float) -> None:
        self._studio, self._kind, self._now_s = studio, kind, now_s
        self._usual_s = usual_seconds(studio.database, kind)
        self.running = running_now(studio.database, kind)
        self._places: dict[str, int] | None = None

    def left_s(self, started_at: float, progress: float) -> float | None:
        """Return the seconds until a running task ends: by its progress, at its beginning by what is usual."""
        spent_s = max(0.0, self._now_s - started_at)
        if progress >= _LEAST_PROGRESS:
            return _bounded(spent_s * (1.0 - progress) / progress)
        return None if self._usual_s is None else _bounded(self._usual_s - spent_s)

    def ends_in_s(self, task: Task) -> float | None:
        """Return the seconds until an active task ends."""
        if task.state == "running":
            return self.left_s(task.started_at or self._now_s, task.progress)
        if self._usual_s is None:
            return None
        if self._places is None:
            self._places = places(self._studio.database, self._kind)
        ahead = self._places.get(task.id, len(self._places)) - 1 + len(self.running)
        rounds = ahead // self._workers + 1  # of tasks done at the same time, its own included
        return _bounded(rounds * self._usual_s)

    @property
    def _workers(self) -> int:
        service = self._studio.service
        here = {"conversion": service.conversion_workers, "training": service.training_workers}
        at_once = here.get(self._kind, 1) if service.executor == "local" else len(self.running)
        return max(at_once, 1)


def _bounded(seconds: float) -> float:
    return min(max(seconds, 1.0), _LONGEST_S) if math.isfinite(seconds) else _LONGEST_S
