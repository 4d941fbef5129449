"""Convert a recording in a worker: fetch, convert, score and publish the takes."""

import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.audio.result_files import write_result
from engine.audio.result_format import ResultFormat
from engine.conversion.settings import AUTO, by_style
from engine.effects.settings import OFF, effects_of
from engine.errors import AudioError, VoiceError
from studio.errors import NotFound, StudioError
from studio.executors import songs
from studio.executors.job import SHORT_PATIENCE_S, Job, insist
from studio.executors.untrained import untrained_voice_folder
from studio.store.catalogue import find_model
from studio.store.workspaces import voice_folder

if TYPE_CHECKING:
    import numpy as np

    from engine.analysis.pitch import Pitch
    from engine.conversion.convert import Chosen, FileConversion
    from engine.effects.settings import EffectSettings
    from engine.evaluation.scores import Performance
    from engine.provenance.statement import Statement
    from engine.voices.imported import AnyVoice

# of the progress, as measured: until the takes are scored, then have their effects
_CONVERTING_SHARE, _SCORED_SHARE = 0.65, 0.99


def convert(job: Job) -> None:
    """Convert, and complete the task with the results. Raises what the engine and the studio raise."""
    started = time.monotonic()
    source = insist(lambda: _fetched(job), SHORT_PATIENCE_S)
    try:
        kinds = (("edit", _edit), ("comp", _comp), ("song", songs.make))
        act = next((work for name, work in kinds if name in job.task.parameters), _convert)
        result = act(job, source)
    except AudioError as cause:  # it names the stored file, not the user's
        name = job.task.parameters.get("file_name") or "the recording"
        raise AudioError(str(cause).replace(str(source), name).replace(source.name, name)) from cause
    job.publish(result | {"seconds": round(time.monotonic() - started, 3)})
    if "song" in job.task.parameters:
        with suppress(StudioError):  # housekeeping finds what this misses
            job.bench.storage.delete_below(songs.stages_prefix(job))


def _convert(job: Job, source: Path) -> dict[str, Any]:
    """Convert all takes of a recording."""
    from engine.conversion.edit_data import write_edit_data

    given = job.task.parameters["settings"]
    settings = by_style(job.task.parameters.get("preset", AUTO), given)
    suffix = job.task.parameters.get("format", "wav")
    targets = [job.place / f"take-{number}.{suffix}" for number in range(1, given.get("takes", 1) + 1)]
    job.refuse_too_long(source, len(targets))
    voice = _voice(job)
    found = _converted(job, source, targets, settings, voice)
    scores, starts_s = _scores(job, source, targets, found.transpose, found.edit_data.pitch(0))
    write_edit_data(job.place / "groundwork.npz", found.edit_data)
    return {
        **_takes(job, source, targets, found.statement),
        "output_settings": {"model": job.task.model_id, "transpose": found.transpose, "vocal_style": found.style},
        "settings": asdict(found.settings),
        "untrained": voice.card.is_untrained,
        "scores": scores,
        "phrase_starts_s": starts_s,
        "statement": asdict(found.statement),
        "unsigned": found.unsigned,
        "warning": found.warning,
        "groundwork": job.store(job.place / "groundwork.npz"),
    }


def _edit(job: Job, source: Path) -> dict[str, Any]:
    """Render one take of an earlier conversion again where its pitch was edited."""
    from engine.conversion.edit_data import read_edit_data
    from engine.conversion.pitch_edits import read_edits
    from engine.conversion.rerendering import EarlierEdit, FileTake, edit_file

    wanted = job.task.parameters["edit"]
    original = {name: job.fetch_as(key, name) for name, key in wanted["original"].items()}
    earlier = _earlier(job, wanted.get("earlier"))
    before = EarlierEdit(earlier, read_edits(wanted["earlier"]["edits"])) if earlier else None
    edit_data = read_edit_data(original["groundwork"].read_bytes())
    target, voice = job.place / "take-1.wav", _voice(job)
    done = edit_file(
        FileTake(source, original["take"], edit_data, wanted["take"] - 1),
        target,
        voice,
        read_edits(wanted["edits"]),
        before,
        lambda fraction, message: job.heart.report(_CONVERTING_SHARE * fraction, message),
        job.bench.device,
        job.bench.installation,
    )
    pitch = edit_data.pitch(wanted["take"] - 1)
    scores, starts_s = _scores(job, source, [target], edit_data.transpose, pitch, done.plan.moved)
    return {
        "statement": asdict(done.statement),
        "unsigned": done.unsigned,
        "warning": done.plan.warning,
        "scores": scores,
        "phrase_starts_s": starts_s,
        **_takes(job, source, [target], done.statement),
        "output_settings": {
            "model": job.task.model_id,
            "transpose": edit_data.transpose,
            "vocal_style": edit_data.style,
        },
        "settings": asdict(edit_data.settings) | {"takes": 1},
        "untrained": voice.card.is_untrained,
    }


def _comp(job: Job, source: Path) -> dict[str, Any]:
    """Put one take together out of several."""
    from engine.conversion.comping import CompPart, comp_files
    from engine.provenance.statement import Statement

    wanted = job.task.parameters["comp"]
    of = wanted["of"]
    takes = [job.fetch_as(key, f"take-{number}") for number, key in enumerate(wanted["takes"], 1)]
    target, statement = job.place / "take-1.wav", Statement(**of["statement"])
    unsigned = comp_files(
        takes,
        [CompPart(**one) for one in wanted["parts"]],
        target,
        lambda fraction, message: job.heart.report(_CONVERTING_SHARE * fraction, message),
        statement,
        job.bench.installation,
    )
    scores, _ = _scores(job, source, [target], of["output_settings"]["transpose"])
    return {
        **_takes(job, source, [target], statement),
        "output_settings": of["output_settings"],
        "settings": of["settings"] | {"takes": 1},
        "untrained": of["untrained"],
        "scores": scores,
        "phrase_starts_s": of["phrase_starts_s"],
        "statement": of["statement"],
        "unsigned": unsigned,
    }


def _takes(job: Job, source: Path, targets: list[Path], statement: "Statement") -> dict[str, list[str]]:
    """Store the takes; with effects or in another form also as they were rendered, since pitch edits need those."""
    effects, asked = effects_of(job.task.parameters.get("effects", OFF)), job.task.parameters.get("form")
    finished = targets
    if not effects.is_off:
        finished, statement = _with_effects(job, finished, effects, statement)
    if asked is not None:
        finished = _in_form(job, source, finished, ResultFormat(**asked), statement)
    kept = {} if finished is targets else {"dry": [job.store(one) for one in targets]}
    return {"outputs": [job.store(one) for one in finished], **kept}


def _in_form(job: Job, source: Path, takes: list[Path], form: ResultFormat, statement: "Statement") -> list[Path]:
    written = [take.with_stem(f"{take.stem}-result") for take in takes]
    for take, target in zip(takes, written, strict=True):
        write_result(take, target, form, source, statement, job.bench.installation)
    return written


def _with_effects(
    job: Job, targets: list[Path], effects: "EffectSettings", statement: "Statement"
) -> "tuple[list[Path], Statement]":
    from engine.effects.chain import apply_effects_to_file, stating_effects

    def report(fraction: float, message: str) -> None:
        job.heart.report(_SCORED_SHARE + (1 - _SCORED_SHARE) * fraction, message)

    finished = [target.with_stem(f"{target.stem}-effects") for target in targets]
    for target, wet in zip(targets, finished, strict=True):
        apply_effects_to_file(target, wet, effects, report, statement, job.bench.installation)
    return finished, stating_effects(statement, effects)


def _earlier(job: Job, found: dict[str, Any] | None) -> Path | None:
    """Return the take as rendered before these edits, if it still exists."""
    try:
        return job.fetch_as(found["key"], "earlier") if found else None
    except NotFound:
        return None


def _fetched(job: Job) -> Path:
    try:
        return job.bench.storage.fetch(job.task.parameters["input_key"], job.place)
    except NotFound as cause:
        raise NotFound("The recording has been deleted: send it again.", "recording_gone") from cause


def _converted(job: Job, source: Path, targets: list[Path], settings: "Chosen", voice: "AnyVoice") -> "FileConversion":
    from engine.conversion.convert import convert_file

    def report(fraction: float, message: str) -> None:
        job.heart.report(_CONVERTING_SHARE * fraction, message)

    return convert_file(source, targets, voice, settings, report, job.bench.device, job.bench.installation)


def _voice(job: Job) -> "AnyVoice":
    try:
        return insist(lambda: job.bench.voices.voice(_voice_folder(job)), SHORT_PATIENCE_S)
    except (NotFound, VoiceError):  # or it has just been trained, and is elsewhere now
        return insist(lambda: job.bench.voices.voice(_voice_folder(job)), SHORT_PATIENCE_S)


def _voice_folder(job: Job) -> Path:
    """Return the voice's folder; the untrained one if that was requested and the voice is still not trained."""
    bench = job.bench
    model = find_model(bench.database, job.account, job.task.model_id or "")
    if not (model.is_untrained and job.task.parameters.get("untrained")):
        return voice_folder(bench.storage, model)
    return untrained_voice_folder(job, model)


def _scores(
    job: Job,
    source: Path,
    targets: list[Path],
    transpose: float,
    pitch: "Pitch | None" = None,
    semitones: "np.ndarray | None" = None,
) -> tuple[list[dict[str, Any]], list[float]]:
    """Score how much of the performance each take preserved; return also where its phrases begin, in seconds.

    pitch: where the recording is voiced, for the phrases. semitones: the intended shift per frame besides `transpose`.
    """
    from engine.analysis.phrases import find_phrases
    from engine.conversion.comping import joins
    from engine.evaluation.scores import compare_performances, moved, trace_file

    def traced(path: Path, number: int) -> "Performance":
        def report(fraction: float, message: str) -> None:
            share = (number + fraction) / (len(targets) + 1)
            job.heart.report(_CONVERTING_SHARE + (_SCORED_SHARE - _CONVERTING_SHARE) * share, message)

        return trace_file(path, report)

    recording = traced(source, 0)
    original = recording if semitones is None else moved(recording, semitones)
    takes = (traced(target, number) for number, target in enumerate(targets, 1))
    scores = [asdict(compare_performances(original, take, transpose)) for take in takes]
    frames = min(len(pitch), len(recording.level_db)) if pitch is not None else 0
    if pitch is None or not frames:
        return scores, [0.0]
    return scores, joins(find_phrases(pitch[:frames], recording.level_db[:frames]), recording.level_db[:frames])
