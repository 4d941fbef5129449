"""Check the files a voice is made of and collect them in one folder.

Each recording lies below a folder named by its length in milliseconds, in the sub-folders it came in.
"""

import json
import re
from collections.abc import Collection
from pathlib import Path, PurePosixPath
from typing import Any

from engine.audio.containers import AUDIO_SUFFIXES
from engine.datasets.dataset import AUDIO_FOLDER, LARGEST_MODEL_FILE, Dataset, create_dataset
from engine.datasets.left_out import NOT_AUDIO, why_no_recording
from engine.errors import ArchiveError, AudioError, DatasetError, ProfileError
from engine.files import numbered
from engine.texts import tr
from engine.voices.profile import profile_as_json, read_profile
from studio.actions.arrivals import called, take
from studio.actions.recordings import check_recording
from studio.errors import StudioError

_ODD = re.compile(r"[^\w .,()'&+-]")  # what keys of storages cannot hold, or encode differently
_ZIP, _JSON = ".zip", ".json"


def gather(file: Path, unpacked: Path, gathered: Path, refused: list[str], kept_free: int) -> dict[str, Any]:
    """Move the contents of a file (a recording, a zip, a model.json) to `gathered`; return what a model.json states.

    unpacked: where a zip may be unpacked, as long as `kept_free` bytes of the disk stay free. Unreadable files of a zip
    are added to `refused`. Raises DatasetError, ArchiveError, ProfileError and NotReadable if nothing is usable.
    """
    suffix = file.suffix.lower()
    if suffix == _ZIP:
        with called(file, f'"{file.name}"'):
            dataset = _unpacked(file, unpacked, kept_free)
        gather_dataset(dataset, gathered, refused)
        refused += [f"{one.name}: {one.reason}" for one in dataset.left_out]
        return profile_as_json(dataset.profile)
    if suffix == _JSON:
        return _model_file(file)
    if why_no_recording(file) == NOT_AUDIO:
        raise DatasetError(tr(
            '"{name}" is not a recording: add {audio_suffixes} files, or zips of them.',
            name=file.name, audio_suffixes=", ".join(AUDIO_SUFFIXES),
        ))
    _gather_one(file, file.name, PurePosixPath(file.name), gathered)
    return {}


def _unpacked(file: Path, folder: Path, kept_free: int) -> Dataset:
    """Return the dataset in a zip, named after the zip if it has no name."""
    try:
        return create_dataset(file, folder, kept_free=kept_free)
    except ProfileError as cause:
        if [name for name, _ in cause.problems] != ["name"]:
            raise
        return create_dataset(file, folder, {"name": file.stem}, kept_free)


def gather_dataset(
    dataset: Dataset, gathered: Path, refused: list[str], without: Collection[str] = frozenset()
) -> None:
    """Move the recordings of a dataset to `gathered`, except those named in `without`."""
    for recording in dataset.recordings:
        place = PurePosixPath(recording.relative_to(dataset.folder / AUDIO_FOLDER).as_posix())
        if str(place) in without:
            continue
        try:
            _gather_one(recording, str(place), place, gathered)
        except (AudioError, StudioError) as cause:
            refused.append(str(cause))


def _gather_one(file: Path, name: str, place: PurePosixPath, gathered: Path) -> None:
    milliseconds = round(1000 * check_recording(file, name).seconds)
    if milliseconds == 0:
        raise DatasetError(tr('"{name}" contains no audio.', name=name))
    target = free_path(gathered / str(milliseconds) / PurePosixPath(*(_ODD.sub("_", part) for part in place.parts)))
    target.parent.mkdir(parents=True, exist_ok=True)
    take(file, target)


def _model_file(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(file.read_bytes()[: LARGEST_MODEL_FILE + 1].decode("utf-8-sig"))
    except (ValueError, RecursionError) as cause:
        raise ArchiveError(tr(
            '"{name}" cannot be read as a model.json: it is not valid JSON.',
            name=file.name,
        )) from cause
    if not isinstance(values, dict):
        raise ArchiveError(tr(
            '"{name}" is not a model.json: it must hold one object, such as {"name": "Anna"}.',
            name=file.name,
        ))
    profile = profile_as_json(read_profile({"name": file.stem} | values))
    return {name: value for name, value in profile.items() if name != "name" or name in values}


def free_path(path: Path) -> Path:
    """Return the path, numbered if it exists: vocal.wav, vocal-2.wav."""
    return next(one for one in numbered(path) if not one.exists())
