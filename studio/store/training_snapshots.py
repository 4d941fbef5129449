"""Checkpoints of trainings in a remote storage: each is a snapshot, a folder in `trainings/{model}`.

It holds the new files, and a list of all files that belong to it, in whichever snapshot they are. The voice's row names
the current one. Names begin with a generation, one above the previous: so a late worker deletes only what is older than
its own, and nothing that a later one has stored.
"""

import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from engine.datasets.dataset import TRAINING_FOLDER
from engine.training.history import HISTORY_FILE
from studio.errors import NotFound
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import TRAININGS, Model
from studio.store.storage import Storage

LOCK_FILE = ".training.lock"
_LIST_FILE = "files.json"
_Signature = tuple[str, int, int, int]
_NOT_KEPT = re.compile(r".*\.part|.*\.previous|" + re.escape(LOCK_FILE))


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
class Snapshots:
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
        """Store a snapshot, without the files that are unchanged; have `point` name it; then delete older ones."""
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
        self.delete_older()

    def delete_older(self) -> None:
        """Delete files older than the latest snapshot and not part of it; keep those of a later worker."""
        needed = {f"{self.place}/{self.name}-{self._number}/{_LIST_FILE}", *self._files.values()}
        for key in list(self.storage.list_keys(self.place)):
            name = key.removeprefix(f"{self.place}/")
            if key not in needed and generation_of(name) <= generation_of(self.name):
                self.storage.delete(key)


def new_name(generation: int, fence: int) -> str:
    """Return a unique name: several tasks may share a fence."""
    return f"{generation}-{fence}-{secrets.token_hex(4)}"


def generation_of(name: str) -> int:
    """Return the number at the start of a name; 0 if the name is not ours."""
    number = name.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


def names_below(storage: Storage, place: str) -> set[str]:
    return {key.removeprefix(f"{place}/").partition("/")[0] for key in storage.list_keys(place)}


def _files_of(storage: Storage, key: str) -> dict[str, str]:
    files: dict[str, str] = json.loads(b"".join(storage.read(f"{key}/{_LIST_FILE}")))
    return files


def _signature(path: Path) -> _Signature:
    """Return a value that changes with the file."""
    stat = path.stat()
    return path.as_posix(), stat.st_ino, stat.st_size, stat.st_mtime_ns
