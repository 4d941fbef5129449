"""Edit the pitch of a take by hand: the present and the edited curve, and a new take with the edits.

An edited take is a conversion of its own. It keeps copies of its sources (the recording, the take as converted, and
that conversion's edit_data), so it can be edited further when the originals are gone. Its edits always refer to the
take as converted, and parts that an earlier edit has rendered are not rendered again.
"""

from dataclasses import MISSING, dataclass, fields, replace
from pathlib import PurePath
from typing import Any

import numpy as np

from engine.analysis.pitch import Pitch
from engine.analysis.runs import true_runs
from engine.conversion.edit_data import EditData, read_edit_data
from engine.conversion.pitch_edits import TOOLS, edit_pitch, plain_edits, read_edits
from engine.texts import tr
from engine.units import FRAME_RATE
from studio.actions.conversions import was_untrained
from studio.actions.names import voice_name
from studio.actions.repeats import key_of_take
from studio.actions.submission import Work, new_task, submit_work
from studio.errors import Invalid, NotFound, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import find_usable
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import Conversion, EarlierEdit, Edit, Edits, EditSources, Rendered
from studio.store.studio import Studio
from studio.store.tasks import Task, find

_GONE = tr("The data needed to edit this take has been deleted: convert the recording again, then edit the new take.")
_VOICE_GONE = tr(
    "The voice '{name}' has been deleted: convert the recording with another voice, then edit the new take."
)
_TOO_OLD = tr("This take was made before takes could be edited: convert the recording again, then edit it.")
_COMPED = tr("The pitch of a comp cannot be edited: edit the takes, then comp them again.")
_NOTHING = tr("Nothing to render: the pitch curve is unchanged.")


@dataclass(frozen=True)
class _Origin:
    """The sources of an edit. number: of the take in its conversion, 1 for the first; earlier: the edited take so far,
    if any."""

    conversion: str
    number: int
    take_key: str
    edit_data_key: str
    earlier: EarlierEdit | None

    @property
    def edits(self) -> Edits:
        return self.earlier.edits if self.earlier else []


def edit_view(studio: Studio, account: Account, task_id: str, take: int, base_url: str, now_s: float) -> dict[str, Any]:
    """Return the pitch of a take as the editor shows it; take: 1 for the first. Raises NotFound, WrongState, EditError.

    id             the same for all edits of one take
    duration_s     of the take
        step_s, hertz, confidence    the curve as converted
        edits          the edits of the take
        changes        their result, as `changes_view` gives it
        heard          [{label, url}]: the take as converted and, if it has edits, as edited
    tools          the settings of each tool, with their ranges
    """
    task = _find(studio, account, task_id)
    _need_voice(studio, account, task)
    origin = _origin(task, take)
    pitch = _edit_data(studio, origin).pitch(origin.number - 1)
    heard = [{"label": tr("As converted"), "url": studio.link(origin.take_key, base_url, now_s)}]
    if origin.earlier:
        heard.append({"label": tr("Edited"), "url": studio.link(origin.earlier.key, base_url, now_s)})
    return {
        "id": f"{origin.conversion}-{origin.number}",
        "duration_s": (len(pitch) - 1) / FRAME_RATE,
        "step_s": 1 / FRAME_RATE,
        "hertz": _rounded(pitch.hertz, 2),
        "confidence": _rounded(pitch.voicing, 2),
        "edits": origin.edits,
        "changes": _changes(pitch, origin.edits),
        "heard": heard,
        "tools": _tools(),
    }


def changes_view(studio: Studio, account: Account, task_id: str, take: int, edits: Any) -> list[dict[str, Any]]:
    """Return the result of edits of a take: [{first, hertz}], the changed frames from `first` on.

    Raises what `edit_view` raises, and SettingsError for invalid edits.
    """
    origin = _origin(_find(studio, account, task_id), take)
    return _changes(_edit_data(studio, origin).pitch(origin.number - 1), edits)


def start_edit(studio: Studio, account: Account, task_id: str, take: int, edits: Any) -> str:
    """Queue a new take with these edits in place of its present ones; return the new task's id.

    edits: as `engine.conversion.pitch_edits.read_edits` takes them. Raises NotFound, WrongState, EditError,
    SettingsError for invalid edits, Invalid if they change nothing, TooMany, Unavailable, DiskFull; then nothing is
    left behind.
    """
    task = _find(studio, account, task_id)
    origin = _origin(task, take)
    pitch = _edit_data(studio, origin).pitch(origin.number - 1)
    wanted = read_edits(edits)
    after, now = edit_pitch(pitch, wanted), edit_pitch(pitch, read_edits(origin.edits))
    if not after.differs(now.pitch).any() and np.array_equal(after.octaves, now.octaves):
        raise Invalid([("edits", _NOTHING)], "nothing_edited")
    return _submitted(studio, account, task, origin, plain_edits(wanted), of=task.id)


def repeat_edit(studio: Studio, account: Account, task_id: str) -> str:
    """Queue the same edit again, whatever became of it; return the new task's id.

    Raises NotFound, also if its sources have been deleted, and TooMany, Unavailable, DiskFull.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    edit = task.asked_as(Conversion).edit
    assert edit is not None
    origin = _Origin(edit.conversion, edit.take, edit.original.take, edit.original.groundwork, edit.earlier)
    return _submitted(studio, account, task, origin, edit.edits, of=edit.of)


def _submitted(studio: Studio, account: Account, task: Task, origin: _Origin, edits: Edits, of: str) -> str:
    """Queue an edit with copies of its sources; of: the task whose take is edited."""
    _need_voice(studio, account, task)  # fail now, not in the worker
    new, asked = new_task(account), task.asked_as(Conversion)
    input_key = f"{new.place}/input{PurePath(asked.input_key).suffix}"
    original = EditSources(f"{new.place}/original/take.wav", f"{new.place}/original/groundwork.npz")
    again = replace(
        asked,
        input_key=input_key,
        recording=task.recording,
        settings={**asked.settings, "takes": 1},
        edit=Edit(of, origin.conversion, origin.number, edits, original, origin.earlier),
    )
    copies = {input_key: asked.input_key, original.take: origin.take_key, original.groundwork: origin.edit_data_key}
    work = Work(CONVERSION, again, task.model_id, task.cost / asked.takes)
    return submit_work(studio, new, work, files=copies, gone=_GONE)


def _find(studio: Studio, account: Account, task_id: str) -> Task:
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    if task.state != "completed":
        raise WrongState(tr("A take can be edited once its conversion has finished."), "not_done")
    if task.outputs_deleted_at is not None:
        raise NotFound(_GONE, "recording_gone")
    return task


def _need_voice(studio: Studio, account: Account, task: Task) -> None:
    """Raise NotFound if the voice that would render the edits is gone, WrongState if it cannot convert."""
    try:
        find_usable(studio.database, account, task.model_id or "", was_untrained(task))
    except NotFound as cause:
        name = voice_name(studio.database, account, task)
        raise NotFound(_VOICE_GONE.format(name=name), "model_not_found") from cause


def _origin(task: Task, take: int) -> _Origin:
    key, asked = key_of_take(task, take, dry=True), task.asked_as(Conversion)
    if asked.edit is not None:
        original, earlier = asked.edit.original, EarlierEdit(key, asked.edit.edits)
        return _Origin(asked.edit.conversion, asked.edit.take, original.take, original.groundwork, earlier)
    if asked.comp is not None:
        raise WrongState(_COMPED, "not_editable")
    edit_data = task.result_as(Rendered).groundwork
    if edit_data is None:
        raise WrongState(_TOO_OLD, "not_editable")
    return _Origin(task.id, take, key, edit_data, None)


def _edit_data(studio: Studio, origin: _Origin) -> EditData:
    try:
        return read_edit_data(b"".join(studio.storage.read(origin.edit_data_key)))
    except NotFound as cause:
        raise NotFound(_GONE, "recording_gone") from cause


def _changes(pitch: Pitch, edits: Any) -> list[dict[str, Any]]:
    edited = edit_pitch(pitch, read_edits(edits))
    return [
        {"first": first, "hertz": _rounded(edited.pitch.hertz[first:stop], 2)}
        for first, stop in true_runs(edited.differs(pitch)).tolist()
    ]


def _rounded(values: np.ndarray, digits: int) -> list[float]:
    return [round(value, digits) for value in values.tolist()]


def _tools() -> dict[str, dict[str, Any]]:
    return {
        name: {
            "meaning": kind.meaning,
            "settings": {
                one.name: dict(one.metadata) | ({} if one.default is MISSING else {"default": one.default})
                for one in fields(kind)
                if one.metadata and one.name not in ("start_s", "end_s")
            },
        }
        for name, kind in TOOLS.items()
    }
