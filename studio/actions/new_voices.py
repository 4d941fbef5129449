"""Tasks that make a new voice, by blending or by teaching: the name it is to have, and how far they are."""

from dataclasses import dataclass

from engine.errors import ProfileError
from engine.voices.profile import read_profile
from studio.errors import Invalid
from studio.store.accounts import Account
from studio.store.kinds import BLEND
from studio.store.records.voices import Blend, NewVoice, Teaching
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, Task, find, list_tasks

_NEWEST = 4  # tasks of a kind; no more of them are active at once


@dataclass(frozen=True)
class NewVoiceView:
    """The state of such a task; model_id: the new voice once it exists."""

    task_id: str
    name: str
    state: str
    progress: float
    message: str
    error: str | None
    model_id: str | None

    @property
    def is_active(self) -> bool:
        """Return whether the task has not ended."""
        return self.state in ACTIVE


def checked_name(name: str) -> str:
    """Return a name that a voice can have. Raises Invalid."""
    try:
        return read_profile({"name": name}).name
    except ProfileError as cause:
        raise Invalid([("name", str(cause))]) from cause


def new_voice_view(studio: Studio, account: Account, kind: str, task_id: str) -> NewVoiceView:
    """Return the state of a task of this kind. Raises NotFound."""
    return _view(find(studio.database, account.id, task_id, kind=kind))


def active_new_voice(studio: Studio, account: Account, kind: str) -> NewVoiceView | None:
    """Return the account's newest task of a kind that is queued or running, for a page that has just been opened."""
    newest = list_tasks(studio.database, account.id, kind=kind, limit=_NEWEST)[0]
    return next((_view(task) for task in newest if task.state in ACTIVE), None)


def _view(task: Task) -> NewVoiceView:
    name = task.asked_as(Blend).name if task.kind == BLEND else task.asked_as(Teaching).name
    model_id = task.result_as(NewVoice).model_id if task.result else None
    return NewVoiceView(task.id, name, task.state, task.progress, task.message, task.error, model_id)
