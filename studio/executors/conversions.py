"""Convert a recording in a worker: fetch, convert, score and publish the takes."""

import time
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.audio.result_files import write_result
from engine.audio.result_format import ResultFormat
from engine.conversion.harmony import NONE
from engine.conversion.settings import by_style
from engine.effects.settings import effects_of
from engine.progress import within
from studio.errors import NotFound, StudioError
from studio.executors import songs
from studio.executors.job import Job
from studio.executors.untrained import voice_for
from studio.store.records.conversion import Comp, Conversion, Edit, OutputSettings, Rendered, Scores

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engine.analysis.pitch import Pitch
    from engine.conversion.convert import Chosen, FileConversion
    from engine.effects.settings import EffectSettings
    from engine.evaluation.performance import Performance
    from engine.provenance.statement import Statement
    from engine.voices.imported import AnyVoice

# of the progress, as measured: until the takes are scored, then have their effects
_CONVERTING_SHARE, _SCORED_SHARE = 0.65, 0.99


def convert(job: Job) -> None:
    """Convert, and complete the task with the results. Raises what the engine and the studio raise."""
    started = time.monotonic()
    asked = job.task.asked_as(Conversion)
    rendered = _rendered(job, asked, job.recording(asked))
    job.publish(replace(rendered, seconds=round(time.monotonic() - started, 3)))
    if asked.song:
        with suppress(StudioError):  # housekeeping finds what this misses
            job.context.storage.delete_below(songs.stages_prefix(job))


def _rendered(job: Job, asked: Conversion, source: Path) -> Rendered:
    if asked.edit:
        return _edit(job, asked, asked.edit, source)
    if asked.comp:
        return _comp(job, asked, asked.comp, source)
    if asked.song:
        return songs.make(job, asked, asked.song, source)
    return _convert(job, asked, source)


def _convert(job: Job, asked: Conversion, source: Path) -> Rendered:
    """Convert all takes of a recording."""
    from engine.conversion.edit_data import write_edit_data

    settings = by_style(asked.preset, asked.settings)
    targets = [job.folder / f"take-{number}.{asked.format}" for number in range(1, asked.takes + 1)]
    job.refuse_too_long(source, len(targets))
    voice = voice_for(job, job.task.model_id or "", asked.untrained)
    found = _converted(job, source, targets, settings, voice)
    own_melody = found.settings.harmony != NONE  # it is measured against what it was to sing
    scores, starts_s = _scores(
        job, source, targets, 0.0 if own_melody else found.transpose, found.edit_data.pitch(0), own_melody=own_melody
    )
    write_edit_data(job.folder / "groundwork.npz", found.edit_data)
    return replace(
        _takes(job, asked, source, targets, found.statement, found.lowered_db),
        output_settings=OutputSettings(job.task.model_id, found.transpose, found.style),
        settings=asdict(found.settings),
        untrained=voice.card.is_untrained,
        scores=scores,
        phrase_starts_s=starts_s,
        statement=found.statement,
        unsigned=found.unsigned,
        warning=found.warning,
        groundwork=job.store(job.folder / "groundwork.npz"),
    )


def _edit(job: Job, asked: Conversion, edit: Edit, source: Path) -> Rendered:
    """Render one take of an earlier conversion again where its pitch was edited."""
    from engine.conversion.edit_data import read_edit_data
    from engine.conversion.pitch_edits import read_edits
    from engine.conversion.rerendering import EarlierEdit, FileTake, edit_file

    take, groundwork = job.fetch_as(edit.original.take, "take"), job.fetch_as(edit.original.groundwork, "groundwork")
    earlier = _earlier(job, edit)
    before = EarlierEdit(earlier, read_edits(edit.earlier.edits)) if earlier and edit.earlier else None
    edit_data = read_edit_data(groundwork.read_bytes())
    target, voice = job.folder / "take-1.wav", voice_for(job, job.task.model_id or "", asked.untrained)
    done = edit_file(
        FileTake(source, take, edit_data, edit.take - 1),
        target,
        voice,
        read_edits(edit.edits),
        before,
        within(job.heartbeat.report, 0.0, _CONVERTING_SHARE),
        job.context.device,
        job.context.installation,
        job.context.threads,
    )
    if edit_data.settings.harmony != NONE:
        scores, starts_s = _scores(job, source, [target], 0.0, done.plan.after, own_melody=True)
    else:
        pitch = edit_data.pitch(edit.take - 1)
        scores, starts_s = _scores(job, source, [target], edit_data.transpose, pitch, done.plan.moved)
    return replace(
        _takes(job, asked, source, [target], done.statement, edit_data.lowered_db),
        output_settings=OutputSettings(job.task.model_id, edit_data.transpose, edit_data.style),
        settings={**asdict(edit_data.settings), "takes": 1},
        untrained=voice.card.is_untrained,
        scores=scores,
        phrase_starts_s=starts_s,
        statement=done.statement,
        unsigned=done.unsigned,
        warning=done.plan.warning,
    )


def _comp(job: Job, asked: Conversion, comp: Comp, source: Path) -> Rendered:
    """Put one take together out of several."""
    from engine.conversion.comping import comp_files

    takes = [job.fetch_as(key, f"take-{number}") for number, key in enumerate(comp.takes, 1)]
    target, of = job.folder / "take-1.wav", comp.of
    unsigned = comp_files(
        takes,
        comp.parts,
        target,
        within(job.heartbeat.report, 0.0, _CONVERTING_SHARE),
        of.statement,
        job.context.installation,
    )
    scores, _ = _scores(job, source, [target], of.output_settings.transpose)
    return replace(
        _takes(job, asked, source, [target], of.statement, of.lowered_db or 0.0),
        output_settings=of.output_settings,
        settings={**of.settings, "takes": 1},
        untrained=of.untrained,
        scores=scores,
        phrase_starts_s=of.phrase_starts_s,
        statement=of.statement,
        unsigned=unsigned,
    )


def _takes(
    job: Job, asked: Conversion, source: Path, targets: list[Path], statement: "Statement", lowered_db: float
) -> Rendered:
    """Store the takes; with effects or in another form also as they were rendered, since pitch edits need those."""
    effects, finished = effects_of(asked.effects), targets
    if not effects.is_off:
        finished, statement = _with_effects(job, finished, effects, statement)
    if asked.form is not None:
        finished = _in_form(job, source, finished, asked.form, statement, lowered_db)
    stored = Rendered(tuple(map(job.store, finished)), lowered_db=lowered_db or None)
    return stored if finished is targets else replace(stored, dry=tuple(map(job.store, targets)))


def _in_form(
    job: Job, source: Path, takes: list[Path], form: ResultFormat, statement: "Statement", lowered_db: float
) -> list[Path]:
    written = [take.with_stem(f"{take.stem}-result") for take in takes]
    for take, target in zip(takes, written, strict=True):
        write_result(take, target, form, source, statement, job.context.installation, lowered_db)
    return written


def _with_effects(
    job: Job, targets: list[Path], effects: "EffectSettings", statement: "Statement"
) -> "tuple[list[Path], Statement]":
    from engine.effects.processing import apply_effects_to_file, stating_effects

    report = within(job.heartbeat.report, _SCORED_SHARE, 1.0)
    finished = [target.with_stem(f"{target.stem}-effects") for target in targets]
    for target, wet in zip(targets, finished, strict=True):
        apply_effects_to_file(target, wet, effects, report, statement, job.context.installation)
    return finished, stating_effects(statement, effects)


def _earlier(job: Job, edit: Edit) -> Path | None:
    """Return the take as rendered before these edits, if it still exists."""
    try:
        return job.fetch_as(edit.earlier.key, "earlier") if edit.earlier else None
    except NotFound:
        return None


def _converted(job: Job, source: Path, targets: list[Path], settings: "Chosen", voice: "AnyVoice") -> "FileConversion":
    from engine.conversion.convert import convert_file

    report, context = within(job.heartbeat.report, 0.0, _CONVERTING_SHARE), job.context
    return convert_file(source, targets, voice, settings, report, context.device, context.installation, context.threads)


def _scores(
    job: Job,
    source: Path,
    targets: list[Path],
    transpose: float,
    pitch: "Pitch | None" = None,
    semitones: "NDArray[np.float64] | None" = None,
    own_melody: bool = False,
) -> tuple[tuple[Scores, ...], tuple[float, ...]]:
    """Score how much of the performance each take preserved; return also where its phrases begin, in seconds.
    semitones: the intended shift per frame besides `transpose`. own_melody: the takes were to sing `pitch`."""
    from engine.analysis.phrases import find_phrases
    from engine.conversion.comping import joins
    from engine.evaluation.performance import compare_performances, moved, sung_at, trace_file

    def traced(path: Path, number: int) -> "Performance":
        report, files = within(job.heartbeat.report, _CONVERTING_SHARE, _SCORED_SHARE), len(targets) + 1
        return trace_file(path, within(report, number / files, (number + 1) / files), job.context.threads)

    recording = traced(source, 0)
    original = recording if semitones is None else moved(recording, semitones)
    if own_melody and pitch is not None:
        original = sung_at(recording, pitch)
    takes = (traced(target, number) for number, target in enumerate(targets, 1))
    scores = tuple(asdict(compare_performances(original, take, transpose)) for take in takes)
    frames = min(len(pitch), len(recording.level_db)) if pitch is not None else 0
    if pitch is None or not frames:
        return scores, (0.0,)
    level_db = recording.level_db[:frames]
    return scores, tuple(joins(find_phrases(pitch[:frames], level_db), level_db))
