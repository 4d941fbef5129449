"""Analyse a recording in a worker, and store the results beside it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.audio.containers import CONTAINERS
from engine.audio.files import AudioWriter, open_audio
from engine.errors import EngineError
from engine.progress import within
from engine.texts import tr
from studio.executors.job import Job
from studio.store.records.analysis import (
    Analysis,
    Explored,
    FoundNote,
    FoundPitch,
    FoundRange,
    FoundTrack,
    FoundTracks,
    Picture,
    PitchSeconds,
    Summary,
    Tile,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.analysis.exploration import Curves, Exploration
    from engine.analysis.exploration import Tile as Drawn
    from engine.analysis.spectrogram import Scale

HEARD = tuple(suffix for container in CONTAINERS if container.played for suffix in container.suffixes)
CURVES, TABLE, MIDI = "curves.json", "curves.csv", "notes.mid"
_LOOKING_SHARE = 0.9  # of the progress; the rest is storing


def explore(job: Job) -> None:
    """Analyse the recording and complete the task with the results. Raises what the engine and the studio raise."""
    from engine.analysis.exploration import explore_file
    from engine.analysis.notes import notes_as_midi

    asked = job.task.asked_as(Analysis)
    folder = job.folder / "shown"
    folder.mkdir()
    report = within(job.heartbeat.report, 0.0, _LOOKING_SHARE)
    source = job.recording(asked)
    found = explore_file(source, folder, 60 * job.context.service.longest_audio_minutes, report=report)
    tracks, is_plain = _tracks(source)
    heard = source if is_plain and source.suffix.lower() in HEARD else _playable(source, folder / "heard.flac")
    (folder / CURVES).write_text(_curves_json(found.curves))
    (folder / TABLE).write_text(_table(found.curves))
    (folder / MIDI).write_bytes(notes_as_midi(found.notes))
    explored = Explored(
        duration_s=found.analysis.duration_s,
        summary=_summary(found),
        origin=_origin(job, source),
        tracks=tracks,
        notes=tuple(
            FoundNote(round(note.start_s, 2), round(note.end_s, 2), note.midi, round(note.cents, 2))
            for note in found.notes
        ),
        pitch_histogram=tuple(
            PitchSeconds(midi, round(float(seconds), 2)) for midi, seconds in enumerate(found.histogram) if seconds > 0
        ),
        curves=_key(job, CURVES),
        table=_key(job, TABLE),
        midi=_key(job, MIDI),
        heard=asked.input_key if heard == source else _key(job, heard.name),
        pictures=tuple(_picture(job, picture.scale, picture.overview, picture.tiles) for picture in found.pictures),
    )
    job.heartbeat.report(_LOOKING_SHARE, tr("Storing"))
    job.store(folder)
    job.publish(explored)


def _tracks(source: Path) -> tuple[FoundTracks | None, bool]:
    """Return the sound tracks of a file with several, and whether a browser plays of it what is read here."""
    with open_audio(source) as recording:
        found = tuple(
            FoundTrack(one.number, one.title, one.language, one.encoding, one.is_readable) for one in recording.tracks
        )
        return FoundTracks(recording.track, found) if len(found) > 1 else None, len(found) < 2 and not recording.notes


def _playable(source: Path, target: Path) -> Path:
    """Return the recording in a format that browsers play."""
    with open_audio(source) as recording, AudioWriter(target, recording.rate, recording.channels) as copy:
        for block in recording.blocks():
            copy.write(block)
    return target


def _summary(found: "Exploration") -> Summary:
    analysis, lufs = found.analysis, found.loudness_lufs
    voice, pitch = analysis.vocal_range, found.pitch_quantiles
    return Summary(
        style=analysis.style,
        vocal_range=None if voice is None else FoundRange(voice.min, voice.max, voice.lowest, voice.highest),
        pitch=None if pitch is None else FoundPitch(*(round(one, 2) for one in pitch)),
        voiced_s=round(float(found.histogram.sum()), 2),
        loudness_lufs=None if lufs is None else round(lufs, 1),
        peak_db=round(found.peak_db, 1),
        clipped_runs=found.clipped_runs,
        warning=analysis.warning,
        is_mix=analysis.dryness.is_mix,
    )


def _origin(job: Job, source: Path) -> str:
    """Tell in a sentence where the recording comes from, as far as its content credentials prove it."""
    from engine.provenance.verification import verify

    try:
        return verify(source, job.context.installation).sentence
    except EngineError as cause:
        return str(cause)


def _picture(job: Job, scale: "Scale", overview: "Drawn", tiles: "Sequence[Drawn]") -> Picture:
    return Picture(
        scale.name,
        round(scale.lowest_hertz, 3),
        round(scale.highest_hertz, 3),
        _tile(job, overview),
        tuple(_tile(job, tile) for tile in tiles),
    )


def _tile(job: Job, tile: "Drawn") -> Tile:
    return Tile(_key(job, tile.path.name), round(tile.start_s, 3), round(tile.end_s, 3))


def _key(job: Job, name: str) -> str:
    return f"{job.output_prefix}/{name}"


def _curves_json(curves: "Curves") -> str:
    """Encode the curves for the page: hertz null where unvoiced, the waveform in 127ths of full scale."""
    return json.dumps(
        {
            "step_s": curves.step_s,
            "hertz": [round(one, 1) or None for one in curves.hertz.tolist()],
            "confidence": _numbers(curves.confidence, 2),
            "db": _numbers(curves.loudness_db, 1),
            "low": np.round(curves.lowest * 127).astype(int).tolist(),
            "high": np.round(curves.highest * 127).astype(int).tolist(),
        },
        separators=(",", ":"),
    )


def _table(curves: "Curves") -> str:
    from engine.analysis.timeline import pitch_table

    return pitch_table(curves.hertz, curves.confidence, curves.loudness_db, curves.step_s)


def _numbers(values: "NDArray[np.float64]", digits: int) -> list[float]:
    return [round(one, digits) for one in values.tolist()]
