"""Delete expired results and leftovers of crashes from time to time."""

import math
import os
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import ColumnElement, and_, delete, or_, select, update

from engine.files import UNFINISHED
from studio.executors.recovery import WORK_FOLDER
from studio.executors.visitors import delete_old_visitors
from studio.settings.service import ServiceSettings
from studio.store import deliveries, idempotent_answers
from studio.store import rate_limits as rates
from studio.store.catalogue import DATASETS, PACKAGES, TRAININGS, VOICES
from studio.store.database import AnyRow, Database, Now
from studio.store.drafts import DRAFTS, is_draft_id, moment_of
from studio.store.folder_locks import is_locked
from studio.store.kinds import ANALYSIS, CONVERSION
from studio.store.records.codec import UnknownRecord, read
from studio.store.records.conversion import Conversion, Rendered
from studio.store.storage import GONE, Storage
from studio.store.tables import accounts, tasks

DAY_S = 24 * 3600.0
_AT_ONCE = 200  # tasks per query
_TASKS = "tasks"
_KINDS = (VOICES, DATASETS, TRAININGS, PACKAGES, DRAFTS, _TASKS)
_LATE_S = 3600.0  # after a task's end, files may still be written
_LOOKED_BACK_S = 3 * DAY_S
_DRAFTS_KEPT_S = 14 * DAY_S
# names that the studio gives: whoever chose a data folder that holds other things keeps those
_TASK = re.compile("[0-9a-f]{24}")
_PASSING = re.compile(rf"(voice|training|song)-[0-9a-f]{{16}}|{GONE}[0-9a-f]{{16}}")
_RECEIVED = re.compile("[0-9a-f]{16}|[0-9a-f]{24}")
_ON_THE_PAGE = re.compile("tmp[a-z0-9_]{8}")  # by Python's tempfile
_ANY_AGE_S = -math.inf  # also from the future: another machine's clock
_UNFINISHED_S = 600.0  # what nobody has written to for so long was left by a killed process
_UNFINISHED = re.compile(rf"\.(.+\.[0-9a-f]{{8}}|[0-9a-f]{{16}})\{UNFINISHED}")


@dataclass(frozen=True)
class Swept:
    """Counts of what was deleted."""

    visitors: int = 0  # of a demo, with all their files
    outputs: int = 0  # tasks whose recordings and results expired
    attempts: int = 0  # tasks with leftovers of lost attempts
    analyses: int = 0  # analysed recordings
    inputs: int = 0  # recordings whose task was never queued
    drafts: int = 0  # recordings of drafts that were abandoned
    unfinished: int = 0  # files and folders that a killed process was writing
    uploads: int = 0  # abandoned uploads, and other temporary folders
    answers: int = 0
    deliveries: int = 0
    rates: int = 0


def sweep(database: Database, storage: Storage, service: ServiceSettings) -> Swept:
    """Delete what is no longer needed. Safe at any time, also concurrently."""
    return Swept(
        visitors=delete_old_visitors(database, storage, service.visitor_minutes * 60) if service.is_demo else 0,
        outputs=_delete_old(database, storage, service.keep_outputs_days * DAY_S) if service.keep_outputs_days else 0,
        attempts=_delete_attempts(database, storage),
        analyses=delete_analyses(database, storage),
        inputs=_delete_inputs(database, storage),
        drafts=_delete_drafts(database, storage),
        unfinished=_delete_unfinished(database, storage),
        uploads=_delete_passing(storage.scratch),
        answers=idempotent_answers.sweep(database),
        deliveries=deliveries.sweep(database),
        rates=rates.sweep(database),
    )


def _delete_old(database: Database, storage: Storage, kept_s: float) -> int:
    """Delete recordings and results of conversions that ended long ago, and mark their rows."""
    old = and_(tasks.c.kind == CONVERSION, tasks.c.finished_at < Now() - kept_s, tasks.c.outputs_deleted_at.is_(None))
    deleted = 0
    while rows := _some(database, old):
        for row in rows:
            storage.delete_below(_prefix(row))
            with database.write() as connection:
                connection.execute(update(tasks).where(tasks.c.id == row.id).values(outputs_deleted_at=Now()))
            deleted += 1
    return deleted


def _delete_attempts(database: Database, storage: Storage) -> int:
    """Delete files of failed attempts. Tasks are checked for some days, as a worker presumed dead may still write."""
    suspect = and_(
        tasks.c.kind == CONVERSION,
        tasks.c.finished_at.between(Now() - _LOOKED_BACK_S, Now() - _LATE_S),
        tasks.c.outputs_deleted_at.is_(None),
        or_(tasks.c.fence > 1, and_(tasks.c.fence > 0, tasks.c.state != "completed")),
    )
    found, after = 0, ""
    while rows := _some(database, and_(suspect, tasks.c.id > after)):
        for row in rows:
            needed = _needed(row)
            if needed is None:
                continue
            lost = [key for key in storage.list_keys(_prefix(row)) if key not in needed]
            for key in lost:
                storage.delete(key)
            found += bool(lost)
        after = rows[-1].id
    return found


def _needed(row: AnyRow) -> set[str] | None:
    """Return the keys of a conversion's recording, its takes, and the sources of their edits; None if a later version
    has stored it, which may need others."""
    try:
        asked, rendered = read(Conversion, row.parameters), read(Rendered, row.result or {})
    except UnknownRecord:
        return None
    takes = (*rendered.outputs, *(rendered.dry or ()), *(rendered.lanes or {}).values())
    edited = [asked.edit.original.take, asked.edit.original.groundwork] if asked.edit else []
    edit_data = [rendered.groundwork] if rendered.groundwork else []
    sent = asked.song.keys.values() if asked.song else ()
    comped = asked.comp.takes if asked.comp else ()
    return {asked.input_key, *takes, *edit_data, *edited, *sent, *comped}


def delete_analyses(database: Database, storage: Storage, kept_s: float = DAY_S, account_id: str | None = None) -> int:
    """Delete analysed recordings and their results after `kept_s`, of all accounts or of one; return their number."""
    old = and_(tasks.c.kind == ANALYSIS, tasks.c.state != "running", tasks.c.created_at < Now() - kept_s)
    if account_id is not None:
        old = and_(old, tasks.c.account_id == account_id)
    deleted = 0
    while rows := _some(database, old):
        for row in rows:
            with database.write() as connection:  # first: files without a row are found again below
                gone = connection.execute(delete(tasks).where(tasks.c.id == row.id, old).returning(tasks.c.id))
                deleted += gone.one_or_none() is not None
            storage.delete_below(_prefix(row))
    return deleted


def _some(database: Database, condition: ColumnElement[bool]) -> Sequence[AnyRow]:
    wanted = select(tasks.c.id, tasks.c.parameters, tasks.c.result).where(condition).order_by(tasks.c.id)
    with database.read() as connection:
        return connection.execute(wanted.limit(_AT_ONCE)).all()


def _prefix(row: AnyRow) -> str:
    """Return the prefix of all files of a task, which is that of its recording."""
    place = str(row.parameters["input_key"]).rpartition("/")[0]
    assert place.endswith(f"tasks/{row.id}")
    return place


def _delete_inputs(database: Database, storage: Storage) -> int:
    """Delete recordings whose task a crash kept out of the queue. Only in a folder storage: elsewhere the search is
    slow, and they are rare."""
    deleted = 0
    for prefix in _prefixes(database):
        place = storage.folder(f"{prefix}tasks")
        old = {path.name for path in _older(place, DAY_S, _TASK)} if place is not None else set()
        known: set[str] = set()
        for some in _parts(sorted(old)):
            with database.read() as connection:
                known |= set(connection.scalars(select(tasks.c.id).where(tasks.c.id.in_(some))))
        for name in old - known:
            storage.delete_below(f"{prefix}tasks/{name}")
            deleted += 1
    return deleted


def _delete_drafts(database: Database, storage: Storage) -> int:
    """Delete drafts that have not changed for long."""
    deleted = 0
    for prefix in _prefixes(database):
        touched: dict[str, float] = {}
        for key in list(storage.list_keys(f"{prefix}{DRAFTS}")):
            draft, _, rest = key.removeprefix(f"{prefix}{DRAFTS}/").partition("/")
            if is_draft_id(draft):
                touched[draft] = max(touched.get(draft, 0.0), moment_of(rest) or 0.0)
        for draft, last_s in touched.items():
            if time.time() - last_s > _DRAFTS_KEPT_S:
                storage.delete_below(f"{prefix}{DRAFTS}/{draft}")
                deleted += 1
    return deleted


def _delete_unfinished(database: Database, storage: Storage) -> int:
    """Delete what killed processes were writing, in every store of a folder storage and in the work folder."""
    homes = [storage.folder(f"{prefix}{kind}") for prefix in _prefixes(database) for kind in _KINDS]
    found = [path for home in (*homes, storage.scratch) if home is not None for path in _unfinished_below(home)]
    for path in found:
        _delete_path(path)
    return len(found)


def _unfinished_below(home: Path) -> Iterator[Path]:
    """Yield abandoned entries; folders unchanged for days have been searched before, unless they hold many others."""
    for folder, folders, files in os.walk(home):
        yield from (path for name in (*folders, *files) if (path := Path(folder, name)) and _is_abandoned(path))
        kept = [name for name in folders if not (_UNFINISHED.fullmatch(name) or WORK_FOLDER.fullmatch(name))]
        if home.name == _TASKS:  # up to millions
            kept = [name for name in kept if _unchanged_s(Path(folder, name)) < _LOOKED_BACK_S]
        folders[:] = kept


def _is_abandoned(path: Path) -> bool:
    return bool(_UNFINISHED.fullmatch(path.name)) and min(map(_unchanged_s, (path, *path.rglob("*")))) > _UNFINISHED_S


def _unchanged_s(path: Path) -> float:
    """Return for how many seconds a file has neither been written nor moved; 0 if it has been deleted."""
    try:
        stat = path.lstat()
    except OSError:
        return 0.0
    return time.time() - max(stat.st_mtime, stat.st_ctime)


def _delete_path(path: Path) -> None:
    shutil.rmtree(path, ignore_errors=True)
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _prefixes(database: Database) -> list[str]:
    """Return the prefix of each account's files."""
    with database.read() as connection:
        return ["", *(f"accounts/{account}/" for account in connection.scalars(select(accounts.c.id)))]


def _parts(names: list[str]) -> Iterator[list[str]]:
    for start in range(0, len(names), _AT_ONCE):
        yield names[start : start + _AT_ONCE]


def _delete_passing(work: Path) -> int:
    """Delete uploads that no process holds any more, and packages and temporary folders unchanged for a day."""
    passing = _older(work / "outgoing", DAY_S, _RECEIVED)
    passing += _older(work, DAY_S, _PASSING)
    passing += _older(work / "page", _UNFINISHED_S, _ON_THE_PAGE)  # cut-off uploads; what has arrived has folders
    for path in passing:
        _delete_path(path)
    return len(passing) + delete_received(work)


def delete_received(work: Path) -> int:
    """Delete what dead processes were receiving; return how many folders. Those are held from their first moment on."""
    place = work / "incoming"
    held = {path: is_locked(path) for path in _older(place, _ANY_AGE_S, _RECEIVED)}
    old = set(_older(place, DAY_S, _RECEIVED))  # where it cannot be told
    passing = [path for path, is_one in held.items() if is_one is False or (is_one is None and path in old)]
    for path in passing:
        _delete_path(path)
    return len(passing)


def _older(place: Path, age_s: float, names: re.Pattern[str]) -> list[Path]:
    """Return the entries of a folder with such names unchanged for so long by this machine's clock."""
    found = []
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            with suppress(OSError):  # deleted meanwhile
                unchanged_s = time.time() - entry.stat(follow_symlinks=False).st_mtime
                if names.fullmatch(entry.name) and unchanged_s > age_s:
                    found.append(Path(entry.path))
    return found
