"""Comp: one take out of several of a recording, phrase by phrase, as a conversion of its own.

Its takes must be of one recording in one voice, as its content credentials state one voice. They may be of several
conversions with other settings, and edited ones. It keeps copies of those that are heard, so it can be made again when
the originals are gone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import Any

from engine.conversion.comping import parts_of
from engine.texts import tr
from studio.actions.names import voice_name
from studio.actions.repeats import key_of_take
from studio.actions.submission import Work, new_task, submit_work
from studio.errors import Invalid, NotFound, WrongState
from studio.store.accounts import Account
from studio.store.idempotency import Idempotency, answered
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import ChosenTake, Comp, CompSource, Conversion, Rendered
from studio.store.studio import Studio
from studio.store.take_labels import label_of
from studio.store.task_filter import TaskFilter
from studio.store.tasks import Task, find, list_tasks

MOST_TASKS = 40  # of a recording and a voice, whose takes are offered
_GONE = tr("A take of this comp has been deleted: convert the recording again, then choose anew.")
_TOO_OLD = tr("This take was made before takes could be comped: convert the recording again.")
TakeOf = Mapping[str, Any]  # {"task": id, "take": 1 for the first}


def comp_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> dict[str, Any]:
    """Return what can be comped with a conversion. Raises NotFound, WrongState.

    starts_s       where each phrase begins, from 0 s
    takes          [{task, take, title, created_at, url, name, starred}], the oldest first: of the same recording in
                   the same voice; title: "Take 1", "Edited take", "Comp"; created_at: in seconds since 1970
    choice         for a comp, the take of each phrase: [{task, take}]; else None
    """
    task = _find(studio, account, task_id)
    wanted = TaskFilter("completed", CONVERSION, recording=task.recording, model_id=task.model_id)
    found = list_tasks(studio.database, account.id, limit=MOST_TASKS, wanted=wanted)[0] if task.recording else [task]
    takes = [
        {
            "task": one.id,
            "take": take,
            "title": _title(one, take),
            "created_at": one.created_at,
            "url": studio.link(key_of_take(one, take), base_url, now_s),
            "name": label_of(one, take).name,
            "starred": label_of(one, take).starred,
        }
        for one in reversed(found)
        if one.outputs_deleted_at is None and _starts(one) == _starts(task)
        for take in range(1, len(one.result_as(Rendered).outputs) + 1)
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
    task = _find(studio, account, task_id)
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
    return _submitted(studio, account, task, Comp(tuple(keys), tuple(parts), chosen, source), idempotency)


def repeat_comp(studio: Studio, account: Account, task_id: str) -> str:
    """Queue the same comp again; return the new task's id. Raises as `start_comp`."""
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    comp = task.asked_as(Conversion).comp
    assert comp is not None
    return _submitted(studio, account, task, comp, None)


def _submitted(studio: Studio, account: Account, task: Task, comp: Comp, idempotency: Idempotency | None) -> str:
    """Queue a comp with copies of its sources. task: whose recording and effects it has."""
    new, asked = new_task(account), task.asked_as(Conversion)
    takes = {f"{new.place}/takes/{number}{PurePath(key).suffix}": key for number, key in enumerate(comp.takes, 1)}
    input_key = f"{new.place}/input{PurePath(asked.input_key).suffix}"
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
    return submit_work(studio, new, work, files=files, gone=_GONE, idempotency=idempotency)


def _find(studio: Studio, account: Account, task_id: str) -> Task:
    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    if task.state != "completed":
        code = "not_done" if task.has_ended else "task_active"
        raise WrongState(tr("Takes can be comped once their conversion has finished."), code)
    if task.outputs_deleted_at is not None:
        raise NotFound(_GONE, "recording_gone")
    if not _starts(task):
        raise WrongState(_TOO_OLD, "not_compable")
    return task


def _starts(task: Task) -> list[float]:
    return list(task.result_as(Rendered).phrase_starts_s)


def _key(studio: Studio, account: Account, task: Task, task_id: str, take: int) -> str:
    """Return the storage key of a chosen take, without its effects: those follow the comp, whose tails they keep."""
    other = task if task_id == task.id else _find(studio, account, task_id)
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
