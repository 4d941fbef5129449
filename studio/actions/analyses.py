"""Analyse recordings: kept for a day, analysed by a worker, shown by the page; sample recordings too."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import engine
from engine.analysis.comparison import Comparison, Performed, compare_recordings
from engine.files import on_track, track_of
from engine.texts import tr
from studio.actions.recordings import Origin, check_recording, origin_of, origin_of_file, shown_name, suffix_of
from studio.actions.submission import Work, new_task, submit_work
from studio.actions.uploads import scratch_folder, stored_copy
from studio.errors import NotFound, WrongState
from studio.store.accounts import Account
from studio.store.kinds import ANALYSIS
from studio.store.records.analysis import Analysis, Explored
from studio.store.studio import Studio
from studio.store.tasks import Task, find, request_cancel

_GONE = tr("This recording has been deleted: analysed recordings are kept for a day. Add it again.")
SAMPLES_PLACE = Path(engine.__path__[0]) / "samples"
SAMPLES_SERVED = "/samples"  # where the page serves them


def start_analysis(
    studio: Studio, account: Account, recording: Path, file_name: str, origin: Origin | None = None
) -> str:
    """Move a recording into the storage and queue its analysis; return the task's id.

    origin: what the recording is a part or a copy of; by default it is a recording of its own. Of several sound tracks
    the one is read that `on_track` gave the path.

    Raises NotReadable for a file that is not audio, Invalid for a recording that is too long, TooMany, Unavailable,
    DiskFull; then nothing is left behind.
    """
    length = check_recording(recording, file_name, studio.service)
    task = new_task(account)
    asked = Analysis(
        f"{task.prefix}/input{suffix_of(file_name, recording)}",
        shown_name(file_name),
        track=track_of(recording),
        **asdict(origin or origin_of_file(recording)),
    )
    work = Work(ANALYSIS, asked, cost=length.channel_seconds)
    return submit_work(studio, task, work, files={asked.input_key: recording})


def analyse_track(studio: Studio, account: Account, task_id: str, track: int) -> str:
    """Analyse another sound track of an analysed recording; return the id of its analysis. Raises as `start_analysis`,
    and NotFound."""
    with analysed_recording(studio, account, task_id) as (copy, file_name, origin):
        return start_analysis(studio, account, on_track(copy, track), file_name, origin)


def cancel_analysis(studio: Studio, account: Account, task_id: str) -> None:
    """Cancel an analysis. Raises NotFound, and WrongState if it has ended."""
    find_analysis(studio, account, task_id)
    request_cancel(studio.database, account.id, task_id)


def compare_analyses(studio: Studio, account: Account, first_id: str, second_id: str) -> Comparison:
    """Compare the second recording with the first. Raises NotFound, and WrongState unless both are analysed."""
    first, second = (sung_curves(studio, find_analysis(studio, account, one)) for one in (first_id, second_id))
    return compare_recordings(first, second)


def sung_curves(studio: Studio, task: Task) -> Performed:
    if task.state != "completed":
        raise WrongState(tr("Both recordings must be analysed before they can be compared."), "not_looked_at")
    curves = json.loads(b"".join(studio.storage.read(task.result_as(Explored).curves)))
    return Performed(
        step_s=curves["step_s"],
        hertz=np.array([one or 0.0 for one in curves["hertz"]]),
        confidence=np.array(curves["confidence"], float),
        loudness_db=np.array(curves["db"], float),
    )


@contextmanager
def analysed_recording(studio: Studio, account: Account, task_id: str) -> Iterator[tuple[Path, str, Origin]]:
    """Link or copy the recording of an analysis; yield it, which may be moved, its file name and its origin.

    Raises NotFound if it does not exist or has been deleted, Unavailable, DiskFull.
    """
    task = find_analysis(studio, account, task_id)
    asked = task.asked_as(Analysis)
    with stored_copy(studio, asked.input_key, _GONE) as copy:
        yield on_track(copy, asked.track), asked.file_name, origin_of(asked) or origin_of_file(copy)


def find_analysis(studio: Studio, account: Account, task_id: str) -> Task:
    try:
        return find(studio.database, account.id, task_id, kind=ANALYSIS)
    except NotFound as cause:
        raise NotFound(_GONE, "recording_gone") from cause


@dataclass(frozen=True)
class Sample:
    """A sample; `path` is relative to the folder of samples."""

    title: str
    path: str


SAMPLES = (
    Sample(tr("Singing"), "singing.flac"),
    Sample(tr("Speech"), "speech.flac"),
    Sample(tr("High singing"), "foreign/singing-high.flac"),
    Sample(tr("Low speech"), "foreign/speech-low.flac"),
)


def take_sample(studio: Studio, account: Account, title: str) -> str:
    """Analyse a sample like an upload; return the id of its analysis. Raises NotFound, TooMany, DiskFull."""
    for sample in SAMPLES:
        if sample.title == title:
            with scratch_folder(studio) as scratch:
                copy = Path(shutil.copyfile(SAMPLES_PLACE / sample.path, scratch / "recording"))
                return start_analysis(studio, account, copy, Path(sample.path).name)
    raise NotFound(tr("There is no sample '{title}'.", title=title))
