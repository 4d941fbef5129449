"""Provide recordings as folders for the engine, whatever the storage is, and lock them.

In a folder storage they are used in place. From a remote storage they are copied here first, into a folder of their
own, and new files are copied back.
"""

import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from engine.datasets.dataset import (
    AUDIO_FOLDER,
    MODEL_FILE,
    ORIGINALS_FOLDER,
    REPORT_FILE,
    UNTRAINED_FOLDER,
    load_dataset,
)
from engine.progress import Report
from engine.texts import tr
from studio.errors import NotFound, StudioError, Unavailable, WrongState
from studio.store.catalogue import Model
from studio.store.storage import Storage

LOCK_FILE = ".training.lock"
UNTRAINED_LOCK_FILE = ".untrained.lock"
LOCK_WAIT_S = 10.0
LOOK_S = 0.5  # between checks of the lock on the untrained voice


@dataclass
class Workspace:
    """The folder of a dataset, and how changes reach the storage."""

    folder: Path
    _storage: Storage | None = None
    _dataset_key: str = ""

    def make_untrained(self, report: Report, device: str) -> None:
        """Make the untrained voice if it does not exist, and store it; the folder is locked meanwhile.
        Raises DatasetError and TrainingError if there is too little voice."""
        from engine.training.untrained import untrained_of  # loads torch

        made = untrained_of(load_dataset(self.folder), report, device)
        if self._storage is not None:
            self._storage.push_folder(made, f"{self._dataset_key}/{UNTRAINED_FOLDER}")

    @property
    def is_copy(self) -> bool:
        """Whether changes must be saved to a remote storage; else the folder is the stored one."""
        return self._storage is not None

    def save_recordings(self, before: Sequence[Path]) -> None:
        """Store recordings that have changed, with their originals and the profile. before: what there was."""
        if self._storage is None:
            return
        for name in (AUDIO_FOLDER, ORIGINALS_FOLDER):
            self._storage.push_folder(self.folder / name, f"{self._dataset_key}/{name}")
        self._storage.put_file(self.folder / MODEL_FILE, f"{self._dataset_key}/{MODEL_FILE}")
        for path in before:
            if not path.exists():
                self._storage.delete(f"{self._dataset_key}/{path.relative_to(self.folder).as_posix()}")

    def save_report(self) -> None:
        report = self.folder / REPORT_FILE
        if self._storage is not None and report.exists():
            self._storage.put_bytes(report.read_bytes(), f"{self._dataset_key}/{REPORT_FILE}")


@contextmanager
def dataset_workspace(storage: Storage, model: Model) -> Iterator[Workspace]:
    """Provide the recordings of a voice as a folder. Raises WrongState if it has none."""
    key = model.dataset_key
    if key is None:
        raise WrongState(
            tr("The voice '{id}' was not made from recordings here: it cannot be trained.", id=model.id), "no_dataset"
        )
    home = storage.folder(key)
    if home is not None:
        if not home.is_dir():
            raise NotFound(tr("The recordings of '{id}' have been deleted.", id=model.id), "model_not_found")
        yield Workspace(home)
        return
    with passing_folder(storage, "training") as folder:
        storage.pull_folder(key, folder)
        yield Workspace(folder, storage, key)


@contextmanager
def alone_in_training(home: Path, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Lock training on the dataset in `home` on this machine; the lock ends with the process. Raises Unavailable if
    another process holds it for longer than `wait_s`."""
    try:
        held = _acquired(home / LOCK_FILE, wait_s)
    except Timeout as cause:
        text = tr(
            "This voice is already being trained, by the studio or on the command line: wait, or stop that training."
        )
        raise Unavailable(text, wait_s, "training_busy") from cause
    try:
        yield
    finally:
        held.release()


@contextmanager
def alone_with_untrained(home: Path, report: Report) -> Iterator[None]:
    """Lock making the untrained voice of the dataset in `home` on this machine, waiting as long as necessary; `report`
    shows the wait, and may raise Cancelled."""
    held = None
    while held is None:
        try:
            held = _acquired(home / UNTRAINED_LOCK_FILE, LOOK_S)
        except Timeout:
            report(0.0, tr("waiting for the analysis of its recordings"))
    try:
        yield
    finally:
        held.release()


def _acquired(lock_file: Path, wait_s: float) -> BaseFileLock:
    """Acquire a lock, which the caller releases. Raises Timeout after `wait_s` seconds."""
    held = FileLock(lock_file, timeout=wait_s)
    try:
        held.acquire()
    except Timeout:
        raise
    except OSError as cause:
        text = tr("The folder of the recordings cannot be written to: {strerror}.", strerror=cause.strerror or cause)
        raise StudioError(text, "not_writable") from cause
    return held


def refuse_in_training(home: Path) -> None:
    """Raise WrongState if the dataset in `home`, which is about to be deleted, is in training on this machine."""
    try:
        with alone_in_training(home, wait_s=0.0):
            pass
    except Unavailable as cause:
        text = tr(
            "This voice is being trained, by the studio or on the command line: wait, or stop that training first."
        )
        raise WrongState(text, "model_busy") from cause


def refuse_busy(home: Path) -> None:
    """Raise the same, also while its untrained voice is being made."""
    refuse_in_training(home)
    try:
        _acquired(home / UNTRAINED_LOCK_FILE, 0.0).release()
    except Timeout as cause:
        text = tr("The recordings of this voice are being analysed: wait until that has finished.")
        raise WrongState(text, "model_busy") from cause


@contextmanager
def passing_folder(storage: Storage, name: str) -> Iterator[Path]:
    folder = storage.scratch / f"{name}-{secrets.token_hex(8)}"
    try:
        folder.mkdir(parents=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
