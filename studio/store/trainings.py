"""A voice's training in the hands of one task: the folder that it works in, its snapshots, and the voice's row.

    stored_training --> continued --> begin --> reached, save, ... --> keep --> complete --> drop_older

Each write to the row is made only while the task is still its worker's.

In a remote storage, each saved checkpoint is a snapshot, a folder in `trainings/{model}`. It holds the new files, and a
list of all files that belong to it, in whichever snapshot they are. The voice's row names the current one. Names begin
with a generation, one above the previous: so a late worker deletes only what is older than its own, and nothing that a
later one has stored.
"""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from sqlalchemy import Connection

from engine.datasets.dataset import TRAINING_FOLDER
from engine.training.history import HISTORY_FILE, read_history
from engine.training.plan import TrainingPlan
from engine.voices.card import VoiceCard
from studio.errors import NotFound
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import TRAININGS, Model, training_begun, training_completed, training_reached
from studio.store.database import Database
from studio.store.records.voices import Training
from studio.store.storage import Storage
from studio.store.tasks import Task, as_owner
from studio.store.voice_folders import drop_older_voices, generation_of, keep_voice, new_name
from studio.store.workspaces import LOCK_FILE, LOCK_WAIT_S, Workspace, alone_in_training, dataset_workspace

if TYPE_CHECKING:
    from engine.voices.voice import Voice  # loads torch

_SAVED_AGAIN_S = 5.0  # between checkpoints after a lost worker
_LIST_FILE = "files.json"
_Signature = tuple[str, int, int, int]
_NOT_KEPT = re.compile(r".*\.part|.*\.previous|" + re.escape(LOCK_FILE))


@dataclass(frozen=True)
class StoredTraining:
    """What a task trains with, and the voice as it was when the task took it."""

    database: Database
    storage: Storage
    account: Account
    model: Model
    task: Task
    workspace: Workspace
    folder: Path  # the training's own, in the workspace
    snapshots: "_Snapshots | None"  # if the folder is a copy

    def continued(self) -> tuple[TrainingPlan, int]:
        """Return the plan, with fixed values taken from an existing training, and the epoch that this has reached."""
        from engine.training.checkpoint import plan_begun_with  # loads torch

        asked, begun_with = self.task.asked_as(Training), plan_begun_with(self.folder)
        plan = TrainingPlan.known({**asked.settings, "epochs": asked.epochs})
        plan = plan.continuing(begun_with or {}, asked.settings)
        if self.task.attempt > 1:  # the worker before was lost: attempts count from the last checkpoint
            plan = replace(plan, save_s=min(plan.save_s, _SAVED_AGAIN_S))
        return plan, 0 if begun_with is None else self.model.epoch

    def begin(self, epoch: int) -> None:
        """Record that the training goes on from an epoch. Raises LeaseLost, as all that follow do."""
        self._write(lambda rows: training_begun(rows, self.model.account_id, self.model.id, epoch))

    def reached(self, epoch: int, training_key: str | None = None) -> None:
        """Record an epoch; training_key: its checkpoint."""
        self._write(lambda rows: training_reached(rows, self.model, epoch, training_key))

    def save(self, epoch: int) -> None:
        """Store the latest checkpoint, if the folder is a copy; then older ones are deleted. Raises Unavailable."""
        if self.snapshots is not None:
            self.snapshots.add(lambda training_key: self.reached(epoch, training_key))
            self.snapshots.delete_older()

    def last_epoch(self) -> int:
        """Return the epoch that the training has ended with."""
        history = read_history(self.folder)
        assert history is not None  # it has just been written
        return history.epoch

    def keep(self, voice: "Voice") -> str:
        """Store the trained voice; return its key. The previous voice stays in use until the row names this one."""
        return keep_voice(self.storage, self.account, self.model.id, self.task.fence, voice, voice.preview)

    def complete(self, rows: Connection, card: VoiceCard, voice_key: str, epoch: int) -> None:
        """Record the trained voice. Raises NotFound if it was deleted meanwhile."""
        training_completed(rows, self.model, card, voice_key, epoch, self.task.asked_as(Training).epochs)

    def drop_older(self, voice_key: str) -> None:
        """Delete the versions before the one that the row names now."""
        drop_older_voices(self.storage, self.account, self.model, voice_key)

    def _write(self, change: Callable[[Connection], None]) -> None:
        with as_owner(self.database, self.task) as connection:
            change(connection)


@contextmanager
def stored_training(
    database: Database, storage: Storage, account: Account, model: Model, task: Task, wait_s: float = LOCK_WAIT_S
) -> Iterator[StoredTraining]:
    """Provide what a task trains a voice with; its folder is locked against other workers. Raises WrongState if the
    voice has no recordings, Unavailable if another worker holds the training for longer than `wait_s`."""
    with dataset_workspace(storage, model) as workspace:
        folder = workspace.folder / TRAINING_FOLDER
        with nullcontext() if workspace.is_copy else alone_in_training(workspace.folder, wait_s):
            snapshots = _Snapshots.continued(storage, account, model, task.fence, folder) if workspace.is_copy else None
            yield StoredTraining(database, storage, account, model, task, workspace, folder, snapshots)


def training_files(storage: Storage, model: Model) -> dict[str, str]:
    """Return the files of a voice's latest stored training: path in its folder -> key; empty before the first."""
    if model.training_key is not None:
        try:
            return _files_of(storage, model.training_key)
        except NotFound:  # replaced by a later one meanwhile
            return {}
    if model.dataset_key is None:
        return {}
    place = f"{model.dataset_key}/{TRAINING_FOLDER}"
    return {key.removeprefix(f"{place}/"): key for key in storage.list_keys(place)}


@dataclass
class _Snapshots:
    """The snapshots of one worker; `place`: their prefix; `name`: how theirs begin; `folder`: their source."""

    storage: Storage
    place: str
    name: str
    folder: Path
    _number: int = 0
    _files: dict[str, str] = field(default_factory=dict)  # of the latest: path in the folder -> key
    _seen: dict[_Signature, str] = field(default_factory=dict)  # of a file that is stored -> key

    @classmethod
    def continued(cls, storage: Storage, account: Account, model: Model, fence: int, folder: Path) -> Self:
        """Return those of the claim `fence`, after bringing the voice's latest one to `folder`."""
        before = model.training_key
        name = new_name(generation_of((before or "").rpartition("/")[2]) + 1, fence)
        snapshots = cls(storage, f"{account_prefix(account)}{TRAININGS}/{model.id}", name, folder)
        if before is not None:
            snapshots._restore(before)
        return snapshots

    def _restore(self, key: str) -> None:
        self._files = _files_of(self.storage, key)
        for path, stored in self._files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            self.storage.fetch(stored, target.parent).rename(target)
            self._seen[_signature(target)] = stored

    def add(self, point: Callable[[str], None]) -> None:
        """Store a snapshot, without the files that are unchanged, and have `point` name it."""
        self._number += 1
        key = f"{self.place}/{self.name}-{self._number}"
        files, seen = {}, {}
        for path in sorted(self.folder.rglob("*")):
            if not path.is_file() or _NOT_KEPT.fullmatch(path.name):
                continue
            name, signature = path.relative_to(self.folder).as_posix(), _signature(path)
            stored = self._seen.get(signature)
            if stored is None or name == HISTORY_FILE:  # always read from the latest snapshot
                stored = f"{key}/{name}"
                self.storage.put_file(path, stored)
            files[name] = seen[signature] = stored
        self.storage.put_bytes(json.dumps(files).encode(), f"{key}/{_LIST_FILE}")
        self._files, self._seen = files, seen
        point(key)

    def delete_older(self) -> None:
        """Delete files older than the latest snapshot and not part of it; keep those of a later worker."""
        needed = {f"{self.place}/{self.name}-{self._number}/{_LIST_FILE}", *self._files.values()}
        for key in list(self.storage.list_keys(self.place)):
            name = key.removeprefix(f"{self.place}/")
            if key not in needed and generation_of(name) <= generation_of(self.name):
                self.storage.delete(key)


def _files_of(storage: Storage, key: str) -> dict[str, str]:
    files: dict[str, str] = json.loads(b"".join(storage.read(f"{key}/{_LIST_FILE}")))
    return files


def _signature(path: Path) -> _Signature:
    """Return a value that changes with the file."""
    stat = path.stat()
    return path.as_posix(), stat.st_ino, stat.st_size, stat.st_mtime_ns
