"""What takes room on the disk, and what of it can be made again."""

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from engine.datasets.dataset import CACHE_FOLDER, TRAINING_FOLDER
from studio.errors import Unavailable
from studio.executors.housekeeping import delete_analyses
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import DATASETS, PACKAGES, VOICES
from studio.store.drafts import DRAFTS
from studio.store.kinds import ANALYSIS, KINDS
from studio.store.studio import Studio
from studio.store.tasks import ids_of, waiting_and_running
from studio.store.workspaces import alone_in_training

_TASKS = "tasks"
_IN_USE_S = 600.0  # an analysis younger than this may be on a page
_MOST_COUNTED = 50_000  # files of an area; larger ones are not counted to the end


def storage_view(studio: Studio, account: Account) -> dict[str, Any]:
    """Return the location and disk use of the account's files.

    place: the folder if the page runs on this machine, else None; is_folder; free_bytes, None if unknown; areas: name
    -> {"files", "bytes", "complete"}, empty if the storage is not a folder. A file with several names counts once, in
    the first area. `analyses`, `packages` and `prepared` can be made again.
    """
    root = studio.storage.folder(VOICES)
    counted: set[tuple[int, int]] = set()
    areas = {name: _measured(places, counted) for name, places in _places(studio, account).items()} if root else {}
    return {
        "place": str(studio.settings.data) if root is not None and account.is_local else None,
        "is_folder": root is not None,
        "free_bytes": studio.storage.free_bytes(),
        "areas": areas,
    }


def clear_remakeable(studio: Studio, account: Account) -> None:
    """Delete what is made again when needed: analyses, exported packages, and what was prepared of recordings.

    What a page shows now, or a training uses, stays. Raises Unavailable.
    """
    delete_analyses(studio.database, studio.storage, _IN_USE_S, account.id)
    studio.storage.delete_below(f"{account_prefix(account)}{PACKAGES}")
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


def _measured(places: Iterable[Path], counted: set[tuple[int, int]]) -> dict[str, Any]:
    files, size = 0, 0
    for path in (path for place in places for path in ([place] if place.is_file() else place.rglob("*"))):
        try:
            found = path.lstat()
        except OSError:  # deleted meanwhile
            continue
        if not path.is_file() or (found.st_dev, found.st_ino) in counted:
            continue
        if files >= _MOST_COUNTED:
            return {"files": files, "bytes": size, "complete": False}
        counted.add((found.st_dev, found.st_ino))
        files, size = files + 1, size + found.st_size
    return {"files": files, "bytes": size, "complete": True}
