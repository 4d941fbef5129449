"""Provide voices and recordings as folders for the engine, whatever the storage is.

In a folder storage they are used in place. From a remote storage they are copied here first: a voice into a cache,
recordings into a folder of their own with the latest checkpoint of their training, and new files are copied back.
There each checkpoint is a snapshot, a folder in `trainings/{model}`: the new files, and a list of all files that
belong to it, in whichever snapshot they are. The voice's row names the current snapshot, and which of the folders in
`voices/{model}` is the voice. Names of both begin with a generation, one above the previous: so a late worker deletes
only what is older than its own, and nothing that a later one has stored.
"""

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import BaseFileLock, FileLock, Timeout

from engine.datasets.dataset import (
    AUDIO_FOLDER,
    MODEL_FILE,
    ORIGINALS_FOLDER,
    REPORT_FILE,
    TRAINING_FOLDER,
    UNTRAINED_FOLDER,
    load_dataset,
)
from engine.errors import DatasetError, VoiceError
from engine.progress import Report
from engine.texts import tr
from engine.training.history import HISTORY_FILE
from engine.voices.card import CARD_FILE, DEMO_VOICES, WEIGHTS_FILE, load_card, new_voice_folder
from studio.errors import NotFound, StudioError, Unavailable, WrongState
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import TRAININGS, Model, voice_prefix
from studio.store.storage import WORK_FOLDER, Storage

if TYPE_CHECKING:
    from engine.voices.voice import Voice


LOCK_FILE = ".training.lock"
UNTRAINED_LOCK_FILE = ".untrained.lock"
CACHE_FOLDER = "cache"
MOST_CACHED = 100  # voices, of about 10 MB each
LOCK_WAIT_S = 10.0
_LOOK_S = 0.5  # between checks of the lock on the untrained voice
_LIST_FILE = "files.json"
_UNCACHED_AFTER_S = 600.0  # a voice used since then may still be being read
_Signature = tuple[str, int, int, int]
_NOT_KEPT = re.compile(r".*\.part|.*\.previous|" + re.escape(LOCK_FILE))


# ---- voices


def voice_folder(storage: Storage, model: Model) -> Path:
    """Return the folder of a voice, read-only. Raises WrongState for an untrained voice, NotFound, Unavailable."""
    if model.is_demo:
        return DEMO_VOICES / model.id
    if model.voice_key is None:
        raise WrongState(tr("The voice '{id}' is not trained yet: train it first.", id=model.id), "model_not_ready")
    return storage.folder(model.voice_key) or _cached(storage, model.voice_key)


def untrained_folder(storage: Storage, account: Account, model: Model, report: Report, device: str) -> Path:
    """Return the folder of an untrained voice, read-only; make the voice if it does not exist.

    In a folder storage it is made again when the recordings have changed; in a remote one they never do. `report` may
    raise Cancelled; device: computes it. Raises WrongState if there are no recordings, NotFound, Unavailable, DiskFull,
    and DatasetError and TrainingError if there is too little voice.
    """
    key = untrained_prefix(model)
    if kept := _stored_untrained(storage, key):
        return kept
    with (
        dataset_workspace(storage, account, model, 0, training=False) as workspace,
        alone_with_untrained(workspace.folder, report),
    ):
        workspace.make_untrained(report, device)
    made = _stored_untrained(storage, key)
    if made is None:  # its recordings were changed or deleted meanwhile
        raise Unavailable(tr("The voice was changed while it was made: try again."), _LOOK_S, "model_busy")
    return made


def untrained_prefix(model: Model) -> str:
    """Return the prefix of an untrained voice."""
    return f"{model.dataset_key}/{UNTRAINED_FOLDER}"


def _stored_untrained(storage: Storage, key: str) -> Path | None:
    from engine.training.untrained import finished_untrained

    home = storage.folder(key)
    try:
        if home is not None:
            return finished_untrained(load_dataset(home.parent))
        home = _cached(storage, key)
        return None if load_card(home).is_earlier else home
    except (NotFound, DatasetError, VoiceError):
        return None


def keep_voice(
    storage: Storage, account: Account, model_id: str, fence: int, voice: "Voice", preview: Path | None = None
) -> str:
    """Store a trained voice; return its `voice_key`. The previous voice stays in use until the row changes.

    In a folder storage, the new voice replaces it in one step. Raises VoiceError, Unavailable, DiskFull.
    """
    from engine.voices.voice import save_voice  # loads torch

    key = voice_prefix(account, model_id)
    home = storage.folder(key)
    if home is not None:
        save_voice(voice, home, preview)
        return key
    generation = max(map(_generation, _names_below(storage, key)), default=0) + 1
    key = f"{key}/{_new_name(generation, fence)}"
    with _passing_folder(storage, "voice") as place:
        save_voice(voice, place / model_id, preview)
        storage.push_folder(place / model_id, key)
    return key


@contextmanager
def arriving(storage: Storage, account: Account, kind: str, folder: Path) -> Iterator[Callable[[str], str]]:
    """Store a new folder of VOICES or DATASETS; slow transfers finish before the body begins.

    In the transaction that creates the voice's row, the body calls the yielded function with the voice's id; it returns
    the key and takes no longer than moving a folder. If the body fails, or does not call it, nothing stays stored.
    Raises Unavailable, DiskFull.
    """
    place = f"{account_prefix(account)}{kind}"
    is_folder = storage.folder(place) is not None
    # a storage that cannot move takes the files at their final place, under a name no other voice has
    lies = f"{WORK_FOLDER}/voice-{secrets.token_hex(8)}" if is_folder else f"{place}/{secrets.token_hex(12)}"
    has_arrived = False

    def arrive(model_id: str) -> str:
        nonlocal lies, has_arrived
        target = f"{place}/{model_id}" if is_folder else lies
        if (home := storage.folder(lies)) is not None and target != lies:
            storage.push_folder(home, target)
        lies, has_arrived = target, True
        return lies

    try:
        storage.push_folder(folder, lies)
        yield arrive
    except BaseException:
        has_arrived = False
        raise
    finally:
        if not has_arrived:
            storage.delete_below(lies)


def keep_voice_folder(storage: Storage, account: Account, model_id: str, folder: Path) -> str:
    """Move a voice's files from `folder` into the storage; return its `voice_key`, as `keep_voice` does.

    Raises VoiceError, Unavailable, DiskFull.
    """
    key = voice_prefix(account, model_id)
    home = storage.folder(key)
    if home is None:
        generation = max(map(_generation, _names_below(storage, key)), default=0) + 1
        key = f"{key}/{_new_name(generation, 0)}"
        storage.push_folder(folder, key)
        return key
    with new_voice_folder(home) as unfinished:
        for path in folder.iterdir():
            shutil.copyfile(path, unfinished / path.name)
    return key


def drop_older_voices(storage: Storage, account: Account, model_id: str, voice_key: str) -> None:
    """Delete earlier versions of a voice once its row names `voice_key`."""
    place = voice_prefix(account, model_id)
    if voice_key == place:
        return
    generation = _generation(voice_key.rpartition("/")[2])
    for name in _names_below(storage, place):
        if _generation(name) < generation:
            storage.delete_below(f"{place}/{name}")


def _cached(storage: Storage, voice_key: str) -> Path:
    files = [storage.head(f"{voice_key}/{name}") for name in (WEIGHTS_FILE, CARD_FILE)]
    state = [file.etag for file in files if file is not None]
    if len(state) < len(files):
        raise NotFound(tr("The voice has been deleted."), "model_not_found")
    cache = storage.scratch / CACHE_FOLDER
    home = cache / sha256(" ".join([voice_key, *state]).encode()).hexdigest()[:32]
    if not (home / CARD_FILE).exists():
        with _passing_folder(storage, "voice") as place:
            storage.pull_folder(voice_key, place / "voice")
            cache.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # another worker deleted it first
                (place / "voice").rename(home)
        _forget_unused(cache)
    with suppress(OSError):
        os.utime(home)
    return home


def _forget_unused(cache: Path) -> None:
    """Keep only the most recently used voices."""
    with suppress(OSError):
        homes = sorted(cache.iterdir(), key=lambda home: home.stat().st_mtime, reverse=True)
        for home in homes[MOST_CACHED:]:
            if time.time() - home.stat().st_mtime > _UNCACHED_AFTER_S:
                shutil.rmtree(home, ignore_errors=True)


# ---- recordings and trainings


@dataclass
class Workspace:
    """The folder of a dataset with its training, and how changes reach the storage."""

    folder: Path
    _snapshots: "_Snapshots | None" = None
    _storage: Storage | None = None
    _dataset_key: str = ""

    def make_untrained(self, report: Report, device: str) -> None:
        """Make the untrained voice if it does not exist, and store it; the folder is locked meanwhile. Raises
        DatasetError and TrainingError if there is too little voice, Unavailable, DiskFull.
        """
        from engine.training.untrained import untrained_of  # loads torch

        made = untrained_of(load_dataset(self.folder), report, device)
        if self._storage is not None:
            self._storage.push_folder(made, f"{self._dataset_key}/{UNTRAINED_FOLDER}")

    @property
    def is_copy(self) -> bool:
        """Whether changes must be saved to a remote storage; else the folder is the stored one."""
        return self._storage is not None

    def save(self, point: Callable[[str], None]) -> None:
        """Store the training. `point` writes the key it gets as `training_key` to the voice's row, under the fence;
        then older snapshots are deleted. Does nothing unless the folder is a copy.

        Raises Unavailable, and what `point` raises.
        """
        if self._snapshots is not None:
            point(self._snapshots.add())
            self._snapshots.delete_older()

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
        """Store the data report."""
        report = self.folder / REPORT_FILE
        if self._storage is not None and report.exists():
            self._storage.put_bytes(report.read_bytes(), f"{self._dataset_key}/{REPORT_FILE}")


@contextmanager
def dataset_workspace(
    storage: Storage, account: Account, model: Model, fence: int, *, training: bool = True, wait_s: float = LOCK_WAIT_S
) -> Iterator[Workspace]:
    """Provide the recordings of a voice as a folder. training: with its training, locked against other workers.

    Raises WrongState if the voice has no recordings, Unavailable if another worker holds the training for longer than
    `wait_s`, or the storage is unreachable.
    """
    key = model.dataset_key
    if key is None:
        raise WrongState(
            tr("The voice '{id}' was not made of recordings here: it cannot be trained.", id=model.id), "no_dataset"
        )
    home = storage.folder(key)
    if home is not None:
        if not home.is_dir():
            raise NotFound(tr("The recordings of '{id}' have been deleted.", id=model.id), "model_not_found")
        with alone_in_training(home, wait_s) if training else _nobody_asked():
            yield Workspace(home)
        return
    with _passing_folder(storage, "training") as folder:
        storage.pull_folder(key, folder)
        snapshots = None
        if training:
            place = f"{account_prefix(account)}{TRAININGS}/{model.id}"
            before = model.training_key
            name = _new_name(_generation((before or "").rpartition("/")[2]) + 1, fence)
            snapshots = _Snapshots(storage, place, name, folder / TRAINING_FOLDER)
            if before is not None:
                snapshots.restore(before)
        yield Workspace(folder, snapshots, storage, key)


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
            held = _acquired(home / UNTRAINED_LOCK_FILE, _LOOK_S)
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


def training_files(storage: Storage, model: Model) -> dict[str, str]:
    """Return the files of a voice's latest stored training: path in its folder -> key; empty before the first.

    Raises Unavailable.
    """
    if model.training_key is not None:
        try:
            return _files_of(storage, model.training_key)
        except NotFound:  # replaced by a later one meanwhile
            return {}
    if model.dataset_key is None:
        return {}
    place = f"{model.dataset_key}/{TRAINING_FOLDER}"
    return {key.removeprefix(f"{place}/"): key for key in storage.list_keys(place)}


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

    def restore(self, key: str) -> None:
        """Restore the folder from a snapshot."""
        self._files = _files_of(self.storage, key)
        for path, stored in self._files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            self.storage.fetch(stored, target.parent).rename(target)
            self._seen[_signature(target)] = stored

    def add(self) -> str:
        """Store a snapshot; unchanged files are not stored again."""
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
        return key

    def delete_older(self) -> None:
        """Delete files older than the latest snapshot and not part of it; keep those of a later worker."""
        needed = {f"{self.place}/{self.name}-{self._number}/{_LIST_FILE}", *self._files.values()}
        for key in list(self.storage.list_keys(self.place)):
            name = key.removeprefix(f"{self.place}/")
            if key not in needed and _generation(name) <= _generation(self.name):
                self.storage.delete(key)


def _new_name(generation: int, fence: int) -> str:
    """Return a unique name: several tasks may share a fence."""
    return f"{generation}-{fence}-{secrets.token_hex(4)}"


def _generation(name: str) -> int:
    """Return the number at the start of a name; 0 if the name is not ours."""
    number = name.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


def _names_below(storage: Storage, place: str) -> set[str]:
    return {key.removeprefix(f"{place}/").partition("/")[0] for key in storage.list_keys(place)}


def _files_of(storage: Storage, key: str) -> dict[str, str]:
    files: dict[str, str] = json.loads(b"".join(storage.read(f"{key}/{_LIST_FILE}")))
    return files


def _signature(path: Path) -> _Signature:
    """Return a value that changes with the file."""
    stat = path.stat()
    return path.as_posix(), stat.st_ino, stat.st_size, stat.st_mtime_ns


@contextmanager
def _passing_folder(storage: Storage, name: str) -> Iterator[Path]:
    """Create a temporary folder and delete it afterwards."""
    folder = storage.scratch / f"{name}-{secrets.token_hex(8)}"
    try:
        folder.mkdir(parents=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _nobody_asked() -> Iterator[None]:
    yield
