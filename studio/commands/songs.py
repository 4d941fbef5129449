"""`convert` of a song, or of a recording in several voices: a project of the studio, as the takes of a vocal are."""

import time
from collections.abc import Mapping
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from engine.audio.files import open_audio
from engine.audio.result_files import write_result
from engine.effects.settings import effects_of
from engine.errors import SettingsError
from engine.provenance.verification import statement_of
from engine.songs.parts import KEEP, read_parts
from engine.songs.separator_file import checked_separator
from engine.texts import ntr, numeral, tr
from studio.actions.conversions.songs import SentFile, SongRequest
from studio.actions.conversions.takes import ResultView, result_view
from studio.actions.uploads import scratch_folder
from studio.commands.in_process import local_studio
from studio.commands.progress import progress_bar
from studio.commands.song_options import KEEP_BACKING, SongOptions
from studio.commands.takes import TakesWanted, converted_task, keep_or_delete
from studio.commands.wording import say
from studio.executors.voice_cache import VoiceCache
from studio.settings.environment import load_settings
from studio.store.catalogue import names_of
from studio.store.records.conversion import Rendered

if TYPE_CHECKING:
    from studio.store.studio import Studio
    from studio.store.tasks import Task

Files = dict[str, Any]  # of a song, as the JSON shows them


def convert_song(source: Path, options: SongOptions, wanted: TakesWanted) -> Files:
    """Convert a song, or a recording in several voices; return its files. Repeating it resumes the work."""
    if not effects_of(wanted.request.effects).is_off:
        raise SettingsError(tr("Effects are for a vocal alone: convert the vocal with them, then use `mix`."))
    song = _song(options, wanted.request.model)
    voices = [part.voice for sung in song.sung for part in sung if part.voice != KEEP]
    if not voices:
        raise SettingsError(tr("Nothing is converted: give the vocal, or one of the stems, a voice."))
    if song.separate:
        checked_separator(load_settings().separators)
    targets = _targets(source, song, wanted)
    request = replace(wanted.request, model=voices[0], song=song)  # a task is shown by the first that sings
    with local_studio(limited=False, threads=wanted.threads) as studio:
        with progress_bar() as report:
            task = converted_task(studio, source, replace(wanted, request=request), report, VoiceCache())
        facts = result_view(studio, studio.local, task.id, "", time.time())
        unsigned = _written(studio, task, targets, source, wanted)
        names = names_of(studio.database, studio.local, voices)
        project = keep_or_delete(studio, task, wanted)
    shown = {lane: str(path) for lane, path in targets.items()}
    return {"recording": str(source), "voices": _say(task, facts, unsigned, names), "project": project, "files": shown}


def _song(options: SongOptions, voice: str) -> SongRequest:
    backing = options.backing if options.backing != KEEP_BACKING else None
    stems = []
    for given in options.stems:
        path, _, voices = given.rpartition("=")
        if not path:
            raise SettingsError(tr("--stem takes FILE=VOICE, or FILE=keep, not '{given}'.", given=given))
        stems.append((_sent(path), read_parts(voices)))
    stem, stem_parts = stems[0] if stems else (None, read_parts(KEEP))
    faders = {"vocal": options.vocal_db} if options.vocal_db else {}
    parts, sent = options.parts_with(voice), _sent(backing) if backing else None
    return SongRequest(parts, options.separate, sent, stem, stem_parts, options.offset, faders, stems[1:])


def _sent(path: str) -> SentFile:
    with open_audio(path):  # what is wrong with it is said before anything is copied
        return SentFile(Path(path), Path(path).name)


def _targets(source: Path, song: SongRequest, wanted: TakesWanted) -> dict[str, Path]:
    """Return where to write the results, by the names of the task's lanes."""
    stems = dict(zip((name for name in song.files if name != "backing"), count(2)))
    lanes = {"vocal": "vocal", "backing": "backing", **{name: f"stem{number}" for name, number in stems.items()}}
    names, voice = wanted.names, wanted.request.model
    planned = names.lanes(source, voice, list(lanes.values())) if song.is_mixed else names.takes(source, voice, 1)
    if names.skips(planned):
        say(tr("Its results already exist."), about=str(source))
        raise typer.Exit
    paths = names.free(planned, [source, *(sent.path for sent in song.files.values())])
    return dict(zip(["mix", *lanes], paths, strict=song.is_mixed))


def _written(
    studio: "Studio", task: "Task", targets: Mapping[str, Path], source: Path, wanted: TakesWanted
) -> str | None:
    """Write the results in the form that is wanted; return why they carry no content credentials."""
    rendered = task.result_as(Rendered)
    unsigned, keys = rendered.unsigned, {**(rendered.lanes or {}), "mix": rendered.outputs[0]}
    with scratch_folder(studio) as place:
        for lane, target in targets.items():
            file = studio.storage.fetch(keys[lane], place)
            statement = statement_of(file, studio.installation)  # none of a backing, and of a stem that is kept
            lowered_db = rendered.lowered_db or 0.0
            reason = write_result(file, target, wanted.form, source, statement, studio.installation, lowered_db)
            unsigned = unsigned or reason
    return unsigned


def _say(task: "Task", facts: ResultView, unsigned: str | None, names: Mapping[str, str]) -> Files:
    """Say what became of each voice; return it."""
    rendered = task.result_as(Rendered)
    voices: Files = {}
    for voice in rendered.voices or ():
        voices[str(voice.model)] = {"style": voice.vocal_style, "transpose": voice.transpose}
        name = names.get(str(voice.model), voice.model)
        say(
            tr("{name}, {used}, not transposed.", name=name, used=voice.vocal_style)
            if not voice.transpose
            else ntr(
                "{name}, {used}, transposed by {transpose} semitone.",
                "{name}, {used}, transposed by {transpose} semitones.",
                transpose=numeral(voice.transpose, "+g"),
                name=name,
                used=voice.vocal_style,
            )
        )
    for note in (facts.warning, *facts.notes):
        if note:
            say(note)
    if rendered.mix and rendered.mix.gain_db:
        lower = numeral(-rendered.mix.gain_db, ".1f")
        say(tr("All lanes are {gain_db} dB lower, so that nothing clips.", gain_db=lower))
    if unsigned:
        say(tr("Without content credentials. {unsigned}", unsigned=unsigned))
    return voices
