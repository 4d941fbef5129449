"""Make a song in a worker. What a stage has finished is stored, so that the next attempt goes on from there."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from engine.audio.files import notes_of
from engine.conversion.settings import by_style
from engine.files import named
from studio.errors import NotFound
from studio.executors.job import Job
from studio.executors.retries import SHORT_PATIENCE_S, retry
from studio.executors.untrained import voice_for
from studio.store.accounts import account_prefix
from studio.store.records.conversion import Conversion, Mix, OutputSettings, Rendered, Song, more_lanes
from studio.store.task_filter import TaskFilter
from studio.store.tasks import list_tasks

if TYPE_CHECKING:
    from engine.features.survey import Survey
    from engine.songs.part_conversion import PartsConversion
    from engine.songs.separation import OnnxSeparator
    from engine.songs.song import Song as WholeSong

_MOST_CANCELLED = 3  # tasks in whose stages to look


@dataclass(frozen=True)
class StoredStages:
    """Stages in the storage, for all attempts of a task, and for the next task when this one is cancelled."""

    job: Job

    def find(self, name: str) -> Path | None:
        """Return the file of a stage, if an attempt finished it, or a cancelled task of the same recording."""
        for place in (stages_prefix(self.job), *self._cancelled):
            with suppress(NotFound):
                return self._fetched(f"{place}/{name}")
        return None

    def new(self, name: str) -> Path:
        """Return where to write the file of a stage."""
        return self._folder() / name

    def keep(self, name: str) -> Path:
        """Store the file written there; return where it is now."""
        path = self.new(name)
        retry(lambda: self.job.context.storage.put_file(path, self._key(name)), SHORT_PATIENCE_S)
        return path if path.exists() else self._fetched(self._key(name))

    @cached_property
    def _cancelled(self) -> list[str]:
        """The stages of tasks that were cancelled lately."""
        task, database = self.job.task, self.job.context.database
        wanted = TaskFilter("cancelled", task.kind, task.recording)
        found = retry(
            lambda: list_tasks(database, task.account_id, limit=_MOST_CANCELLED, wanted=wanted), SHORT_PATIENCE_S
        )[0]
        return [stages_prefix(self.job, one.id) for one in found]

    def _fetched(self, key: str) -> Path:
        storage = self.job.context.storage
        return retry(lambda: storage.fetch(key, self._folder()), SHORT_PATIENCE_S)

    def _key(self, name: str) -> str:
        return f"{stages_prefix(self.job)}/{name}"

    def _folder(self) -> Path:
        folder = self.job.folder / "stages"
        folder.mkdir(exist_ok=True)
        return folder


def stages_prefix(job: Job, task_id: str | None = None) -> str:
    """Return the prefix of the stages of a task in the storage; by default of the job's own."""
    return f"{account_prefix(job.account)}tasks/{task_id or job.task.id}/stages"


def make(job: Job, asked: Conversion, song: Song, source: Path) -> Rendered:
    """Separate, convert and mix. Raises what the engine and the studio raise."""
    from engine.songs.part_conversion import Work
    from engine.songs.song import SongFiles, make_song

    job.refuse_too_long(source, 1)
    if not (song.separate or "backing" in song.keys):
        return _in_parts(job, asked, song, source)
    whole = _whole(job, song, source)
    names = ["vocal", "backing", *islice(chain(["stem"], more_lanes()), len(whole.stems))]
    vocal, backing, *stems = (job.folder / f"{name}.wav" for name in names)
    files = SongFiles(job.folder / "mix.wav", vocal, backing, stems)
    settings, voices = by_style(asked.preset, asked.settings), partial(voice_for, job, untrained=asked.untrained)
    work = Work(job.context.device, job.context.installation, threads=job.context.threads)
    report = job.heartbeat.report
    done = make_song(whole, files, voices, StoredStages(job), partial(separator_of, job), settings, report, work)
    converted = [one for one in done.conversions if one]
    return replace(
        _rendered(job, asked, files.mix, converted, done.mix.unsigned),
        statement=done.statement,
        lanes={name: job.store(path) for name, path in zip(names, [vocal, backing, *stems], strict=True)},
        warning=done.warning,
        notes=tuple(done.notes),
        mix=Mix(done.mix.gain_db, done.alignment.offset_s),
    )


def _in_parts(job: Job, asked: Conversion, song: Song, source: Path) -> Rendered:
    """Convert a recording in several voices, without a backing."""
    from engine.songs.part_conversion import Work, convert_parts
    from engine.songs.two_pitches import find_two_pitches

    target = job.folder / "take-1.wav"
    warning: str | None = None

    def surveyed(survey: "Survey") -> None:
        nonlocal warning
        survey.refuse_silence()
        warning = survey.dryness.warning if survey.dryness else None

    settings, voices = by_style(asked.preset, asked.settings), partial(voice_for, job, untrained=asked.untrained)
    work = Work(job.context.device, job.context.installation, threads=job.context.threads)
    report, parts = job.heartbeat.report, list(song.parts)
    done = convert_parts(source, target, parts, voices, settings, report, work, surveyed)
    said = [*notes_of([source]), find_two_pitches(source).sentence, done.level_warning, done.notes_warning]
    notes, lowered_db = tuple(filter(None, said)), done.lowered_db or None
    rendered = _rendered(job, asked, target, [done], done.unsigned)
    return replace(rendered, warning=warning, notes=notes, lowered_db=lowered_db)


def _rendered(
    job: Job, asked: Conversion, output: Path, converted: "Sequence[PartsConversion]", unsigned: str | None
) -> Rendered:
    first = converted[0]
    sung = {
        voice: OutputSettings(voice, transpose, one.styles[voice])
        for one in converted
        for voice, transpose in one.transposes.items()
    }
    voice = job.task.model_id if job.task.model_id in first.transposes else next(iter(first.transposes))
    style = first.styles[voice]
    return Rendered(
        (job.store(output),),
        OutputSettings(job.task.model_id, first.transposes[voice], style),
        asdict(by_style(asked.preset, asked.settings)(style)),
        asked.untrained,
        scores=({},),
        statement=first.statement,
        unsigned=unsigned,
        voices=tuple(sung.values()),
    )


def _whole(job: Job, song: Song, source: Path) -> "WholeSong":
    from engine.songs.mixing import Fader
    from engine.songs.song import Song as WholeSong
    from engine.songs.song import Stem

    faders = {name: Fader(level) for name, level in song.faders.items()}
    sent = {name: named(job.fetch_as(key, name), song.names[name]) for name, key in song.keys.items()}
    for path in sent.values():
        job.refuse_too_long(path, 1)
    sung = dict(zip(chain(["stem"], more_lanes()), [song.stem_parts, *(song.more_stem_parts or ())], strict=False))
    stems = [Stem(sent[name], list(parts), faders.get(name, Fader())) for name, parts in sung.items() if name in sent]
    lead = Stem(source, list(song.parts), faders.get("vocal", Fader()))
    return WholeSong(lead, sent.get("backing"), song.separate, song.offset_s, stems, faders.get("backing", Fader()))


def separator_of(job: Job) -> "OnnxSeparator":
    """Return what takes the vocal out of a song. Raises what `checked_separator` raises."""
    from engine.songs.separation import OnnxSeparator
    from engine.songs.separator_file import checked_separator

    return OnnxSeparator(checked_separator(job.context.settings.separators))
