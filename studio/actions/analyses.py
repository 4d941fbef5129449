"""Analyse recordings: kept for a day, analysed by a worker, shown by the page; sample recordings too."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import NotRequired

import numpy as np
from typing_extensions import TypedDict

import engine
from engine.analysis.comparison import Comparison, Performed, compare_recordings
from engine.analysis.notes import audible, measure_histogram
from engine.analysis.pitch import Pitch
from engine.analysis.style import Style
from engine.texts import tr
from engine.units import FRAME_RATE
from studio.actions.account import named_file
from studio.actions.recordings import Origin, check_recording, origin_of, origin_of_file, shown_name, suffix_of
from studio.actions.submission import Work, new_task, submit_work
from studio.actions.uploads import scratch_folder, stored_copy
from studio.errors import NotFound, WrongState
from studio.languages.stored import Said
from studio.store.accounts import Account
from studio.store.kinds import ANALYSIS
from studio.store.records.analysis import Analysis, Explored
from studio.store.records.codec import read, written
from studio.store.studio import Studio
from studio.store.tasks import Task, find, places, request_cancel, running_now

PITCH_COLOUR = "var(--accent)"
_LABELS = {"note": tr("Notes"), "mel": tr("Mel"), "linear": tr("Linear")}
_GONE = tr("This recording has been deleted: analysed recordings are kept for a day. Add it again.")
SAMPLES_PLACE = Path(engine.__path__[0]) / "samples"
SAMPLES_SERVED = "/samples"  # where the page serves them


def start_analysis(
    studio: Studio, account: Account, recording: Path, file_name: str, origin: Origin | None = None
) -> str:
    """Move a recording into the storage and queue its analysis; return the task's id.

    origin: what the recording is a part or a copy of; by default it is a recording of its own.

    Raises NotReadable for a file that is not audio, Invalid for a recording that is too long, TooMany, Unavailable,
    DiskFull; then nothing is left behind.
    """
    length = check_recording(recording, file_name, studio.service)
    task = new_task(account)
    asked = Analysis(
        f"{task.prefix}/input{suffix_of(file_name, recording)}",
        shown_name(file_name),
        **asdict(origin or origin_of_file(recording)),
    )
    work = Work(ANALYSIS, asked, cost=length.channel_seconds)
    return submit_work(studio, task, work, files={asked.input_key: recording})


class ShownRange(TypedDict):
    """The range of a recording, as notes and as MIDI numbers."""

    min: str
    max: str
    lowest: int
    highest: int


class ShownPitch(TypedDict):
    """Quantiles of a pitch, in semitones."""

    low: float
    median: float
    high: float


class ShownSummary(TypedDict):
    """What is said of a recording at a glance; see `studio.store.records.analysis.Summary`."""

    style: Style
    vocal_range: ShownRange | None
    pitch: ShownPitch | None
    voiced_s: float
    loudness_lufs: float | None
    peak_db: float
    clipped_runs: int
    warning: Said | None
    is_mix: bool
    voice_type: NotRequired[str]


class ShownNote(TypedDict):
    """A sustained note."""

    start_s: float
    end_s: float
    midi: int
    cents: float


class NoteSeconds(TypedDict):
    """For how long a note sounds."""

    midi: int
    seconds: float


class PictureTile(TypedDict):
    """A part of a picture."""

    url: str
    start_s: float
    end_s: float


class ShownPicture(PictureTile):
    """A spectrogram on one scale, whole and in tiles."""

    label: str
    scale: str
    lowest_hertz: float
    highest_hertz: float
    tiles: Sequence[PictureTile]


class Download(TypedDict):
    """A file that is offered, and its name."""

    label: str
    url: str
    name: NotRequired[str]


class CurveSource(TypedDict):
    """A curve of <timbre-roll>."""

    url: str
    label: NotRequired[str]
    colour: NotRequired[str]
    offset_s: NotRequired[float]
    semitones: NotRequired[float]


class NamedRange(TypedDict):
    """A range of notes with a label."""

    low: int
    high: int
    label: str


class RollData(TypedDict):
    """Data of <timbre-roll>."""

    id: str
    file_name: str
    duration_s: float
    picture: ShownPicture
    pictures: Sequence[ShownPicture]
    curves: Sequence[CurveSource]
    range: NamedRange | None
    notes: Sequence[ShownNote]
    loudness: CurveSource
    waveform: CurveSource


class AnalysedRecording(TypedDict):
    """What is known of a recording."""

    id: str
    summary: ShownSummary | None
    pitch_histogram: Sequence[NoteSeconds]


class AnalysisView(TypedDict):
    """What the page shows of a recording; what an analysis finds is empty until it is completed.

    ahead: how many analyses end before it begins; origin: what its credentials or tags say of where it comes from.
    """

    id: str
    state: str
    progress: float
    message: str
    ahead: int
    taken_s: float | None
    error: str | None
    file_name: str
    duration_s: float
    audio_url: str
    summary: ShownSummary | None
    origin: str | None
    notes: Sequence[ShownNote]
    pitch_histogram: Sequence[NoteSeconds]
    roll: RollData | None
    pictures: Mapping[str, ShownPicture]
    downloads: Sequence[Download]


def analysis_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> AnalysisView:
    """Return all that the page shows of a recording; see the top of the module. Raises NotFound."""
    task = _find(studio, account, task_id)
    view: AnalysisView = {
        "id": task.id,
        "state": task.state,
        "progress": task.progress,
        "message": task.message,
        "ahead": _ahead(studio, task),
        "taken_s": None if task.started_at is None else max(0.0, now_s - task.started_at),
        "error": task.error,
        "file_name": task.asked_as(Analysis).file_name,
        "duration_s": 0.0,
        "audio_url": "",
        "summary": None,
        "origin": None,
        "notes": [],
        "pitch_histogram": [],
        "roll": None,
        "pictures": {},
        "downloads": [],
    }
    return _explored(studio, task, view, base_url, now_s) if task.state == "completed" else view


def _ahead(studio: Studio, task: Task) -> int:
    """Return how many analyses end before a queued one begins: those before it, and those that occupy all workers."""
    if task.state != "queued":
        return 0
    running = len(running_now(studio.database, ANALYSIS))
    busy = running if studio.service.executor == "local" and running >= studio.service.analysis_workers else 0
    return places(studio.database, ANALYSIS).get(task.id, 1) - 1 + busy


def cancel_analysis(studio: Studio, account: Account, task_id: str) -> None:
    """Cancel an analysis. Raises NotFound, and WrongState if it has ended."""
    _find(studio, account, task_id)
    request_cancel(studio.database, account.id, task_id)


def compare_analyses(studio: Studio, account: Account, first_id: str, second_id: str) -> Comparison:
    """Compare the second recording with the first. Raises NotFound, and WrongState unless both are analysed."""
    return compare_recordings(*(_performed(studio, _find(studio, account, one)) for one in (first_id, second_id)))


class StretchView(TypedDict):
    """What is sung in a stretch of a recording."""

    pitch: ShownPitch | None
    pitch_histogram: Sequence[NoteSeconds]


def stretch_view(
    studio: Studio, account: Account, task_id: str, start_s: float, stop_s: float
) -> StretchView:
    """Return `pitch` and `pitch_histogram` as `analysis_view` does, of a stretch of the recording.

    Raises NotFound, and WrongState unless it is analysed.
    """
    curves = _performed(studio, _find(studio, account, task_id))
    frames = slice(round(start_s / curves.step_s), round(stop_s / curves.step_s))
    hertz, loudness = curves.hertz[frames], curves.loudness_db[frames]
    pitch = Pitch(np.where(hertz > 0, hertz, 1.0), (hertz > 0).astype(np.float32))
    semitones = pitch.semitones[audible(pitch, loudness)]
    seconds = measure_histogram(pitch, loudness) * FRAME_RATE * curves.step_s
    low, median, high = np.percentile(semitones, (5, 50, 95)).tolist() if len(semitones) else (0.0, 0.0, 0.0)
    return {
        "pitch": {"low": low, "median": median, "high": high} if len(semitones) else None,
        "pitch_histogram": [{"midi": midi, "seconds": float(one)} for midi, one in enumerate(seconds) if one > 0],
    }


def _performed(studio: Studio, task: Task) -> Performed:
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
    task = _find(studio, account, task_id)
    asked = task.asked_as(Analysis)
    with stored_copy(studio, asked.input_key, _GONE) as copy:
        yield copy, asked.file_name, origin_of(asked) or origin_of_file(copy)


def _find(studio: Studio, account: Account, task_id: str) -> Task:
    try:
        return find(studio.database, account.id, task_id, kind=ANALYSIS)
    except NotFound as cause:
        raise NotFound(_GONE, "recording_gone") from cause


def _explored(studio: Studio, task: Task, view: AnalysisView, base_url: str, now_s: float) -> AnalysisView:
    found = task.result_as(Explored)

    def link(key: str) -> str:
        return studio.link(key, base_url, now_s)

    pictures: dict[str, ShownPicture] = {
        one.scale: {
            "label": _LABELS[one.scale],
            "scale": one.scale,
            "lowest_hertz": one.lowest_hertz,
            "highest_hertz": one.highest_hertz,
            "url": link(one.overview.key),
            "start_s": one.overview.start_s,
            "end_s": one.overview.end_s,
            "tiles": [{"url": link(tile.key), "start_s": tile.start_s, "end_s": tile.end_s} for tile in one.tiles],
        }
        for one in found.pictures
    }
    name = PurePath(task.asked_as(Analysis).file_name).stem
    midi: Download = {"label": tr("notes (MIDI)"), "url": link(found.midi), "name": named_file(name, "mid")}
    curves, voice = link(found.curves), found.summary.vocal_range
    notes: list[ShownNote] = [
        {"start_s": one.start_s, "end_s": one.end_s, "midi": one.midi, "cents": one.cents} for one in found.notes
    ]
    return {
        **view,
        "duration_s": found.duration_s,
        "audio_url": link(found.heard),
        "summary": read(ShownSummary, written(found.summary)),
        "origin": found.origin,
        "notes": notes,
        "pitch_histogram": [{"midi": one.midi, "seconds": one.seconds} for one in found.pitch_histogram],
        "pictures": pictures,
        "downloads": [
            *([midi] if notes else []),
            {"label": tr("curves (CSV)"), "url": link(found.table), "name": named_file(name, "csv")},
        ],
        "roll": {
            "id": f"roll-{task.id}",
            "file_name": named_file(tr("{name} pitch", name=name), "png"),
            "duration_s": found.duration_s,
            "picture": pictures["note"],
            "pictures": list(pictures.values()),
            "curves": [{"label": tr("Pitch"), "colour": PITCH_COLOUR, "url": curves}],
            "range": {"low": voice.lowest, "high": voice.highest, "label": tr("Range")} if voice else None,
            "notes": notes,
            "loudness": {"url": curves},
            "waveform": {"url": curves},
        },
    }


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
