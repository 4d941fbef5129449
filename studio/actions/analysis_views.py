"""Analyses as they are shown: summary, notes, pictures and curves, with links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import numpy as np

from engine.analysis.notes import audible, measure_histogram
from engine.analysis.pitch import Pitch
from engine.texts import tr
from engine.units import FRAME_RATE
from studio.actions.account import named_file
from studio.actions.analyses import find_analysis, sung_curves
from studio.store.accounts import Account
from studio.store.kinds import ANALYSIS
from studio.store.records.analysis import Analysis, Explored, FoundNote, FoundPitch, FoundTracks, PitchSeconds, Summary
from studio.store.records.codec import Absent, Record
from studio.store.studio import Studio
from studio.store.tasks import Task, places, running_now

PITCH_COLOUR = "var(--accent)"
_LABELS = {"note": tr("Semitones"), "mel": tr("Mel"), "linear": tr("Linear")}


@dataclass(frozen=True, kw_only=True)
class PictureTile(Record):
    """A part of a picture."""

    url: str
    start_s: float
    end_s: float


@dataclass(frozen=True, kw_only=True)
class ShownPicture(PictureTile):
    """A spectrogram on one scale, whole and in tiles."""

    label: str
    scale: str
    lowest_hertz: float
    highest_hertz: float
    tiles: Sequence[PictureTile]


@dataclass(frozen=True, kw_only=True)
class Download(Record):
    """A file that is offered, and its name."""

    label: str
    url: str
    name: Absent[str] = None


@dataclass(frozen=True, kw_only=True)
class CurveSource(Record):
    """A curve of <timbre-roll>."""

    url: str
    label: Absent[str] = None
    colour: Absent[str] = None
    offset_s: Absent[float] = None
    semitones: Absent[float] = None


@dataclass(frozen=True, kw_only=True)
class NamedRange(Record):
    """A range of notes with a label."""

    low: int
    high: int
    label: str


@dataclass(frozen=True, kw_only=True)
class RollData(Record):
    """Data of <timbre-roll>."""

    id: str
    file_name: str
    duration_s: float
    picture: ShownPicture
    pictures: Sequence[ShownPicture]
    curves: Sequence[CurveSource]
    range: NamedRange | None
    notes: Sequence[FoundNote]
    loudness: CurveSource
    waveform: CurveSource


@dataclass(frozen=True, kw_only=True)
class AnalysedRecording(Record):
    """What is known of a recording."""

    id: str
    summary: Summary | None
    pitch_histogram: Sequence[PitchSeconds]


@dataclass(frozen=True, kw_only=True)
class AnalysisView(Record):
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
    duration_s: float = 0.0
    audio_url: str = ""
    summary: Summary | None = None
    origin: str | None = None
    notes: Sequence[FoundNote] = ()
    pitch_histogram: Sequence[PitchSeconds] = ()
    roll: RollData | None = None
    pictures: Mapping[str, ShownPicture] = field(default_factory=dict)
    downloads: Sequence[Download] = ()
    tracks: FoundTracks | None = None


def analysis_view(studio: Studio, account: Account, task_id: str, base_url: str, now_s: float) -> AnalysisView:
    """Return all that the page shows of a recording; see the top of the module. Raises NotFound."""
    task = find_analysis(studio, account, task_id)
    view = AnalysisView(
        id=task.id,
        state=task.state,
        progress=task.progress,
        message=task.message,
        ahead=_ahead(studio, task),
        taken_s=None if task.started_at is None else max(0.0, now_s - task.started_at),
        error=task.error,
        file_name=task.asked_as(Analysis).file_name,
    )
    return _explored(studio, task, view, base_url, now_s) if task.state == "completed" else view


def _ahead(studio: Studio, task: Task) -> int:
    """Return how many analyses end before a queued one begins: those before it, and those that occupy all workers."""
    if task.state != "queued":
        return 0
    running = len(running_now(studio.database, ANALYSIS))
    busy = running if studio.service.executor == "local" and running >= studio.service.analysis_workers else 0
    return places(studio.database, ANALYSIS).get(task.id, 1) - 1 + busy


@dataclass(frozen=True, kw_only=True)
class StretchView(Record):
    """What is sung in a stretch of a recording."""

    pitch: FoundPitch | None
    pitch_histogram: Sequence[PitchSeconds]


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
    return StretchView(
        pitch=FoundPitch(low, median, high) if len(semitones) else None,
        pitch_histogram=[PitchSeconds(midi, float(one)) for midi, one in enumerate(seconds) if one > 0],
    )


def _explored(studio: Studio, task: Task, view: AnalysisView, base_url: str, now_s: float) -> AnalysisView:
    found = task.result_as(Explored)

    def link(key: str) -> str:
        return studio.link(key, base_url, now_s)

    pictures = {
        one.scale: ShownPicture(
            label=_LABELS[one.scale],
            scale=one.scale,
            lowest_hertz=one.lowest_hertz,
            highest_hertz=one.highest_hertz,
            url=link(one.overview.key),
            start_s=one.overview.start_s,
            end_s=one.overview.end_s,
            tiles=[PictureTile(url=link(tile.key), start_s=tile.start_s, end_s=tile.end_s) for tile in one.tiles],
        )
        for one in found.pictures
    }
    name = PurePath(task.asked_as(Analysis).file_name).stem
    midi = Download(label=tr("notes (MIDI)"), url=link(found.midi), name=named_file(name, "mid"))
    table = Download(label=tr("curves (CSV)"), url=link(found.table), name=named_file(name, "csv"))
    curves, voice = link(found.curves), found.summary.vocal_range
    return replace(
        view,
        duration_s=found.duration_s,
        audio_url=link(found.heard),
        summary=found.summary,
        origin=found.origin,
        tracks=found.tracks,
        notes=found.notes,
        pitch_histogram=found.pitch_histogram,
        pictures=pictures,
        downloads=[midi, table] if found.notes else [table],
        roll=RollData(
            id=f"roll-{task.id}",
            file_name=named_file(tr("{name} pitch", name=name), "png"),
            duration_s=found.duration_s,
            picture=pictures["note"],
            pictures=list(pictures.values()),
            curves=[CurveSource(label=tr("Pitch"), colour=PITCH_COLOUR, url=curves)],
            range=NamedRange(low=voice.lowest, high=voice.highest, label=tr("Range")) if voice else None,
            notes=found.notes,
            loudness=CurveSource(url=curves),
            waveform=CurveSource(url=curves),
        ),
    )
