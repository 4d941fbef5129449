"""Comps: one take put together out of several of a recording, phrase by phrase."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from engine.conversion.comping import parts_of
from engine.conversion.harmony import NONE
from engine.texts import tr
from studio.actions.account import voice_name
from studio.actions.conversions.views import ConversionView, choice_of, key_of_take
from studio.actions.submission import Work, new_task, submit_work
from studio.errors import Invalid, NotFound, WrongState
from studio.store.accounts import Account
from studio.store.idempotency import Idempotency, answered
from studio.store.kinds import CONVERSION
from studio.store.records.codec import Record
from studio.store.records.conversion import ChosenTake, Comp, CompSource, Conversion, Rendered
from studio.store.studio import Cost, Studio, costs
from studio.store.task_filter import TaskFilter
from studio.store.tasks import Task, find, list_tasks

MOST_TASKS = 40  # of a recording and a voice, whose takes are offered
_TAKE_GONE = tr("A take of this comp has been deleted: convert the recording again, then choose anew.")
_TOO_OLD_TO_COMP = tr("This take was made before takes could be comped: convert the recording again.")


@dataclass(frozen=True, kw_only=True)
class OfferedTake(ChosenTake):
    """A take that can be part of a comp. title: "Take 1", "Edited take", "Comp"; created_at: in seconds since 1970."""

    title: str
    created_at: float
    url: str
    name: str
    starred: bool


@dataclass(frozen=True, kw_only=True)
class CompView(Record):
    """What can be comped with a conversion.

    starts_s: where each phrase begins, from 0 s; takes: of the same recording in the same voice, the oldest first;
    choice: for a comp, the take of each phrase.
    """

    starts_s: list[float]
    takes: list[OfferedTake]
    choice: list[ChosenTake] | None


def comp_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> CompView:
    """Return what can be comped with a conversion. Raises NotFound, WrongState."""
    task = _find_compable(studio, account, task_id)
    wanted = TaskFilter("completed", CONVERSION, recording=task.recording, model_id=task.model_id)
    found = list_tasks(studio.database, account.id, limit=MOST_TASKS, wanted=wanted)[0] if task.recording else [task]
    takes: list[OfferedTake] = [
        OfferedTake(
            task=one.id,
            take=take.number,
            title=_title(one, take.number),
            created_at=one.created_at,
            url=studio.link(take.key, base_url, now_s),
            name=take.label.name,
            starred=take.label.starred,
        )
        for one in reversed(found)
        if one.outputs_deleted_at is None and _starts(one) == _starts(task) and _harmony(one) == _harmony(task)
        for take in ConversionView(studio, one, base_url, now_s).takes
    ]
    return CompView(starts_s=_starts(task), takes=takes, choice=choice_of(task))


@costs(Cost.START)
def start_comp(
    studio: Studio, account: Account, task_id: str, choice: Sequence[ChosenTake], idempotency: Idempotency | None = None
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
        named = (str(one.task), int(one.take))
        used += [named] if named not in used else []
        numbers.append(used.index(named))
    parts = parts_of(_starts(task), numbers)
    keys = [_key(studio, account, task, *named) for named in used]
    rendered = task.result_as(Rendered)
    assert rendered.output_settings is not None  # of every version that found phrases
    assert rendered.statement is not None
    sung = (rendered.output_settings, rendered.settings, rendered.untrained, rendered.statement)
    source = CompSource(*sung, rendered.phrase_starts_s, rendered.lowered_db)
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
        raise Invalid(
            [
                (
                    "choice",
                    tr(
                        "These takes are in two voices, {first} and {second}: choose takes of one voice.",
                        first=names[0],
                        second=names[1],
                    ),
                )
            ]
        )
    if other.recording != task.recording or _starts(other) != _starts(task):
        raise Invalid([("choice", tr("These takes are of two recordings: choose takes of one recording."))])
    return key_of_take(other, take, dry=True)


def _title(task: Task, take: int) -> str:
    asked = task.asked_as(Conversion)
    return tr("Comp") if asked.comp else tr("Edited take") if asked.edit else tr("Take {take}", take=take)
