"""`convert` of vocals: each becomes a project of the studio, and its takes are copied to where they belong."""

import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.audio.files import open_audio
from engine.audio.result_files import write_result
from engine.audio.result_format import ResultFormat
from engine.cores import usable_cores
from engine.effects.settings import effects_of
from engine.errors import AudioError, Cancelled, EngineError
from engine.files import on_track, track_of
from engine.progress import Report
from engine.provenance.statement import Statement
from engine.texts import tr
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.conversions.takes import ResultView, result_view
from studio.actions.conversions.views import key_of_take
from studio.actions.projects import change_project
from studio.actions.tasks import delete_tasks
from studio.actions.uploads import scratch_folder
from studio.commands.in_process import carry_out_reporting, local_studio
from studio.commands.piped import shown_path
from studio.commands.progress import progress_bar
from studio.commands.result_names import ResultNames
from studio.commands.wording import say, speaker
from studio.executors.voice_cache import VoiceCache
from studio.store.free_space import refuse_full_disk
from studio.store.records.conversion import Conversion, Rendered, Scores
from studio.store.tasks import find

if TYPE_CHECKING:
    from studio.store.studio import Studio
    from studio.store.tasks import Task


@dataclass(frozen=True)
class TakesWanted:
    """What every recording of a call becomes. is_kept: whether the studio keeps recordings and takes.
    project: the name for that of a single one. jobs: recordings converted side by side, which share the `threads`."""

    request: ConversionRequest
    form: ResultFormat
    names: ResultNames
    device: str = "auto"
    project: str | None = None
    is_kept: bool = True
    threads: int | None = None
    jobs: int = 1


@dataclass(frozen=True)
class Converted:
    """A recording with its takes. facts: as `result_view` has them; project: its id, None if it is not kept."""

    recording: Path
    takes: list[Path]
    facts: ResultView
    statement: Statement
    project: str | None
    unsigned: str | None

    @property
    def name(self) -> str:
        """The voice's name, which an untrained one has of its recordings."""
        return self.statement.voice_name

    @property
    def warnings(self) -> list[str]:
        """Sentences on the recording, its notes, and its credentials."""
        unsigned = tr("Without content credentials. {unsigned}", unsigned=self.unsigned) if self.unsigned else None
        return [sentence for sentence in (self.facts.warning, *self.facts.notes, unsigned) if sentence]

    @property
    def scores(self) -> list[Scores]:
        """The scores of the takes, in their order."""
        ordered = sorted(self.facts.takes, key=lambda one: int(one.number))
        return [one.scores for one in ordered]

    def as_json(self) -> dict[str, object]:
        """Return what programs may want to know of it."""
        facts = self.facts
        takes = zip(self.takes, self.scores, strict=True)
        return {
            "recording": shown_path(self.recording),
            "voice": {"id": facts.model, "name": self.name},
            "style": facts.style,
            "transpose": facts.transpose,
            "settings": facts.settings,
            "project": self.project,
            "takes": [
                {"take": number, "path": str(path), "scores": scores} for number, (path, scores) in enumerate(takes, 1)
            ],
            "warnings": self.warnings,
        }


@dataclass(frozen=True)
class Failed:
    """A recording that could not be converted, and why."""

    recording: Path
    reason: str


def convert_takes(
    recordings: Sequence[Path],
    wanted: TakesWanted,
    converted: Callable[[Converted], None],
    failed: Callable[[Failed], None],
) -> None:
    """Convert recordings under one bar; `converted` or `failed` receives each in their order.
    Raises the error of a single recording, and Cancelled."""
    waiting = [one for one in recordings if not _is_skipped(one, wanted)]
    voices, jobs = VoiceCache(), min(wanted.jobs, len(waiting)) or 1
    threads = wanted.threads if jobs == 1 else max(1, (wanted.threads or usable_cores()) // jobs)
    with local_studio(limited=False, threads=threads) as studio, progress_bar() as report:
        shares = _shares(report, waiting) if len(waiting) > 1 else [report]
        works = [
            partial(converted_task, studio, recording, wanted, share, voices)
            for recording, share in zip(waiting, shares, strict=False)
        ]
        for recording, task_of in zip(waiting, _side_by_side(works, jobs), strict=True):
            try:
                converted(_written(studio, recording, recordings, wanted, task_of()))
            except Cancelled:
                raise
            except EngineError as error:
                if len(recordings) == 1:
                    raise
                failed(Failed(recording, str(error)))


def _side_by_side(works: Sequence[Callable[[], "Task"]], jobs: int) -> Iterator[Callable[[], "Task"]]:
    """Yield what waits for each work and returns its result, in their order, while so many are under way."""
    if jobs == 1:
        yield from works
        return
    with ThreadPoolExecutor(jobs, "conversion") as pool:
        begun = [pool.submit(copy_context().run, work) for work in works]
        try:
            yield from (one.result for one in begun)
        finally:
            pool.shutdown(cancel_futures=True)


def _is_skipped(recording: Path, wanted: TakesWanted) -> bool:
    takes = int(wanted.request.settings.get("takes", 1))
    skipped = wanted.names.skips(wanted.names.takes(recording, wanted.request.model, takes))
    if skipped:
        say(tr("Its results already exist."), about=str(recording))
    return skipped


def _length_s(recording: Path) -> float:
    """Return the length by the header, for the bar; what is wrong with the file is said when its turn comes."""
    with suppress(EngineError), open_audio(recording) as opened:
        return opened.duration_s or 1.0
    return 1.0


def _shares(report: Report, recordings: Sequence[Path]) -> list[Report]:
    """Return a report for each recording, all of which move one bar; their messages begin with its name."""
    lengths, translate = [_length_s(one) for one in recordings], speaker()
    done = [0.0] * len(recordings)

    def showing(number: int, fraction: float, message: str) -> None:
        done[number] = fraction * lengths[number]
        report(sum(done) / sum(lengths), f"{recordings[number].name}  {translate(message)}")

    return [partial(showing, number) for number in range(len(recordings))]


def converted_task(
    studio: "Studio", recording: Path, wanted: TakesWanted, report: Report, voices: VoiceCache
) -> "Task":
    """Convert copies of a recording, and of the files of its song, as a task of the studio; return it."""
    started: list[str] = []

    def start(here: "Studio") -> None:
        with scratch_folder(here) as place:
            song = wanted.request.song and wanted.request.song.with_files(
                lambda name, sent: replace(sent, path=_copied(here, sent.path, place / name))
            )
            copy = _copied(here, recording, place / "recording")  # which the action takes away
            started.append(start_conversion(here, here.local, copy, recording.name, replace(wanted.request, song=song)))

    carry_out_reporting(studio, start, report, wanted.device, voices)
    return find(studio.database, studio.local.id, started[0])


def _copied(studio: "Studio", recording: Path, target: Path) -> Path:
    try:
        refuse_full_disk(studio, recording.stat().st_size)
        return on_track(shutil.copyfile(recording, target), track_of(recording))
    except OSError as cause:
        raise AudioError(
            tr('"{name}" cannot be copied: {strerror}.', name=recording.name, strerror=cause.strerror or cause)
        ) from cause


def _written(
    studio: "Studio", recording: Path, recordings: Sequence[Path], wanted: TakesWanted, task: "Task"
) -> Converted:
    """Copy the takes of a task to where they belong, in the form that is wanted."""
    facts = result_view(studio, studio.local, task.id, "", time.time())
    planned = wanted.names.takes(recording, wanted.request.model, len(facts.takes))
    targets, statement = wanted.names.free(planned, recordings), _statement(task)
    lowered_db = task.result_as(Rendered).lowered_db or 0.0
    unsigned: str | None = facts.note
    with scratch_folder(studio) as place:
        for number, target in enumerate(targets, 1):
            rendered = studio.storage.fetch(key_of_take(task, number), place)
            reason = write_result(rendered, target, wanted.form, recording, statement, studio.installation, lowered_db)
            unsigned = unsigned or reason
    return Converted(recording, targets, facts, statement, keep_or_delete(studio, task, wanted), unsigned)


def keep_or_delete(studio: "Studio", task: "Task", wanted: TakesWanted) -> str | None:
    """Name the project of a finished task as it is wanted, or delete the task; return the project's id."""
    if not wanted.is_kept:
        delete_tasks(studio, studio.local, [task.id])
        return None
    if wanted.project is not None:
        change_project(studio, studio.local, str(task.recording), wanted.project)
    return task.recording


def _statement(task: "Task") -> Statement:
    """Return what the takes of a task state of how they were made, effects included."""
    statement, effects = task.result_as(Rendered).statement, effects_of(task.asked_as(Conversion).effects)
    assert statement is not None  # of a task of this version
    if effects.is_off:
        return statement
    from engine.effects.processing import stating_effects

    return stating_effects(statement, effects)
