"""Voices and recordings as folders that the engine can work in, whatever the storage is.

Where the storage is a folder, they are used where they lie. Elsewhere they are copied here first: a voice into a cache,
recordings into a folder of their own with the latest checkpoint of their training, from where what is new is brought
back. There each checkpoint is a snapshot, a folder in `trainings/{model}`: the files that are new, and a list of all
that belong to it, in whichever snapshot they lie. The row of the voice says which snapshot counts, and which of the
folders in `voices/{model}` is the voice. Names of both begin with a generation, one above that of the one before: so a
worker that comes late deletes what is older than its own, and nothing that a later one has stored.
"""

import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import BaseFileLock, FileLock, Timeout

from engine.datasets.dataset import REPORT_FILE, TRAINING_FOLDER, UNTRAINED_FOLDER, load_dataset
from engine.errors import DatasetError, VoiceError
from engine.progress import Report
from engine.training.history import HISTORY_FILE
from engine.voices.card import CARD_FILE, DEMO_VOICES, WEIGHTS_FILE, load_card, new_voice_folder
from studio.errors import NotFound, StudioError, Unavailable, WrongState
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import TRAININGS, Model, voice_place
from studio.store.storage import WORK_FOLDER, Storage

if TYPE_CHECKING:
    from engine.voices.voice import Voice


LOCK_FILE = ".training.lock"
UNTRAINED_LOCK_FILE = ".untrained.lock"
CACHE_FOLDER = "cache"
MOST_CACHED = 100  # voices, of about 10 MB each
LOCK_WAIT_S = 10.0
_LOOK_S = 0.5  # between two looks whether another has done with the untrained voice
_LIST_FILE = "files.json"
_UNCACHED_AFTER_S = 600.0  # a voice that was used since may just be being read
_Signature = tuple[str, int, int, int]
_NOT_KEPT = re.compile(r".*\.part|.*\.previous|" + re.escape(LOCK_FILE))


# ---- voices


def voice_folder(storage: Storage, model: Model) -> Path:
    """The folder of a voice, to be read only. Raises WrongState for one that is not trained, NotFound, Unavailable."""
    if model.is_demo:
        return DEMO_VOICES / model.id
    if model.voice_key is None:
        raise WrongState(f"The voice '{model.id}' is not trained yet: train it first.", "model_not_ready")
    return storage.folder(model.voice_key) or _cached(storage, model.voice_key)


def untrained_folder(storage: Storage, account: Account, model: Model, report: Report, device: str) -> Path:
    """The folder of a voice as it is before it is trained, to be read only; it is made where it is not there.

    Where the storage is a folder it is made anew when the recordings have changed; elsewhere they never do. `report`
    may raise Cancelled; device: what it is made on. Raises WrongState where there are no recordings, NotFound,
    Unavailable, DiskFull, and DatasetError and TrainingError where there is too little voice.
    """
    key = untrained_place(model)
    if kept := _kept_untrained(storage, key):
        return kept
    with (
        dataset_workspace(storage, account, model, 0, training=False) as workspace,
        alone_with_untrained(workspace.folder, report),
    ):
        workspace.make_untrained(report, device)
    made = _kept_untrained(storage, key)
    if made is None:  # its recordings were changed or deleted at this moment
        raise Unavailable("The voice was changed while it was made: try again.", _LOOK_S, "model_busy")
    return made


def untrained_place(model: Model) -> str:
    """The prefix below which a voice lies as it is before it is trained."""
    return f"{model.dataset_key}/{UNTRAINED_FOLDER}"


def _kept_untrained(storage: Storage, key: str) -> Path | None:
    from engine.training.untrained import kept_untrained

    home = storage.folder(key)
    try:
        if home is not None:
            return kept_untrained(load_dataset(home.parent))
        home = _cached(storage, key)
        return None if load_card(home).is_earlier else home
    except (NotFound, DatasetError, VoiceError):
        return None


def keep_voice(
    storage: Storage, account: Account, model_id: str, fence: int, voice: "Voice", preview: Path | None = None
) -> str:
    """Store a trained voice; gives its `voice_key`. What was there before is in use until the row says otherwise.

    Where the storage is a folder, the new voice takes its place in one step. Raises VoiceError, Unavailable, DiskFull.
    """
    from engine.voices.voice import save_voice  # loads torch, for which nobody else need wait

    key = voice_place(account, model_id)
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
    """Bring a new folder, of VOICES or DATASETS, into the storage: what takes long is done before the body begins.

    The body calls what it is given with the voice's id, in the transaction that makes its row; that gives the key, and
    takes no longer than moving a folder. Where the body fails, or does not call it, nothing is left in the storage.
    Raises Unavailable, DiskFull.
    """
    place = f"{account_prefix(account)}{kind}"
    is_folder = storage.folder(place) is not None
    # where nothing can be moved, it lies where it is to stay, under a name that no other voice's has
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
    """Store the files of a voice, which are moved from `folder`; gives its `voice_key`, as `keep_voice` does.

    Raises VoiceError, Unavailable, DiskFull.
    """
    key = voice_place(account, model_id)
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
    """Delete what the voice was before it became what lies below `voice_key`, once its row says so."""
    place = voice_place(account, model_id)
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
        raise NotFound("The voice has been deleted.", "model_not_found")
    cache = storage.scratch / CACHE_FOLDER
    home = cache / sha256(" ".join([voice_key, *state]).encode()).hexdigest()[:32]
    if not (home / CARD_FILE).exists():
        with _passing_folder(storage, "voice") as place:
            storage.pull_folder(voice_key, place / "voice")
            cache.mkdir(parents=True, exist_ok=True)
            with suppress(OSError):  # another worker was first
                (place / "voice").rename(home)
        _forget_unused(cache)
    with suppress(OSError):
        os.utime(home)
    return home


def _forget_unused(cache: Path) -> None:
    """Keep the voices that were used last."""
    with suppress(OSError):
        homes = sorted(cache.iterdir(), key=lambda home: home.stat().st_mtime, reverse=True)
        for home in homes[MOST_CACHED:]:
            if time.time() - home.stat().st_mtime > _UNCACHED_AFTER_S:
                shutil.rmtree(home, ignore_errors=True)


# ---- recordings and trainings


@dataclass
class Workspace:
    """The folder of a dataset, with its training in it, and how what is new there is brought into the storage."""

    folder: Path
    _snapshots: "_Snapshots | None" = None
    _storage: Storage | None = None
    _dataset_key: str = ""

    def make_untrained(self, report: Report, device: str) -> None:
        """Make the untrained voice, where it is not there already, and bring it into the storage; nobody else may
        make it meanwhile. Raises DatasetError and TrainingError where there is too little voice, Unavailable, DiskFull.
        """
        from engine.training.untrained import untrained_of  # loads torch, for which nobody else need wait

        made = untrained_of(load_dataset(self.folder), report, device)
        if self._storage is not None:
            self._storage.push_folder(made, f"{self._dataset_key}/{UNTRAINED_FOLDER}")

    @property
    def is_copy(self) -> bool:
        """Whether what is done here has to be saved, which takes time; else it lies where it belongs."""
        return self._storage is not None

    def save(self, point: Callable[[str], None]) -> None:
        """Bring the training into the storage. `point` writes the key it is given as `training_key` into the voice's
        row, under the fence; once it has, older snapshots are deleted. Where nothing is a copy, nothing is done.

        Raises Unavailable, and what `point` raises.
        """
        if self._snapshots is not None:
            point(self._snapshots.add())
            self._snapshots.delete_older()

    def save_report(self) -> None:
        """Bring the data report into the storage."""
        report = self.folder / REPORT_FILE
        if self._storage is not None and report.exists():
            self._storage.put_bytes(report.read_bytes(), f"{self._dataset_key}/{REPORT_FILE}")


@contextmanager
def dataset_workspace(
    storage: Storage,
    account: Account,
    model: Model,
    fence: int,
    *,
    training: bool = True,
    wait_s: float = LOCK_WAIT_S,
) -> Iterator[Workspace]:
    """The recordings of a voice, to work in. training: with the training, which nobody else has meanwhile.

    Raises WrongState where the voice has no recordings, Unavailable where another worker does not let go of the
    training within `wait_s`, or the storage is out of reach.
    """
    key = model.dataset_key
    if key is None:
        raise WrongState(f"The voice '{model.id}' was not made of recordings here: it cannot be trained.", "no_dataset")
    home = storage.folder(key)
    if home is not None:
        if not home.is_dir():
            raise NotFound(f"The recordings of '{model.id}' have been deleted.", "model_not_found")
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
    """Be the only one of this machine who trains on the dataset in `home`; the hold ends with the process, however
    that ends. Raises Unavailable where somebody else does for longer than `wait_s`."""
    try:
        held = _acquired(home / LOCK_FILE, wait_s)
    except Timeout as cause:
        text = "This voice is being trained already, by the studio or on the command line: wait for that, or end it."
        raise Unavailable(text, wait_s, "training_busy") from cause
    try:
        yield
    finally:
        held.release()


@contextmanager
def alone_with_untrained(home: Path, report: Report) -> Iterator[None]:
    """Be the only one of this machine who makes the untrained voice of the dataset in `home`. However long others take,
    they are waited for; `report` is told so, and may raise Cancelled."""
    held = None
    while held is None:
        try:
            held = _acquired(home / UNTRAINED_LOCK_FILE, _LOOK_S)
        except Timeout:
            report(0.0, "waiting until its recordings are analysed")
    try:
        yield
    finally:
        held.release()


def _acquired(lock_file: Path, wait_s: float) -> BaseFileLock:
    """The lock, which is to be released. Raises Timeout where somebody else has it for longer than `wait_s`."""
    held = FileLock(lock_file, timeout=wait_s)
    try:
        held.acquire()
    except Timeout:
        raise
    except OSError as cause:
        text = f"The folder of the recordings cannot be written to: {cause.strerror or cause}."
        raise StudioError(text, "not_writable") from cause
    return held


def training_files(storage: Storage, model: Model) -> dict[str, str]:
    """The files of a voice's training as they were last stored: path in its folder -> key; none before there is one.

    Raises Unavailable.
    """
    if model.training_key is not None:
        try:
            return _files_of(storage, model.training_key)
        except NotFound:  # a later one has just taken its place
            return {}
    if model.dataset_key is None:
        return {}
    place = f"{model.dataset_key}/{TRAINING_FOLDER}"
    return {key.removeprefix(f"{place}/"): key for key in storage.list_keys(place)}


def refuse_in_training(home: Path) -> None:
    """Raises WrongState where somebody on this machine trains on the dataset in `home`, which is about to go."""
    try:
        with alone_in_training(home, wait_s=0.0):
            pass
    except Unavailable as cause:
        text = "This voice is being trained, by the studio or on the command line: wait for that, or end it first."
        raise WrongState(text, "model_busy") from cause


def refuse_busy(home: Path) -> None:
    """The same, also where somebody makes its untrained voice."""
    refuse_in_training(home)
    try:
        _acquired(home / UNTRAINED_LOCK_FILE, 0.0).release()
    except Timeout as cause:
        raise WrongState("The recordings of this voice are being analysed: wait for that.", "model_busy") from cause


@dataclass
class _Snapshots:
    """The snapshots that one worker makes; `place`: where they lie; `name`: how theirs begin; `folder`: what they are
    of."""

    storage: Storage
    place: str
    name: str
    folder: Path
    _number: int = 0
    _files: dict[str, str] = field(default_factory=dict)  # of the latest: path in the folder -> key
    _seen: dict[_Signature, str] = field(default_factory=dict)  # of a file that is stored -> key

    def restore(self, key: str) -> None:
        """Make the folder what it was at a snapshot."""
        self._files = _files_of(self.storage, key)
        for path, stored in self._files.items():
            target = self.folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            self.storage.fetch(stored, target.parent).rename(target)
            self._seen[_signature(target)] = stored

    def add(self) -> str:
        """Store a snapshot; files that have not changed stay where they lie."""
        self._number += 1
        key = f"{self.place}/{self.name}-{self._number}"
        files, seen = {}, {}
        for path in sorted(self.folder.rglob("*")):
            if not path.is_file() or _NOT_KEPT.fullmatch(path.name):
                continue
            name, signature = path.relative_to(self.folder).as_posix(), _signature(path)
            stored = self._seen.get(signature)
            if stored is None or name == HISTORY_FILE:  # which is looked for in the latest snapshot
                stored = f"{key}/{name}"
                self.storage.put_file(path, stored)
            files[name] = seen[signature] = stored
        self.storage.put_bytes(json.dumps(files).encode(), f"{key}/{_LIST_FILE}")
        self._files, self._seen = files, seen
        return key

    def delete_older(self) -> None:
        """Delete what the latest snapshot has no use for; not what a later worker has begun to store."""
        needed = {f"{self.place}/{self.name}-{self._number}/{_LIST_FILE}", *self._files.values()}
        for key in list(self.storage.list_keys(self.place)):
            name = key.removeprefix(f"{self.place}/")
            if key not in needed and _generation(name) <= _generation(self.name):
                self.storage.delete(key)


def _new_name(generation: int, fence: int) -> str:
    """A name that no other worker has: the fence is one of several tasks' too."""
    return f"{generation}-{fence}-{secrets.token_hex(4)}"


def _generation(name: str) -> int:
    """The number a name begins with; 0 where it is none of ours."""
    number = name.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


def _names_below(storage: Storage, place: str) -> set[str]:
    return {key.removeprefix(f"{place}/").partition("/")[0] for key in storage.list_keys(place)}


def _files_of(storage: Storage, key: str) -> dict[str, str]:
    files: dict[str, str] = json.loads(b"".join(storage.read(f"{key}/{_LIST_FILE}")))
    return files


def _signature(path: Path) -> _Signature:
    """What is another one once the file has changed."""
    stat = path.stat()
    return path.as_posix(), stat.st_ino, stat.st_size, stat.st_mtime_ns


@contextmanager
def _passing_folder(storage: Storage, name: str) -> Iterator[Path]:
    """A new folder that is gone in the end."""
    folder = storage.scratch / f"{name}-{secrets.token_hex(8)}"
    try:
        folder.mkdir(parents=True)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _nobody_asked() -> Iterator[None]:
    yield
