"""Provide voices as folders for the engine, whatever the storage is, and keep new ones.

In a folder storage they are used in place; from a remote one they are copied into a cache. There the voice's row names
which of the folders in `voices/{model}` is the voice; their names begin with a generation, as those of snapshots do.
"""

import os
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from engine.datasets.dataset import UNTRAINED_FOLDER, load_dataset
from engine.errors import DatasetError, VoiceError
from engine.progress import Report
from engine.texts import tr
from engine.voices.card import CARD_FILE, DEMO_VOICES, WEIGHTS_FILE, load_card, new_voice_folder
from studio.errors import NotFound, Unavailable, WrongState
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import VOICES, Model
from studio.store.storage import WORK_FOLDER, Storage
from studio.store.workspaces import LOOK_S, alone_with_untrained, dataset_workspace, passing_folder

if TYPE_CHECKING:
    from engine.voices.voice import Voice

CACHE_FOLDER = "cache"
MOST_CACHED = 100  # voices, of about 10 MB each
_UNCACHED_AFTER_S = 600.0  # a voice used since then may still be being read


def voice_folder(storage: Storage, model: Model) -> Path:
    """Return the folder of a voice, read-only. Raises WrongState for an untrained voice, NotFound, Unavailable."""
    if model.is_demo:
        return DEMO_VOICES / model.id
    if model.voice_key is None:
        raise WrongState(tr("The voice '{id}' is not trained yet: train it first.", id=model.id), "model_not_ready")
    return storage.folder(model.voice_key) or _cached(storage, model.voice_key)


def untrained_folder(storage: Storage, account: Account, model: Model, report: Report, device: str) -> Path:
    """Return the folder of an untrained voice, read-only; make the voice if that is not there, or out of date.
    Raises WrongState if there are no recordings, and DatasetError and TrainingError if there is too little voice."""
    key = untrained_prefix(model)
    if kept := _stored_untrained(storage, key):
        return kept
    with dataset_workspace(storage, model) as workspace, alone_with_untrained(workspace.folder, report):
        workspace.make_untrained(report, device)
    made = _stored_untrained(storage, key)
    if made is None:  # its recordings were changed or deleted meanwhile
        raise Unavailable(tr("The voice was changed while it was made: try again."), LOOK_S, "model_busy")
    return made


def voice_prefix(account: Account, model_id: str) -> str:
    """Return the prefix of a voice of the account, or of its models by fence."""
    return f"{account_prefix(account)}{VOICES}/{model_id}"


def untrained_prefix(model: Model) -> str:
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
    """Store a trained voice; return its `voice_key`. The previous voice stays in use until the row changes."""
    from engine.voices.voice import save_voice  # loads torch

    key = voice_prefix(account, model_id)
    home = storage.folder(key)
    if home is not None:
        save_voice(voice, home, preview)
        return key
    with passing_folder(storage, "voice") as place:
        save_voice(voice, place / model_id, preview)
        return _pushed(storage, key, fence, place / model_id)


@contextmanager
def arriving(storage: Storage, account: Account, kind: str, folder: Path) -> Iterator[Callable[[str], str]]:
    """Store a new folder of VOICES or DATASETS; slow transfers finish before the body begins.
    In the transaction that creates the voice's row, the body calls the yielded function with the voice's id; it returns
    the key at once. If the body fails, or does not call it, nothing stays stored."""
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
    """Move a voice's files from `folder` into the storage; return its `voice_key`, as `keep_voice` does."""
    key = voice_prefix(account, model_id)
    home = storage.folder(key)
    if home is None:
        return _pushed(storage, key, 0, folder)
    with new_voice_folder(home) as unfinished:
        for path in folder.iterdir():
            shutil.copyfile(path, unfinished / path.name)
    return key


def _pushed(storage: Storage, place: str, fence: int, folder: Path) -> str:
    """Store a voice's files beside its earlier versions; return its `voice_key`."""
    generation = max(map(generation_of, _names_below(storage, place)), default=0) + 1
    key = f"{place}/{new_name(generation, fence)}"
    storage.push_folder(folder, key)
    return key


def drop_older_voices(storage: Storage, account: Account, model: Model, voice_key: str) -> None:
    """Delete earlier versions of a voice, and the untrained one, once its row names `voice_key`."""
    if model.dataset_key is not None:
        storage.delete_below(untrained_prefix(model))
    place = voice_prefix(account, model.id)
    if voice_key == place:
        return
    generation = generation_of(voice_key.rpartition("/")[2])
    for name in _names_below(storage, place):
        if generation_of(name) < generation:
            storage.delete_below(f"{place}/{name}")


def new_name(generation: int, fence: int) -> str:
    """Return a unique name: several tasks may share a fence."""
    return f"{generation}-{fence}-{secrets.token_hex(4)}"


def generation_of(name: str) -> int:
    """Return the number at the start of a name; 0 if the name is not ours."""
    number = name.partition("-")[0]
    return int(number) if number.isascii() and number.isdigit() else 0


def _names_below(storage: Storage, place: str) -> set[str]:
    return {key.removeprefix(f"{place}/").partition("/")[0] for key in storage.list_keys(place)}


def _cached(storage: Storage, voice_key: str) -> Path:
    files = [storage.head(f"{voice_key}/{name}") for name in (WEIGHTS_FILE, CARD_FILE)]
    state = [file.etag for file in files if file is not None]
    if len(state) < len(files):
        raise NotFound(tr("The voice has been deleted."), "model_not_found")
    cache = storage.scratch / CACHE_FOLDER
    home = cache / sha256(" ".join([voice_key, *state]).encode()).hexdigest()[:32]
    if not (home / CARD_FILE).exists():
        with passing_folder(storage, "voice") as place:
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
