"""Tasks: shown, cancelled, deleted with their results, and when they end."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field, WithJsonSchema
from sqlalchemy import Connection

from engine.texts import joined
from studio.actions.account import voice_names
from studio.actions.conversions.views import ConversionView, TaskFacts
from studio.errors import NotFound, TooMany, WrongState
from studio.executors.recovery import end_training
from studio.store.accounts import Account, account_prefix
from studio.store.kinds import CONVERSION, LISTED, TEACHING, TRAINING
from studio.store.projects import forget_empty
from studio.store.records.codec import Maybe, Record, Time, left_out, open_ended, shown_as
from studio.store.records.voices import NewVoice, Teaching, Training
from studio.store.studio import Cost, Studio, costs
from studio.store.task_filter import TaskFilter
from studio.store.tasks import (
    ACTIVE,
    State,
    Task,
    find,
    forget_outputs,
    list_tasks,
    places,
    remove,
    request_cancel,
    running_now,
    usual_seconds,
)
from studio.tracing import trace_id_of

TASK_ID = "8f14e45fceea167a5a36dedd"  # an example
_LEAST_PROGRESS = 0.05  # below which it says nothing of the time left
_LONGEST_S = 3600.0
_OF_ACCOUNT = 200  # active tasks that are looked at


@dataclass(frozen=True, kw_only=True)
class _AnyTask(Record):
    """What all tasks show of themselves."""

    id: Annotated[str, Field(examples=[TASK_ID])]
    # the others are shown in place, but can be asked for by their ids
    kind: Annotated[str, WithJsonSchema({"type": "string", "enum": [*LISTED]})]
    model: str | None
    model_name: Annotated[str | None, Field(description="The name of the voice, even after its deletion.")]
    state: Annotated[str, shown_as(State)]
    progress: Annotated[float, Field(ge=0, le=1)]
    message: str
    error: str | None
    error_code: str | None
    trace_id: Maybe[
        Annotated[str | None, Field(description="Of its OpenTelemetry trace, if the service sends traces.")]
    ] = field(default_factory=left_out)
    attempt: Annotated[int, Field(ge=0)]
    created_at: Annotated[str | None, shown_as(Time)]
    started_at: Time | None
    finished_at: Time | None


@open_ended
@dataclass(frozen=True, kw_only=True)
class TaskView(TaskFacts, _AnyTask):
    """A task in full. Conversions also have their settings, scores and links."""


@dataclass(frozen=True, kw_only=True)
class Tasks(Record):
    """Tasks, newest first."""

    tasks: list[TaskView]
    next_cursor: str | None


def task_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> TaskView:
    """Return all that an account may see of one of its tasks. Raises NotFound."""
    return _named_view(studio, account, find(studio.database, account.id, task_id), base_url, now_s)


def task_views(
    studio: Studio,
    account: Account,
    base_url: str,
    now_s: float,
    *,
    wanted: TaskFilter | None = None,
    limit: int = 50,
    cursor: str | None = None,
) -> Tasks:
    """Return the account's tasks, newest first, and the next page's cursor. Raises Invalid for an unknown cursor.

    wanted: by default all that is part of the history.
    """
    found, following = list_tasks(studio.database, account.id, wanted=wanted, limit=limit, cursor=cursor)
    return Tasks(tasks=task_views_of(studio, account, found, base_url, now_s), next_cursor=following)


def task_views_of(
    studio: Studio, account: Account, found: Sequence[Task], base_url: str, now_s: float
) -> list[TaskView]:
    """Return tasks that were read before as `task_view` has them."""
    named = voice_names(studio.database, account, found)
    return [_view(studio, task, named[task.id], base_url, now_s) for task in found]


def with_places(studio: Studio, views: Sequence[TaskView]) -> list[TaskView]:
    """Return tasks with their `place` in the queue: 1 for the next, None for one that does not wait."""
    waiting = {view.kind for view in views if view.state == "queued"}
    found = {task_id: place for kind in waiting for task_id, place in places(studio.database, kind).items()}
    return [replace(view, place=found.get(view.id)) for view in views]


def cancel_task(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> TaskView:
    """Cancel a task: at once if it is queued, else as soon as its worker notices. Raises NotFound, WrongState."""
    task = request_cancel(studio.database, account.id, task_id, also=end_training)
    return _named_view(studio, account, task, base_url, now_s)


def delete_task(studio: Studio, account: Account, task_id: str) -> None:
    """Delete an ended task with its recording and its results; a voice that it trained stays.

    Raises NotFound, and WrongState for a queued or running task.
    """
    with studio.storage.deleting() as take_away:

        def also(connection: Connection, task: Task) -> None:
            take_away(f"{account_prefix(account)}tasks/{task.id}")
            forget_empty(connection, account.id)

        remove(studio.database, account.id, task_id, also)


def delete_tasks(studio: Studio, account: Account, task_ids: Sequence[str]) -> list[str]:
    """Delete those of these tasks that have ended, as `delete_task` does; return their ids.

    Queued and running ones stay, and what other tasks hold, even of the same recording. Raises Unavailable.
    """
    deleted = []
    for task_id in dict.fromkeys(task_ids):
        with suppress(NotFound, WrongState):  # it has not ended, or another window was faster
            delete_task(studio, account, task_id)
            deleted.append(task_id)
    return deleted


@costs(Cost.DELETE)
def delete_results(studio: Studio, account: Account, task_id: str) -> None:
    """Delete the recording and the takes of a conversion that has ended; the task itself stays in the lists.

    Raises NotFound, and WrongState for a queued or running task.
    """
    find(studio.database, account.id, task_id, kind=CONVERSION)
    with studio.storage.deleting() as take_away, studio.database.write() as connection:
        forget_outputs(connection, account.id, task_id)
        take_away(f"{account_prefix(account)}tasks/{task_id}")


def _named_view(studio: Studio, account: Account, task: Task, base_url: str, now_s: float) -> TaskView:
    return _view(studio, task, voice_names(studio.database, account, [task])[task.id], base_url, now_s)


def _view(studio: Studio, task: Task, model_name: str | None, base_url: str, now_s: float) -> TaskView:
    return TaskView(
        id=task.id,
        kind=task.kind,
        model=task.model_id,
        model_name=model_name,
        state=task.state,
        progress=task.progress,
        message=task.message,
        error=task.error,
        error_code=task.error_code,
        trace_id=trace_id_of(task.traceparent),
        attempt=task.attempt,
        created_at=written_time(task.created_at),
        started_at=written_time(task.started_at),
        finished_at=written_time(task.finished_at),
        **vars(_facts(studio, task, base_url, now_s)),
    )


def _facts(studio: Studio, task: Task, base_url: str, now_s: float) -> TaskFacts:
    """Return what a task of its kind shows beside what all have."""
    if task.kind == CONVERSION:
        return ConversionView(studio, task, base_url, now_s).in_full()
    if task.kind == TEACHING:
        asked = task.asked_as(Teaching)
        return TaskFacts(
            warning=joined(" ", [joined(": ", (left.name, left.reason)) for left in asked.left_out]) or None,
            name=asked.name,
            model_id=task.result_as(NewVoice).model_id if task.result else None,
        )
    if task.kind == TRAINING:
        wanted = task.asked_as(Training)
        return TaskFacts(epochs=wanted.epochs, settings=wanted.settings)
    return TaskFacts()


def written_time(time_s: float | None) -> str | None:
    """Return a time in seconds since 1970 as ISO 8601."""
    return None if time_s is None else datetime.fromtimestamp(time_s, UTC).isoformat(timespec="milliseconds")


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
        # further workers, where their number is open, share the cores: together they are as quick as one
        here = {"conversion": service.conversion_workers or 1, "training": service.training_workers}
        at_once = here.get(self._kind, 1) if service.executor == "local" else len(self.running)
        return max(at_once, 1)


def _bounded(seconds: float) -> float:
    return min(max(seconds, 1.0), _LONGEST_S) if math.isfinite(seconds) else _LONGEST_S
