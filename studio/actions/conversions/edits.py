"""Edits: takes rendered again where their pitch was edited by hand."""

from collections.abc import Sequence
from dataclasses import Field, dataclass, fields, replace
from pathlib import PurePath

from engine.analysis.octave_errors import octave_doubts
from engine.analysis.pitch import Pitch
from engine.analysis.runs import true_runs
from engine.conversion.edit_data import EditData, read_edit_data
from engine.conversion.pitch_edits import TOOLS, edit_pitch, plain_edits, read_edits
from engine.texts import tr
from engine.units import FRAME_RATE
from studio.actions.account import voice_name
from studio.actions.conversions.views import key_of_take, was_untrained
from studio.actions.submission import Work, new_task, submit_work
from studio.errors import Invalid, NotFound, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import find_usable
from studio.store.kinds import CONVERSION
from studio.store.records.codec import Absent, Record
from studio.store.records.conversion import Conversion, EarlierEdit, Edit, Edits, EditSources, Rendered
from studio.store.studio import Studio
from studio.store.tasks import Task, find

_DATA_GONE = tr(
    "The data needed to edit this take has been deleted: convert the recording again, then edit the new take."
)
_VOICE_GONE = tr(
    "The voice '{name}' has been deleted: convert the recording with another voice, then edit the new take."
)
_TOO_OLD_TO_EDIT = tr("This take was made before takes could be edited: convert the recording again, then edit it.")
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


@dataclass(frozen=True, kw_only=True)
class ChangedStretch(Record):
    """The edited pitch from the frame `first` on."""

    first: int
    hertz: list[float]


@dataclass(frozen=True, kw_only=True)
class OctaveDoubtView(Record):
    """What probably is octaves too low (by above 0) or too high as converted."""

    start_s: float
    end_s: float
    by: int


@dataclass(frozen=True, kw_only=True)
class AudibleTake(Record):
    """A take as converted, or as edited."""

    label: str
    url: str


@dataclass(frozen=True, kw_only=True)
class ShownSetting(Record):
    """A setting as a control of the page, with its range or its words."""

    meaning: str
    words: Sequence[str]
    minimum: Absent[int | float] = None
    maximum: Absent[int | float] = None
    step: Absent[float] = None
    default: Absent[int | float | str] = None


@dataclass(frozen=True, kw_only=True)
class ToolView(Record):
    """A tool of pitch edits."""

    meaning: str
    settings: dict[str, ShownSetting]


@dataclass(frozen=True, kw_only=True)
class EditView(Record):
    """The pitch of a take as the editor shows it.

    id: the same for all edits of one take; hertz, confidence: the curve as converted, a value each step_s; changes:
    what the edits make of it; octaves: what probably is octaves too low or too high as converted; heard: the take as
    converted and, if it has edits, as edited.
    """

    id: str
    duration_s: float
    step_s: float
    hertz: list[float]
    confidence: list[float]
    edits: Edits
    changes: list[ChangedStretch]
    octaves: list[OctaveDoubtView]
    heard: list[AudibleTake]
    tools: dict[str, ToolView]


def edit_view(studio: Studio, account: Account, task_id: str, take: int, base_url: str, now_s: float) -> EditView:
    """Return the pitch of a take, 1 for the first, as the editor shows it. Raises NotFound, WrongState, EditError."""
    task = find_editable(studio, account, task_id)
    _need_voice(studio, account, task)
    origin = origin_of(task, take)
    pitch = edit_data_of(studio, origin.edit_data_key).pitch(origin.number - 1)
    heard: list[AudibleTake] = [
        AudibleTake(label=tr("As converted"), url=studio.link(origin.take_key, base_url, now_s))
    ]
    if origin.earlier:
        heard.append(AudibleTake(label=tr("Edited"), url=studio.link(origin.earlier.key, base_url, now_s)))
    return EditView(
        id=f"{origin.conversion}-{origin.number}",
        duration_s=(len(pitch) - 1) / FRAME_RATE,
        step_s=1 / FRAME_RATE,
        hertz=_rounded(pitch.hertz.tolist(), 2),
        confidence=_rounded(pitch.voicing.tolist(), 2),
        edits=origin.edits,
        changes=_changes(pitch, origin.edits),
        octaves=[OctaveDoubtView(start_s=one.start_s, end_s=one.end_s, by=one.by) for one in octave_doubts(pitch)],
        heard=heard,
        tools=_tools(),
    )


def changes_view(studio: Studio, account: Account, task_id: str, take: int, edits: Edits) -> list[ChangedStretch]:
    """Return the result of edits of a take: [{first, hertz}], the changed frames from `first` on.

    Raises what `edit_view` raises, and SettingsError for invalid edits.
    """
    origin = origin_of(find_editable(studio, account, task_id), take)
    return _changes(edit_data_of(studio, origin.edit_data_key).pitch(origin.number - 1), edits)


def start_edit(studio: Studio, account: Account, task_id: str, take: int, edits: Edits, of: str | None = None) -> str:
    """Queue a new take with these edits in place of its present ones; return the new task's id.

    edits: as `engine.conversion.pitch_edits.read_edits` takes them; of: the task that the new one is said to be an edit
    of, if not this one, because it takes this one's place. Raises NotFound, WrongState, EditError,
    SettingsError for invalid edits, Invalid if they change nothing, TooMany, Unavailable, DiskFull; then nothing is
    left behind.
    """
    task = find_editable(studio, account, task_id)
    origin = origin_of(task, take)
    pitch = edit_data_of(studio, origin.edit_data_key).pitch(origin.number - 1)
    wanted = read_edits(edits)
    after, now = edit_pitch(pitch, wanted), edit_pitch(pitch, read_edits(origin.edits))
    if after.is_like(now):
        raise Invalid([("edits", _NOTHING)], "nothing_edited")
    return _submit_edit(studio, account, task, origin, plain_edits(wanted), of=of or task.id)


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


def find_editable(studio: Studio, account: Account, task_id: str) -> Task:
    """Return a conversion whose takes can be edited. Raises NotFound, and WrongState before it has finished."""
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


def origin_of(task: Task, take: int) -> _Origin:
    """Return what an edit of a take is made from. Raises WrongState for one that cannot be edited."""
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


def edit_data_of(studio: Studio, key: str) -> EditData:
    """Return what edits of a take need. Raises NotFound if it is gone."""
    try:
        return read_edit_data(b"".join(studio.storage.read(key)))
    except NotFound as cause:
        raise NotFound(_DATA_GONE, "recording_gone") from cause


def _changes(pitch: Pitch, edits: Edits) -> list[ChangedStretch]:
    edited = edit_pitch(pitch, read_edits(edits))
    return [
        ChangedStretch(first=first, hertz=_rounded(edited.pitch.hertz[first:stop].tolist(), 2))
        for first, stop in true_runs(edited.pitch.hertz != pitch.hertz).tolist()
    ]


def _rounded(values: Sequence[float], digits: int) -> list[float]:
    return [round(value, digits) for value in values]


def shown_setting(one: "Field[object]") -> ShownSetting:
    """Return a setting of the engine as the page shows it."""
    default = one.default if isinstance(one.default, int | float | str) else None
    return ShownSetting(**one.metadata, default=default)


def _tools() -> dict[str, ToolView]:
    return {
        name: ToolView(
            meaning=kind.meaning,
            settings={
                one.name: shown_setting(one)
                for one in fields(kind)
                if one.metadata and one.name not in ("start_s", "end_s")
            },
        )
        for name, kind in TOOLS.items()
    }
