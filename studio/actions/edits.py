"""Takes made of takes: pitch edited by hand, and comps of several takes, phrase by phrase."""

from collections.abc import Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from pathlib import PurePath
from typing import Any

import numpy as np
from typing_extensions import TypedDict

from engine.analysis.octave_errors import octave_doubts
from engine.analysis.pitch import Pitch
from engine.analysis.runs import true_runs
from engine.conversion.comping import parts_of
from engine.conversion.edit_data import EditData, read_edit_data
from engine.conversion.harmony import NONE
from engine.conversion.pitch_edits import TOOLS, edit_pitch, plain_edits, read_edits
from engine.texts import tr
from engine.units import FRAME_RATE
from studio.actions.account import voice_name
from studio.actions.conversion_views import ConversionView, key_of_take, was_untrained
from studio.actions.submission import Work, new_task, submit_work
from studio.errors import Invalid, NotFound, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import find_usable
from studio.store.idempotency import Idempotency, answered
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import (
    ChosenTake,
    Comp,
    CompSource,
    Conversion,
    EarlierEdit,
    Edit,
    Edits,
    EditSources,
    Rendered,
)
from studio.store.studio import Studio
from studio.store.task_filter import TaskFilter
from studio.store.tasks import Task, find, list_tasks

MOST_TASKS = 40  # of a recording and a voice, whose takes are offered
_TAKE_GONE = tr("A take of this comp has been deleted: convert the recording again, then choose anew.")
_TOO_OLD_TO_COMP = tr("This take was made before takes could be comped: convert the recording again.")


class TakeOf(TypedDict):
    """A take of a task, 1 for the first."""

    task: str
    take: int

_DATA_GONE = tr(
    "The data needed to edit this take has been deleted: convert the recording again, then edit the new take.",
)
_VOICE_GONE = tr(
    "The voice '{name}' has been deleted: convert the recording with another voice, then edit the new take."
)
_TOO_OLD_TO_EDIT = tr("This take was made before takes could be edited: convert the recording again, then edit it.")
_COMPED = tr("The pitch of a comp cannot be edited: edit the takes, then comp them again.")
_NOTHING = tr("Nothing to render: the pitch curve is unchanged.")


def comp_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> dict[str, Any]:
    """Return what can be comped with a conversion. Raises NotFound, WrongState.

    starts_s       where each phrase begins, from 0 s
    takes          [{task, take, title, created_at, url, name, starred}], the oldest first: of the same recording in
                   the same voice; title: "Take 1", "Edited take", "Comp"; created_at: in seconds since 1970
    choice         for a comp, the take of each phrase: [{task, take}]; else None
    """
    task = _find_compable(studio, account, task_id)
    wanted = TaskFilter("completed", CONVERSION, recording=task.recording, model_id=task.model_id)
    found = list_tasks(studio.database, account.id, limit=MOST_TASKS, wanted=wanted)[0] if task.recording else [task]
    takes = [
        {
            "task": one.id,
            "take": take.number,
            "title": _title(one, take.number),
            "created_at": one.created_at,
            "url": studio.link(take.key, base_url, now_s),
            "name": take.label.name,
            "starred": take.label.starred,
        }
        for one in reversed(found)
        if one.outputs_deleted_at is None and _starts(one) == _starts(task) and _harmony(one) == _harmony(task)
        for take in ConversionView(studio, one, base_url, now_s).takes
    ]
    comp = task.asked_as(Conversion).comp
    return {"starts_s": _starts(task), "takes": takes, "choice": comp and [asdict(one) for one in comp.choice]}


def start_comp(
    studio: Studio, account: Account, task_id: str, choice: Sequence[TakeOf], idempotency: Idempotency | None = None
) -> str:
    """Queue a comp of a conversion's recording: a take for each phrase; return the new task's id.

    choice: as many as `comp_view` has `starts_s`. Raises NotFound for an unknown or deleted take, WrongState,
    SettingsError for another number of takes than phrases, Invalid for takes that do not belong together, TooMany,
    Unavailable, DiskFull; then nothing is left behind.
    """
    if known := answered(studio, account, idempotency):
        return str(known["task_id"])
    task = _find_compable(studio, account, task_id)
    used: list[tuple[str, int]] = []
    numbers = []
    for one in choice:
        named = (str(one["task"]), int(one["take"]))
        used += [named] if named not in used else []
        numbers.append(used.index(named))
    parts = parts_of(_starts(task), numbers)
    keys = [_key(studio, account, task, *named) for named in used]
    rendered = task.result_as(Rendered)
    assert rendered.output_settings is not None  # of every version that found phrases
    assert rendered.statement is not None
    source = CompSource(
        rendered.output_settings, rendered.settings, rendered.untrained, rendered.statement, rendered.phrase_starts_s
    )
    chosen = tuple(ChosenTake(*used[number]) for number in numbers)
    return _submit_comp(studio, account, task, Comp(tuple(keys), tuple(parts), chosen, source), idempotency)


def repeat_comp(studio: Studio, account: Account, task_id: str) -> str:
    """Queue the same comp again; return the new task's id. Raises as `start_comp`."""
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    comp = task.asked_as(Conversion).comp
    assert comp is not None
    return _submit_comp(studio, account, task, comp, None)


def _submit_comp(studio: Studio, account: Account, task: Task, comp: Comp, idempotency: Idempotency | None) -> str:
    """Queue a comp with copies of its sources. task: whose recording and effects it has."""
    new, asked = new_task(account), task.asked_as(Conversion)
    takes = {f"{new.prefix}/takes/{number}{PurePath(key).suffix}": key for number, key in enumerate(comp.takes, 1)}
    input_key = f"{new.prefix}/input{PurePath(asked.input_key).suffix}"
    again = replace(
        asked,
        input_key=input_key,
        recording=task.recording,
        settings={**asked.settings, "takes": 1},
        edit=None,
        comp=replace(comp, takes=tuple(takes)),
    )
    work = Work(CONVERSION, again, task.model_id, task.cost / asked.takes)
    files = {input_key: asked.input_key, **takes}
    return submit_work(studio, new, work, files=files, gone=_TAKE_GONE, idempotency=idempotency)


def _find_compable(studio: Studio, account: Account, task_id: str) -> Task:
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    if task.state != "completed":
        code = "not_done" if task.has_ended else "task_active"
        raise WrongState(tr("Takes can be comped once their conversion has finished."), code)
    if task.outputs_deleted_at is not None:
        raise NotFound(_TAKE_GONE, "recording_gone")
    if not _starts(task):
        raise WrongState(_TOO_OLD_TO_COMP, "not_compable")
    return task


def _starts(task: Task) -> list[float]:
    return list(task.result_as(Rendered).phrase_starts_s)


def _harmony(task: Task) -> object:
    """Return what a conversion sings beside the lead, whose phrases are no others for the lead."""
    return task.asked_as(Conversion).settings.get("harmony", NONE)


def _key(studio: Studio, account: Account, task: Task, task_id: str, take: int) -> str:
    """Return the storage key of a chosen take, without its effects: those follow the comp, whose tails they keep."""
    other = task if task_id == task.id else _find_compable(studio, account, task_id)
    if other.model_id != task.model_id:
        names = [voice_name(studio.database, account, one) for one in (task, other)]
        raise Invalid([("choice", tr(
            "These takes are in two voices, {names} and {names2}: choose those of one.",
            names=names[0], names2=names[1],
        ))])
    if other.recording != task.recording or _starts(other) != _starts(task):
        raise Invalid([("choice", tr("These takes are of two recordings: choose those of one."))])
    return key_of_take(other, take, dry=True)


def _title(task: Task, take: int) -> str:
    asked = task.asked_as(Conversion)
    return tr("Comp") if asked.comp else tr("Edited take") if asked.edit else tr("Take {take}", take=take)


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
    octaves        [{start_s, end_s, by}]: what probably is octaves too low (by above 0) or too high as converted
        heard          [{label, url}]: the take as converted and, if it has edits, as edited
    tools          the settings of each tool, with their ranges
    """
    task = _find_editable(studio, account, task_id)
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
        "octaves": [asdict(one) for one in octave_doubts(pitch)],
        "heard": heard,
        "tools": _tools(),
    }


def changes_view(studio: Studio, account: Account, task_id: str, take: int, edits: Edits) -> list[dict[str, Any]]:
    """Return the result of edits of a take: [{first, hertz}], the changed frames from `first` on.

    Raises what `edit_view` raises, and SettingsError for invalid edits.
    """
    origin = _origin(_find_editable(studio, account, task_id), take)
    return _changes(_edit_data(studio, origin).pitch(origin.number - 1), edits)


def start_edit(studio: Studio, account: Account, task_id: str, take: int, edits: Edits) -> str:
    """Queue a new take with these edits in place of its present ones; return the new task's id.

    edits: as `engine.conversion.pitch_edits.read_edits` takes them. Raises NotFound, WrongState, EditError,
    SettingsError for invalid edits, Invalid if they change nothing, TooMany, Unavailable, DiskFull; then nothing is
    left behind.
    """
    task = _find_editable(studio, account, task_id)
    origin = _origin(task, take)
    pitch = _edit_data(studio, origin).pitch(origin.number - 1)
    wanted = read_edits(edits)
    after, now = edit_pitch(pitch, wanted), edit_pitch(pitch, read_edits(origin.edits))
    if not after.differs(now.pitch).any() and np.array_equal(after.octaves, now.octaves):
        raise Invalid([("edits", _NOTHING)], "nothing_edited")
    return _submit_edit(studio, account, task, origin, plain_edits(wanted), of=task.id)


def repeat_edit(studio: Studio, account: Account, task_id: str) -> str:
    """Queue the same edit again, whatever became of it; return the new task's id.

    Raises NotFound, also if its sources have been deleted, and TooMany, Unavailable, DiskFull.
    """
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    edit = task.asked_as(Conversion).edit
    assert edit is not None
    origin = _Origin(edit.conversion, edit.take, edit.original.take, edit.original.groundwork, edit.earlier)
    return _submit_edit(studio, account, task, origin, edit.edits, of=edit.of)


def _submit_edit(studio: Studio, account: Account, task: Task, origin: _Origin, edits: Edits, of: str) -> str:
    """Queue an edit with copies of its sources; of: the task whose take is edited."""
    _need_voice(studio, account, task)  # fail now, not in the worker
    new, asked = new_task(account), task.asked_as(Conversion)
    input_key = f"{new.prefix}/input{PurePath(asked.input_key).suffix}"
    original = EditSources(f"{new.prefix}/original/take.wav", f"{new.prefix}/original/groundwork.npz")
    again = replace(
        asked,
        input_key=input_key,
        recording=task.recording,
        settings={**asked.settings, "takes": 1},
        edit=Edit(of, origin.conversion, origin.number, edits, original, origin.earlier),
    )
    copies = {input_key: asked.input_key, original.take: origin.take_key, original.groundwork: origin.edit_data_key}
    work = Work(CONVERSION, again, task.model_id, task.cost / asked.takes)
    return submit_work(studio, new, work, files=copies, gone=_DATA_GONE)


def _find_editable(studio: Studio, account: Account, task_id: str) -> Task:
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    if task.state != "completed":
        raise WrongState(tr("A take can be edited once its conversion has finished."), "not_done")
    if task.outputs_deleted_at is not None:
        raise NotFound(_DATA_GONE, "recording_gone")
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
        raise WrongState(_TOO_OLD_TO_EDIT, "not_editable")
    return _Origin(task.id, take, key, edit_data, None)


def _edit_data(studio: Studio, origin: _Origin) -> EditData:
    try:
        return read_edit_data(b"".join(studio.storage.read(origin.edit_data_key)))
    except NotFound as cause:
        raise NotFound(_DATA_GONE, "recording_gone") from cause


def _changes(pitch: Pitch, edits: Edits) -> list[dict[str, Any]]:
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
