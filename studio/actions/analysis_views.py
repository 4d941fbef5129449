"""Analyses as they are shown: summary, notes, pictures and curves, with links."""

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import NotRequired

import numpy as np
from typing_extensions import TypedDict

from engine.analysis.notes import audible, measure_histogram
from engine.analysis.pitch import Pitch
from engine.analysis.style import Style
from engine.texts import tr
from engine.units import FRAME_RATE
from studio.actions.account import named_file
from studio.actions.analyses import find_analysis, sung_curves
from studio.languages.stored import Said
from studio.store.accounts import Account
from studio.store.kinds import ANALYSIS
from studio.store.records.analysis import Analysis, Explored
from studio.store.records.codec import read, written
from studio.store.studio import Studio
from studio.store.tasks import Task, places, running_now

PITCH_COLOUR = "var(--accent)"
_LABELS = {"note": tr("Semitones"), "mel": tr("Mel"), "linear": tr("Linear")}


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


class ShownTrack(TypedDict):
    """A sound track of a file with several."""

    number: int
    title: str
    language: str
    encoding: str
    is_readable: bool


class ShownTracks(TypedDict):
    """The sound tracks of a file with several, and the number of the one that was read."""

    read: int
    tracks: Sequence[ShownTrack]


class AnalysisView(TypedDict):
    """What the page shows of a recording; what an analysis finds is empty until it is completed.

    ahead: how many analyses end before it begins; origin: what its credentials or tags say of where it comes from;
    tracks: None for a file with one.
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
    tracks: ShownTracks | None


def analysis_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> AnalysisView:
    """Return all that the page shows of a recording; see the top of the module. Raises NotFound."""
    task = find_analysis(studio, account, task_id)
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
        "tracks": None,
    }
    return _explored(studio, task, view, base_url, now_s) if task.state == "completed" else view


def _ahead(studio: Studio, task: Task) -> int:
    """Return how many analyses end before a queued one begins: those before it, and those that occupy all workers."""
    if task.state != "queued":
        return 0
    running = len(running_now(studio.database, ANALYSIS))
    busy = running if studio.service.executor == "local" and running >= studio.service.analysis_workers else 0
    return places(studio.database, ANALYSIS).get(task.id, 1) - 1 + busy


class StretchView(TypedDict):
    """What is sung in a stretch of a recording."""

    pitch: ShownPitch | None
    pitch_histogram: Sequence[NoteSeconds]


def stretch_view(studio: Studio, account: Account, task_id: str, start_s: float, stop_s: float) -> StretchView:
    """Return `pitch` and `pitch_histogram` as `analysis_view` does, of a stretch of the recording.

    Raises NotFound, and WrongState unless it is analysed.
    """
    curves = sung_curves(studio, find_analysis(studio, account, task_id))
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
        "tracks": read(ShownTracks, written(found.tracks)) if found.tracks else None,
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
