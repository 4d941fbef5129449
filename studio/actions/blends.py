"""Blend two voices: requested here, made by a worker."""

from dataclasses import dataclass

from engine.errors import ProfileError
from engine.voices.card_rules import LONGEST_NAME
from engine.voices.profile import read_profile
from studio.errors import Invalid, TooMany
from studio.store.accounts import Account
from studio.store.catalogue import find_usable, refuse_too_many
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, Task, find, list_tasks, submit, waiting_and_running

KIND = "blend"
MOST_AT_ONCE = 4  # queued or running blends per account
_LATER_S = 10.0


@dataclass(frozen=True)
class BlendView:
    """The state of a blend; model_id: the new voice once it exists."""

    task_id: str
    name: str
    state: str
    progress: float
    message: str
    error: str | None
    model_id: str | None

    @property
    def is_active(self) -> bool:
        """Return whether the blend has not ended."""
        return self.state in ACTIVE


def start_blend(studio: Studio, account: Account, first: str, second: str, share: float, name: str = "") -> str:
    """Queue a blend with `share` (0..1) of the second voice and the rest of the first; return the task's id.

    name: defaults to both names. Raises NotFound, WrongState for an untrained voice, Invalid, TooMany.
    """
    voices = [find_usable(studio.database, account, model_id) for model_id in (first, second)]
    if first == second:
        raise Invalid([("second", "Choose two different voices.")])
    if not 0.0 <= share <= 1.0:
        raise Invalid([("share", f"The share must be from 0 to 1, not {share}.")])
    name = name.strip() or " and ".join(voice.name for voice in voices)[:LONGEST_NAME].strip()
    try:
        name = read_profile({"name": name}).name
    except ProfileError as cause:
        raise Invalid([("name", str(cause))]) from cause
    parameters = {"first": first, "second": second, "share": share, "name": name}
    with studio.database.write() as connection:
        if waiting_and_running(connection, account.id, KIND) >= MOST_AT_ONCE:
            text = f"{MOST_AT_ONCE} blends are already queued or running: wait until one has finished."
            raise TooMany(text, _LATER_S, "queue_full")
        refuse_too_many(connection, account.id, studio.service)
        task_id = submit(connection, account.id, KIND, parameters)
        studio.submitted(connection, task_id)
    studio.wake()
    return task_id


def blend_view(studio: Studio, account: Account, task_id: str) -> BlendView:
    """Return the state of a blend. Raises NotFound."""
    return _view(find(studio.database, account.id, task_id, kind=KIND))


def active_blend(studio: Studio, account: Account) -> BlendView | None:
    """Return the account's newest blend that is queued or running, for a page that has just been opened."""
    newest = (task for task in list_tasks(studio.database, account.id, kind=KIND, limit=MOST_AT_ONCE)[0])
    return next((_view(task) for task in newest if task.state in ACTIVE), None)


def _view(task: Task) -> BlendView:
    model_id = (task.result or {}).get("model_id")
    return BlendView(
        task.id, task.parameters["name"], task.state, task.progress, task.message, task.error, model_id
    )  # fmt: skip
