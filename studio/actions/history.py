"""The task history of an account, and repeating its tasks."""

from datetime import datetime, timedelta

from engine.spelling import folded
from engine.texts import ntr, tr
from studio.actions.conversions.comps import repeat_comp
from studio.actions.conversions.conversion import convert_again
from studio.actions.conversions.edits import repeat_edit
from studio.actions.tasks import Tasks, task_views, with_places
from studio.actions.trainings.training import start_training
from studio.errors import Invalid, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import all_models
from studio.store.kinds import CONVERSION, TRAINING
from studio.store.records.conversion import Conversion
from studio.store.records.voices import Training
from studio.store.studio import Studio
from studio.store.task_filter import TaskFilter
from studio.store.tasks import ENDED, Task, find

PAGE = 20  # tasks
_MOST_WORDS = 8


def history_view(
    studio: Studio,
    account: Account,
    base_url: str,
    now_s: float,
    *,
    wanted: TaskFilter | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
) -> Tasks:
    """Return tasks as `task_views` does, each with its `place` in the queue while it waits.

    wanted: by default all that is part of the history. Raises Invalid for an unknown cursor.
    """
    found = task_views(studio, account, base_url, now_s, wanted=wanted, cursor=cursor, limit=limit)
    return Tasks(tasks=with_places(studio, found.tasks), next_cursor=found.next_cursor)


def search(
    studio: Studio,
    account: Account,
    text: str = "",
    *,
    model_id: str | None = None,
    since: str = "",
    until: str = "",
    kind: str | None = None,
    state: str | None = None,
) -> TaskFilter:
    """Return a filter of tasks and projects from what a user typed.

    text: words of which each is in the name of the file, the project or the voice. since, until: days as 2026-03-31,
    until included, in the time of this machine. Raises Invalid for what is no day.
    """
    words = tuple(text.split())[:_MOST_WORDS]
    named = all_models(studio.database, account) if words else []
    by_word = {word: {one.id for one in named if folded(word) in folded(one.name)} for word in words}
    first, end = _day("since", since, 0), _day("until", until, 1)
    return TaskFilter(state, kind, words=words, model_ids_by_word=by_word, model_id=model_id, since=first, until=end)


def _day(field: str, text: str, later: int) -> float | None:
    """Return when a day begins, or the one that many days later; None for no text."""
    if not text.strip():
        return None
    try:
        return (datetime.strptime(text.strip(), "%Y-%m-%d") + timedelta(days=later)).timestamp()
    except (ValueError, OverflowError) as cause:
        raise Invalid(
            [(field, tr("'{text}' is not a day: write it like 2026-03-31.", text=text.strip()[:20]))]
        ) from cause


def repeat_task(studio: Studio, account: Account, task_id: str) -> str:
    """Repeat a conversion with the same recording, voice and settings, or a training; return the new task's id.

    Raises NotFound if the recording or the voice is gone, WrongState for a task that has not ended or cannot be
    repeated, and what starting it raises.
    """
    task = find(studio.database, account.id, task_id)
    if task.state not in ENDED:
        raise WrongState(tr("This task has not finished yet."), "task_active")
    if task.kind == CONVERSION:
        asked = task.asked_as(Conversion)
        again = repeat_edit if asked.edit else repeat_comp if asked.comp else convert_again
        return again(studio, account, task_id)
    if task.kind == TRAINING:
        return _trained_again(studio, account, task)
    raise WrongState(tr("This task cannot be repeated here: start it where you did before."), "not_repeatable")


def _trained_again(studio: Studio, account: Account, task: Task) -> str:
    asked = task.asked_as(Training)
    answer = start_training(studio, account, task.model_id or "", asked.epochs, asked.settings)
    if answer["status"] != "training":
        raise WrongState(
            ntr(
                "This voice has already been trained for {epochs} epoch: choose more epochs on the Train tab.",
                "This voice has already been trained for {epochs} epochs: choose more epochs on the Train tab.",
                epochs=asked.epochs,
            ),
            "already_trained",
        )
    return task_views(studio, account, "", 0.0, wanted=TaskFilter(kind=TRAINING), limit=1).tasks[0].id
