"""Make a song in a worker. What a stage has finished is stored, so that the next attempt goes on from there."""

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from engine.conversion.settings import AUTO, by_style
from engine.errors import AudioError
from studio.errors import NotFound
from studio.executors.job import SHORT_PATIENCE_S, Job, insist
from studio.executors.untrained import untrained_voice_folder
from studio.store.accounts import account_prefix
from studio.store.catalogue import find_model
from studio.store.task_filter import TaskFilter
from studio.store.tasks import list_tasks
from studio.store.workspaces import voice_folder

if TYPE_CHECKING:
    from engine.features.survey import Survey
    from engine.songs.part_conversion import PartsConversion
    from engine.songs.parts import Part
    from engine.songs.separation import OnnxSeparator
    from engine.songs.song import Song
    from engine.voices.imported import AnyVoice

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
        insist(lambda: self.job.bench.storage.put_file(path, self._key(name)), SHORT_PATIENCE_S)
        return path if path.exists() else self._fetched(self._key(name))

    @cached_property
    def _cancelled(self) -> list[str]:
        """The stages of tasks that were cancelled lately."""
        task, database = self.job.task, self.job.bench.database
        wanted = TaskFilter("cancelled", task.kind, task.recording)
        found = insist(
            lambda: list_tasks(database, task.account_id, limit=_MOST_CANCELLED, wanted=wanted), SHORT_PATIENCE_S
        )[0]
        return [stages_prefix(self.job, one.id) for one in found]

    def _fetched(self, key: str) -> Path:
        storage = self.job.bench.storage
        return insist(lambda: storage.fetch(key, self._folder()), SHORT_PATIENCE_S)

    def _key(self, name: str) -> str:
        return f"{stages_prefix(self.job)}/{name}"

    def _folder(self) -> Path:
        folder = self.job.place / "stages"
        folder.mkdir(exist_ok=True)
        return folder


def stages_prefix(job: Job, task_id: str | None = None) -> str:
    """Return the prefix of the stages of a task in the storage; by default of the job's own."""
    return f"{account_prefix(job.account)}tasks/{task_id or job.task.id}/stages"


def make(job: Job, source: Path) -> dict[str, Any]:
    """Separate, convert and mix; return the task's result."""
    try:
        made = _made(job, source)
    except AudioError as cause:
        raise AudioError(_in_their_names(job, source, str(cause))) from cause
    warning = made["warning"] and _in_their_names(job, source, made["warning"])
    return made | {"warning": warning, "notes": [_in_their_names(job, source, note) for note in made["notes"]]}


def _in_their_names(job: Job, source: Path, text: str) -> str:
    """Return a sentence with the names that the files had when they were sent."""
    song = job.task.parameters["song"]
    stored = {PurePath(key).name: song["names"][name] for name, key in song["keys"].items()}
    stored[source.name] = job.task.parameters["file_name"]
    either = "|".join(map(re.escape, stored))
    return re.sub(f'"({either})"', lambda found: f'"{stored[found[1]]}"', text)


def _made(job: Job, source: Path) -> dict[str, Any]:
    from engine.songs.part_conversion import Work
    from engine.songs.song import SongFiles, make_song

    asked = job.task.parameters["song"]
    _measure(job, source)
    if not (asked["separate"] or "backing" in asked["keys"]):
        return _in_parts(job, source)
    song = _song(job, source)
    names = ["vocal", "backing", *("stem" for _ in song.stems)]
    vocal, backing, *stems = (job.place / f"{name}.wav" for name in names)
    files = SongFiles(job.place / "mix.wav", vocal, backing, stems)
    given = job.task.parameters["settings"]
    done = make_song(
        song, files, lambda name: _voice(job, name), StoredStages(job), lambda: _separator(job),
        by_style(job.task.parameters.get("preset", AUTO), given), job.heart.report,
        Work(job.bench.device, job.bench.installation),
    )  # fmt: skip
    converted = [one for one in done.conversions if one]
    return _result(job, files.mix, converted, done.mix.unsigned) | {
        "statement": asdict(done.statement),
        "lanes": {name: job.store(path) for name, path in zip(names, [vocal, backing, *stems], strict=True)},
        "warning": done.warning,
        "notes": done.notes,
        "mix": {"gain_db": done.mix.gain_db, "offset_s": done.alignment.offset_s},
    }


def _in_parts(job: Job, source: Path) -> dict[str, Any]:
    """Convert a recording in several voices, without a backing."""
    from engine.songs.part_conversion import Work, convert_parts
    from engine.songs.two_pitches import find_two_pitches

    target, warning = job.place / "take-1.wav", None
    given = job.task.parameters["settings"]

    def surveyed(survey: "Survey") -> None:
        nonlocal warning
        survey.refuse_silence()
        warning = survey.dryness and survey.dryness.warning

    done = convert_parts(
        source, target, _parts(job.task.parameters["song"]["parts"]), lambda name: _voice(job, name),
        by_style(job.task.parameters.get("preset", AUTO), given), job.heart.report,
        Work(job.bench.device, job.bench.installation), surveyed,
    )  # fmt: skip
    notes = [find_two_pitches(source).sentence, done.notes_warning]
    said = {"warning": warning, "notes": [note for note in notes if note]}
    return _result(job, target, [done], done.unsigned) | said


def _result(job: Job, output: Path, converted: "Sequence[PartsConversion]", unsigned: str | None) -> dict[str, Any]:
    first = converted[0]
    voice = job.task.model_id if job.task.model_id in first.transposes else next(iter(first.transposes))
    style: Any = first.styles[voice]
    chosen = by_style(job.task.parameters.get("preset", AUTO), job.task.parameters["settings"])(style)
    return {
        "outputs": [job.store(output)],
        "output_settings": {"model": job.task.model_id, "transpose": first.transposes[voice], "vocal_style": style},
        "settings": asdict(chosen),
        "untrained": bool(job.task.parameters.get("untrained")),
        "scores": [{}],
        "statement": asdict(first.statement),
        "unsigned": unsigned,
    }


def _song(job: Job, source: Path) -> "Song":
    from engine.songs.mixing import Fader
    from engine.songs.song import Song, Stem

    asked = job.task.parameters["song"]
    faders = {name: Fader(level) for name, level in asked["faders"].items()}
    sent = {name: job.fetch_as(key, name) for name, key in asked["keys"].items()}
    for path in sent.values():
        _measure(job, path)
    stems = [Stem(sent["stem"], _parts(asked["stem_parts"]), faders.get("stem", Fader()))] if "stem" in sent else []
    lead = Stem(source, _parts(asked["parts"]), faders.get("vocal", Fader()))
    return Song(lead, sent.get("backing"), asked["separate"], asked["offset_s"], stems, faders.get("backing", Fader()))


def _parts(parts: Sequence[Sequence[Any]]) -> "list[Part]":
    from engine.songs.parts import Part

    return [Part(float(start_s), str(voice)) for start_s, voice in parts]


def _voice(job: Job, model_id: str) -> "AnyVoice":
    bench = job.bench
    model = insist(lambda: find_model(bench.database, job.account, model_id), SHORT_PATIENCE_S)
    if model.is_untrained and job.task.parameters.get("untrained"):
        return bench.voices.voice(untrained_voice_folder(job, model))
    return bench.voices.voice(insist(lambda: voice_folder(bench.storage, model), SHORT_PATIENCE_S))


def _separator(job: Job) -> "OnnxSeparator":
    from engine.songs.separation import OnnxSeparator
    from engine.songs.separator_file import checked_separator

    return OnnxSeparator(checked_separator(job.bench.settings.separators))


def _measure(job: Job, path: Path) -> None:
    job.refuse_too_long(path, 1)
