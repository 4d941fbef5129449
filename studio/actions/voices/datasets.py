"""Create untrained voices from recordings, which are checked and collected in one folder."""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from sqlalchemy import Connection

from engine.audio.containers import AUDIO_SUFFIXES
from engine.datasets.dataset import AUDIO_FOLDER, LARGEST_MODEL_FILE, MUSIC, Dataset, create_dataset, load_dataset
from engine.datasets.left_out import NOT_AUDIO, why_no_recording
from engine.errors import ArchiveError, AudioError, DatasetError, ProfileError
from engine.files import numbered
from engine.progress import Report
from engine.songs.separator_file import checked_separator
from engine.texts import joined, ntr, numeral, tr
from engine.voices.profile import profile_as_json, read_profile
from studio.actions.fetched_models import refuse_without_separator
from studio.actions.recordings import Length, check_recording, refuse_without_consent
from studio.actions.submission import Work, queue_task
from studio.actions.uploads import link_or_copy, scratch_folder, seems_zip
from studio.errors import NotReadable, StudioError, WrongState
from studio.settings.service import MEGABYTE
from studio.store.accounts import Account
from studio.store.catalogue import DATASETS, PENDING, add_model, find_model, refuse_too_many, report_completed, set_keys
from studio.store.idempotency import Idempotency, answered, run_idempotently
from studio.store.idempotent_answers import Answer
from studio.store.kinds import REPORT
from studio.store.records.cards import ReportedData
from studio.store.records.codec import Json, Record
from studio.store.records.voices import ReportAsked
from studio.store.studio import Cost, Studio, costs
from studio.store.tasks import latest, waiting_and_running
from studio.store.voice_folders import arriving
from studio.store.workspaces import alone_with_untrained, dataset_workspace

if TYPE_CHECKING:  # takes seconds to load
    from engine.datasets.report import DataReport

_ODD = re.compile(r"[^\w .,()'&+-]")  # what keys of storages cannot hold, or encode differently
_ZIP, _JSON = ".zip", ".json"
LEAST_RECORDED_S = 10.0  # of audio; the data report measures how much of it is voice
_MOST_REPORTS = 20  # queued or running reports per account: more than anyone starts by hand


def gather(file: Path, unpacked: Path, gathered: Path, refused: list[str], kept_free: int) -> Json:
    """Move the contents of a file (a recording, a zip, a model.json) to `gathered`; return what a model.json states.

    unpacked: where a zip may be unpacked, as long as `kept_free` bytes of the disk stay free. Unreadable files of a zip
    are added to `refused`. Raises DatasetError, ArchiveError, ProfileError and NotReadable if nothing is usable.
    """
    suffix = file.suffix.lower()
    if suffix == _ZIP:
        dataset = _unpacked(file, unpacked, kept_free)
        gather_dataset(dataset, gathered, refused)
        refused += [joined(": ", (one.name, one.reason)) for one in dataset.left_out]
        return profile_as_json(dataset.profile)
    if suffix == _JSON:
        return _model_file(file)
    if why_no_recording(file) == NOT_AUDIO:
        raise DatasetError(
            tr(
                '"{name}" is not a recording: add {audio_suffixes} files, or zips of them.',
                name=file.name,
                audio_suffixes=", ".join(AUDIO_SUFFIXES),
            )
        )
    _gather_recording(file, file.name, PurePosixPath(file.name), gathered)
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
            _gather_recording(recording, str(place), place, gathered)
        except (AudioError, StudioError) as cause:
            refused.append(str(cause))


def _gather_recording(file: Path, name: str, place: PurePosixPath, gathered: Path) -> None:
    milliseconds = round(1000 * check_recording(file, name).seconds)
    if milliseconds == 0:
        raise DatasetError(tr('"{name}" contains no audio.', name=name))
    target = free_path(gathered / str(milliseconds) / PurePosixPath(*(_ODD.sub("_", part) for part in place.parts)))
    target.parent.mkdir(parents=True, exist_ok=True)
    link_or_copy(file, target)


def _model_file(file: Path) -> Json:
    try:
        values = json.loads(file.read_bytes()[: LARGEST_MODEL_FILE + 1].decode("utf-8-sig"))
    except (ValueError, RecursionError) as cause:
        raise ArchiveError(
            tr('"{name}" cannot be read as a model.json: it is not valid JSON.', name=file.name)
        ) from cause
    if not isinstance(values, dict):
        raise ArchiveError(
            tr('"{name}" is not a model.json: it must hold one object, such as {"name": "Anna"}.', name=file.name)
        )
    profile = profile_as_json(read_profile({"name": file.stem} | values))
    return {name: value for name, value in profile.items() if name != "name" or name in values}


def free_path(path: Path) -> Path:
    """Return the path, numbered if it exists: vocal.wav, vocal-2.wav."""
    return next(one for one in numbered(path) if not one.exists())


@costs(Cost.APART)
def create_model(
    studio: Studio,
    account: Account,
    archive: Path,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
    given: Mapping[str, object] | None = None,
) -> str:
    """Create an untrained voice from a zip with model.json and recordings; return its id.

    given: fields that replace those of model.json. Raises NotReadable if it is not a zip, ArchiveError, DatasetError
    and ProfileError if its contents do not make a voice, TooMany, DiskFull, Unavailable; then nothing is left behind.
    """
    if known := answered(studio, account, idempotency):
        return str(known["model_id"])
    if not seems_zip(archive):
        raise NotReadable(tr("The file is not a zip: put model.json and the folder audio into a zip."), "not_a_zip")
    with studio.database.read() as connection:  # before it is unpacked
        refuse_too_many(connection, account.id, studio.service)
    with scratch_folder(studio) as scratch:
        dataset = create_dataset(archive, scratch / "dataset", given, studio.service.free_disk_mb * MEGABYTE)
        return keep_dataset(studio, account, dataset, idempotency, request_id)


def create_examined(
    studio: Studio,
    account: Account,
    source: Path | Sequence[Path],
    given: Mapping[str, object],
    report: Report,
    without_music: bool = False,
) -> tuple[str, "DataReport"]:
    """Examine a zip, a folder or recordings here and create a voice from them; return its id and the data report.

    given: fields that replace those of model.json. without_music: remove it where there is some. Raises as
    `create_dataset` does, DatasetError for too little voice, WrongState without a separator, TooMany, DiskFull,
    Unavailable; then nothing is left behind. `report` may raise Cancelled.
    """
    from engine.datasets.report import examined, refuse_unusable

    if without_music:
        refuse_without_separator(studio.settings)
    with scratch_folder(studio) as scratch:
        report(0.0, tr("copying the recordings"))
        dataset = create_dataset(source, scratch / "dataset", given, studio.service.free_disk_mb * MEGABYTE)
        found = examined(dataset, report)
        if without_music and (cleaned := _without_music(studio, dataset, found, report)):
            dataset, found = cleaned
        refuse_unusable(found)
        return keep_dataset(studio, account, dataset, data_report=found.as_json()), found


def keep_dataset(
    studio: Studio,
    account: Account,
    dataset: Dataset,
    idempotency: Idempotency | None = None,
    request_id: str | None = None,
    data_report: Mapping[str, object] | None = None,
) -> str:
    """Move a dataset into the storage as an untrained voice, and return its id.

    Without a data report, a worker examines the recordings. Raises DatasetError for too little audio, WrongState
    without a consent where that is required, TooMany, DiskFull, Unavailable.
    """
    refuse_without_consent(studio, dataset.profile.consent)
    cost = _cost(dataset, studio.service.longest_dataset_hours)
    with arriving(studio.storage, account, DATASETS, dataset.folder) as arrive:

        def act(connection: Connection) -> Answer:
            refuse_too_many(connection, account.id, studio.service)
            model = add_model(connection, studio.storage, account, profile_as_json(dataset.profile), PENDING)
            if data_report is not None:
                report_completed(connection, account.id, model.id, data_report)
            else:
                queue_task(studio, connection, account.id, Work(REPORT, ReportAsked(), model.id, cost, request_id))
            # last, so that little can fail once the recordings are stored
            set_keys(connection, model, dataset_key=arrive(model.id))
            return {"model_id": model.id}

        answer, _ = run_idempotently(studio, account, idempotency, act)
    studio.wake()
    return str(answer["model_id"])


@dataclass(frozen=True, kw_only=True)
class Examination(Record):
    """How far the examination of a voice's recordings is; state: completed once its task is gone."""

    state: str
    progress: float
    message: str
    error: str | None


def examination_view(studio: Studio, account: Account, model_id: str) -> Examination:
    """Return how far the examination of a voice's recordings is. Raises NotFound."""
    model = find_model(studio.database, account, model_id)
    task = latest(studio.database, account.id, model.id, REPORT)
    if task is None or task.created_at < model.created_at:  # belongs to an earlier voice with this id
        return Examination(state="completed", progress=1.0, message="", error=None)
    return Examination(state=task.state, progress=task.progress, message=task.message, error=task.error)


def _without_music(
    studio: Studio, dataset: Dataset, found: "DataReport", report: Report
) -> "tuple[Dataset, DataReport] | None":
    """Return the data set without music, and the report on it; None if no recording has any."""
    from engine.datasets.music_removal import remove_music, with_music
    from engine.datasets.report import examined
    from engine.songs.separation import OnnxSeparator

    if not with_music(dataset, found):
        return None
    separator = OnnxSeparator(checked_separator(studio.settings.separators))
    cleaned = remove_music(dataset, found, separator, report)
    return cleaned, examined(cleaned, report)


def examine_here(studio: Studio, account: Account, model_id: str, report: Report) -> "DataReport":
    """Examine the recordings of a voice in this process; store the data report and return it.

    `report` may raise Cancelled. Raises NotFound, WrongState where there are no recordings, DatasetError.
    """
    from engine.datasets.report import examined

    model = find_model(studio.database, account, model_id)
    with dataset_workspace(studio.storage, model) as workspace, alone_with_untrained(workspace.folder, report):
        found = examined(load_dataset(workspace.folder), report)
        workspace.save_report()
    with studio.database.write() as connection:
        report_completed(connection, account.id, model_id, found.as_json())
    return found


def examine_again(studio: Studio, account: Account, model_id: str) -> None:
    """Examine the recordings of a voice again after a failure. Raises NotFound, WrongState."""
    model = find_model(studio.database, account, model_id)
    if model.dataset_key is None:
        raise WrongState(tr("The voice '{model_id}' has no recordings here.", model_id=model_id), "no_recordings")
    with studio.database.write() as connection:
        if waiting_and_running(connection, account.id, REPORT) < _MOST_REPORTS:
            queue_task(studio, connection, account.id, Work(REPORT, ReportAsked(), model_id))
    studio.wake()


def remove_music(studio: Studio, account: Account, model_id: str) -> None:
    """Queue a task that removes the music from the recordings of an untrained voice, and examines them again.

    The originals stay beside them. Raises NotFound, WrongState without recordings, for a voice that has been trained,
    without music in the report, and without the separator.
    """
    model = find_model(studio.database, account, model_id)
    if model.dataset_key is None:
        raise WrongState(tr("The voice '{model_id}' has no recordings here.", model_id=model_id), "no_recordings")
    if model.voice_key is not None or model.epoch:
        raise WrongState(
            tr("The voice '{model_id}' has been trained: create a new voice from other recordings.", model_id=model_id),
            "model_trained",
        )
    if not has_music(model.data_report):
        text = tr("The report finds no music in the recordings of '{model_id}'.", model_id=model_id)
        raise WrongState(text, "no_music")
    refuse_without_separator(studio.settings)
    with studio.database.write() as connection:
        if waiting_and_running(connection, account.id, REPORT) < _MOST_REPORTS:
            queue_task(studio, connection, account.id, Work(REPORT, ReportAsked(remove_music=True), model_id))
    studio.wake()


def has_music(data_report: ReportedData | None) -> bool:
    """Return whether the data report of a voice finds music in a recording."""
    recordings = data_report["recordings"] if data_report else ()
    return any(found["code"] == MUSIC for one in recordings for found in one["findings"])


def _cost(dataset: Dataset, longest_hours: float) -> float:
    """Return what a report on the recordings costs: seconds x channels. Raises DatasetError if the readable audio is
    too short for any voice, or longer than `longest_hours`."""
    lengths = [_length(recording) for recording in dataset.recordings]
    seconds = sum(length.seconds for length in lengths)
    if seconds > 3600 * longest_hours:
        raise DatasetError(
            ntr(
                "There is {seconds} hour of audio; at most {longest_hours} are taken, and twenty minutes of one voice "
                "are enough. Choose the best recordings.",
                "There are {seconds} hours of audio; at most {longest_hours} are taken, and twenty minutes of one "
                "voice are enough. Choose the best recordings.",
                seconds=numeral(seconds / 3600, ".1f"),
                longest_hours=numeral(longest_hours, "g"),
            )
        )
    if seconds < LEAST_RECORDED_S:
        raise DatasetError(
            ntr(
                "There is {seconds} second of readable audio; at least {least_recorded_s} are needed, and five "
                "minutes work well.",
                "There are {seconds} seconds of readable audio; at least {least_recorded_s} are needed, and five "
                "minutes work well.",
                seconds=numeral(seconds, ".1f"),
                least_recorded_s=numeral(LEAST_RECORDED_S, ".0f"),
            )
        )
    return sum(length.channel_seconds for length in lengths)


def _length(recording: Path) -> Length:
    try:
        return check_recording(recording, recording.name)
    except NotReadable:
        return Length(0.0, 1)  # the data report lists unreadable files
