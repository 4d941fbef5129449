"""The task history of an account, and repeating its tasks."""

from typing import Any

from studio.actions.conversions import KIND as CONVERSION
from studio.actions.pitch_edits import repeat_edit
from studio.actions.repeats import convert_again
from studio.actions.tasks import task_views
from studio.actions.trainings import KIND as TRAINING
from studio.actions.trainings import start_training
from studio.errors import WrongState
from studio.store.accounts import Account
from studio.store.studio import Studio
from studio.store.tasks import ENDED, Task, find, places

PAGE = 20  # tasks


def history_view(
    studio: Studio,
    account: Account,
    base_url: str,
    now_s: float,
    *,
    kind: str | None = None,
    state: str | None = None,
    cursor: str | None = None,
    limit: int = PAGE,
) -> dict[str, Any]:
    """Return tasks as `task_views` does, each with its `place` in the queue while it waits.

    Raises Invalid for an unknown cursor.
    """
    found = task_views(studio, account, base_url, now_s, kind=kind, state=state, cursor=cursor, limit=limit)
    waiting = {task["kind"] for task in found["tasks"] if task["state"] == "queued"}
    placed = {task_id: place for one in waiting for task_id, place in places(studio.database, one).items()}
    shown = [task | {"place": placed.get(task["id"])} for task in found["tasks"]]
    return {"tasks": shown, "next_cursor": found["next_cursor"]}


def repeat_task(studio: Studio, account: Account, task_id: str) -> str:
    """Repeat a conversion with the same recording, voice and settings, or a training; return the new task's id.

    Raises NotFound if the recording or the voice is gone, WrongState for a task that has not ended or cannot be
    repeated, and what starting it raises.
    """
    task = find(studio.database, account.id, task_id)
    if task.state not in ENDED:
        raise WrongState("This task has not finished yet.", "task_active")
    if task.kind == CONVERSION:
        again = repeat_edit if "edit" in task.parameters else convert_again
        return again(studio, account, task_id)
    if task.kind == TRAINING:
        return _trained_again(studio, account, task)
    raise WrongState("This task cannot be repeated here: start it where you did before.", "not_repeatable")


def _trained_again(studio: Studio, account: Account, task: Task) -> str:
    epochs = task.parameters["epochs"]
    settings = {name: value for name, value in task.parameters.items() if name != "epochs"}
    answer = start_training(studio, account, task.model_id or "", epochs, settings)
    if answer["status"] != "training":
        raise WrongState(
            f"This voice has already been trained for {epochs} epochs: choose more epochs on the Train tab.",
            "already_trained",
        )
    return task_views(studio, account, "", 0.0, kind=TRAINING, limit=1)["tasks"][0]["id"]
