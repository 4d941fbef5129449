"""The installation: machine, workers, limits, and what fills the disk."""

import platform
import re
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from engine.cores import usable_cores
from engine.datasets.dataset import CACHE_FOLDER, TRAINING_FOLDER
from engine.texts import tr
from studio.actions.submission import Work, new_task, submit_work
from studio.doctor import Finding
from studio.errors import Unavailable
from studio.executors.housekeeping import delete_analyses
from studio.settings.machine import memory_bytes
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import DATASETS, PACKAGES, VOICES
from studio.store.drafts import DRAFTS
from studio.store.kinds import ANALYSIS, CHECKUP, KINDS
from studio.store.records.checkup import Checkup
from studio.store.records.codec import Record
from studio.store.records.voices import Nothing
from studio.store.studio import Studio
from studio.store.tasks import ACTIVE, Task, ids_of, list_tasks, waiting_and_running
from studio.store.workspaces import alone_in_training

LIMITS = (
    *("largest_upload_mb", "longest_audio_minutes", "largest_conversion_minutes", "longest_dataset_hours"),
    *("conversions_per_account", "trainings_per_account", "models_per_account", "keep_outputs_days", "link_hours"),
    "free_disk_mb",
)
_TASKS = "tasks"
# what `packages` and `project_exports` keep; whoever chose a data folder that holds other things keeps those
_PACKAGE = re.compile(r"([^/]+)/\1\.voice\.zip|_projects/.+")
_IN_USE_S = 600.0  # an analysis younger than this may be on a page
_MOST_COUNTED = 50_000  # files of an area; larger ones are not counted to the end


@dataclass(frozen=True, kw_only=True)
class MachineView(Record):
    """What is known about the machine without a checkup."""

    version: str
    system: str
    cores: int
    memory_bytes: int | None
    conversion_workers: int
    training_workers: int


@dataclass(frozen=True, kw_only=True)
class LimitView(Record):
    """A limit that holds on the page; option: of `serve`, which changes it, if there is one."""

    name: str
    value: float
    option: str | None


@dataclass(frozen=True, kw_only=True)
class CheckupView(Record):
    """The last checkup; finished_at: Unix time."""

    state: str
    message: str
    error: str | None
    finished_at: float | None
    findings: Sequence[Finding]


@dataclass(frozen=True, kw_only=True)
class Area(Record):
    """Stored files of one kind; complete: whether all were counted."""

    files: int
    bytes: int
    complete: bool


@dataclass(frozen=True, kw_only=True)
class StorageView(Record):
    """Where an account's files are, and their size.

    place: the folder if the page runs on this machine; areas: empty if the storage is not a folder.
    """

    place: str | None
    is_folder: bool
    free_bytes: int | None
    areas: dict[str, Area]


def machine_view(studio: Studio, account: Account) -> MachineView:
    """Return what is known about the machine without a checkup."""
    service = studio.service
    return MachineView(
        version=_version(),
        system=tr(
            "{system} {machine}, Python {version}",
            system=platform.system(),
            machine=platform.machine(),
            version=platform.python_version(),
        ),
        cores=usable_cores(),
        memory_bytes=memory_bytes(),
        conversion_workers=service.conversions_at_once if service.executor == "local" else 0,
        training_workers=service.training_workers if service.executor == "local" else 0,
    )


def work_view(studio: Studio, account: Account) -> dict[str, int]:
    """Count the account's running and queued tasks, up to a thousand."""
    return {
        state: len(list_tasks(studio.database, account.id, state=state, limit=1000)[0]) for state in reversed(ACTIVE)
    }


def limits_view(studio: Studio) -> list[LimitView]:
    """Return the limits that hold on the page: name, value, and the option of `serve` for it, or None."""
    known = {one.name: one for one in fields(ServiceSettings)}
    return [
        LimitView(
            name=name,
            value=getattr(studio.service, name),
            option=f"--{name.replace('_', '-')}" if known[name].metadata else None,
        )
        for name in LIMITS
        if name != "largest_upload_mb" or studio.service.page_upload_mb  # on one's own machine the disk is the limit
    ]


def start_checkup(studio: Studio, account: Account) -> str:
    """Queue a checkup of what this machine can do, unless one is active; return the task's id."""
    last = _last_checkup(studio, account)
    if last is not None and not last.has_ended:
        return last.id
    return submit_work(studio, new_task(account), Work(CHECKUP, Nothing()))


def checkup_view(studio: Studio, account: Account) -> CheckupView | None:
    """Return the last checkup; None before the first."""
    last = _last_checkup(studio, account)
    if last is None:
        return None
    return CheckupView(
        state=last.state,
        message=last.message,
        error=last.error,
        finished_at=last.finished_at,
        findings=last.result_as(Checkup).findings,
    )


def _last_checkup(studio: Studio, account: Account) -> Task | None:
    found, _ = list_tasks(studio.database, account.id, kind=CHECKUP, limit=1)
    return found[0] if found else None


def _version() -> str:
    try:
        return version("timbre-studio")
    except PackageNotFoundError:
        return ""


def storage_view(studio: Studio, account: Account) -> StorageView:
    """Return the location and disk use of the account's files.

    A file with several names counts once, in the first area. `analyses`, `packages` and `prepared` can be made again.
    """
    root = studio.storage.folder(VOICES)
    counted: set[tuple[int, int]] = set()
    areas = {name: _measured(places, counted) for name, places in _places(studio, account).items()} if root else {}
    return StorageView(
        place=str(studio.settings.data) if root is not None and account.is_local else None,
        is_folder=root is not None,
        free_bytes=studio.storage.free_bytes(),
        areas=areas,
    )


def clear_remakeable(studio: Studio, account: Account) -> None:
    """Delete what is made again when needed: analyses, exported packages, and what was prepared of recordings.

    What a page shows now, or a training uses, stays. Raises Unavailable.
    """
    delete_analyses(studio.database, studio.storage, _IN_USE_S, account.id)
    packages = f"{account_prefix(account)}{PACKAGES}/"
    for key in list(studio.storage.list_keys(packages)):
        if _PACKAGE.fullmatch(key.removeprefix(packages)):
            studio.storage.delete(key)
    with studio.database.read() as connection:
        if any(waiting_and_running(connection, account.id, kind) for kind in KINDS if KINDS[kind].reads_dataset):
            return
    for place in _prepared(studio, account):
        with suppress(Unavailable), alone_in_training(place.parent, wait_s=0.0):
            shutil.rmtree(place, ignore_errors=True)


def _places(studio: Studio, account: Account) -> dict[str, list[Path]]:
    """Return the folders of each area, those that must be kept first."""

    def below(kind: str) -> list[Path]:
        folder = studio.storage.folder(f"{account_prefix(account)}{kind}")
        return sorted(folder.iterdir()) if folder is not None and folder.is_dir() else []

    analysed = ids_of(studio.database, account.id, ANALYSIS)
    prepared = set(_prepared(studio, account))
    datasets = [part for home in below(DATASETS) if home.is_dir() for part in home.iterdir() if part not in prepared]
    return {
        "voices": below(VOICES),
        "recordings": [part for part in datasets if part.name != TRAINING_FOLDER] + below(DRAFTS),
        "trainings": [part for part in datasets if part.name == TRAINING_FOLDER],
        "conversions": [place for place in below(_TASKS) if place.name not in analysed],
        "analyses": [place for place in below(_TASKS) if place.name in analysed],
        "packages": below(PACKAGES),
        "prepared": sorted(prepared),
    }


def _prepared(studio: Studio, account: Account) -> list[Path]:
    """Return the folders with what was prepared of recordings, for trainings."""
    folder = studio.storage.folder(f"{account_prefix(account)}{DATASETS}")
    return [] if folder is None else [place for place in folder.glob(f"*/{CACHE_FOLDER}") if place.is_dir()]


def _measured(places: Iterable[Path], counted: set[tuple[int, int]]) -> Area:
    files, size = 0, 0
    for path in (path for place in places for path in ([place] if place.is_file() else place.rglob("*"))):
        try:
            found = path.lstat()
        except OSError:  # deleted meanwhile
            continue
        if not path.is_file() or (found.st_dev, found.st_ino) in counted:
            continue
        if files >= _MOST_COUNTED:
            return Area(files=files, bytes=size, complete=False)
        counted.add((found.st_dev, found.st_ino))
        files, size = files + 1, size + found.st_size
    return Area(files=files, bytes=size, complete=True)
