"""`convert` of a song, or of a recording in several voices."""

import shutil
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from engine.conversion.settings import by_style
from engine.effects.settings import effects_of
from engine.errors import SettingsError
from engine.texts import numeral, tr
from studio.commands.in_process import local_studio
from studio.commands.progress import progress_bar
from studio.commands.rendering import rendered_in
from studio.commands.song_options import KEEP_BACKING, SongOptions
from studio.commands.takes import TakesWanted
from studio.commands.wording import say

if TYPE_CHECKING:  # torch takes seconds to load
    from engine.conversion.convert import Chosen
    from engine.features.survey import Survey
    from engine.songs.part_conversion import PartsConversion, Work
    from engine.songs.song import Song
    from engine.voices.imported import AnyVoice

Files = dict[str, Any]  # of a song, as the JSON shows them


def convert_song(source: Path, options: SongOptions, wanted: TakesWanted) -> Files:
    """Convert a song, a vocal with its backing, or a recording in several voices; return its files.

    An interrupted song is resumed by the same command.
    """
    from engine.songs.parts import KEEP

    request = wanted.request
    chosen = by_style(request.preset, request.settings)
    if not effects_of(request.effects).is_off:
        raise SettingsError(tr("Effects are for a vocal alone: convert the vocal with them, then use `mix`."))
    song = _song(source, options, request.model)
    asked = {part.voice for stem in (song.lead, *song.stems) for part in stem.parts} - {KEEP}
    voices = {name: _voice(name, wanted.device) for name in sorted(asked)}  # with a bar, if it must be made first
    make = _mixed if options.is_mixed else _in_parts
    return {"recording": str(source), **make(song, voices, chosen, wanted)}


def _in_parts(song: "Song", voices: Mapping[str, "AnyVoice"], chosen: "Chosen", wanted: TakesWanted) -> Files:
    from engine.songs.part_conversion import convert_parts
    from engine.songs.two_pitches import find_two_pitches

    source, [target], work = song.lead.path, _targets(song, (), wanted), _work(wanted.device)
    with progress_bar() as report, rendered_in([target], source, wanted.form, work.installation) as [rendered]:
        done = convert_parts(
            source, rendered, song.lead.parts, voices.__getitem__, chosen, report, work,
            say_what_is_wrong,
        )  # fmt: skip
    notes = [find_two_pitches(source).sentence, done.notes_warning]
    return {"voices": _say([done], [note for note in notes if note], done.unsigned), "files": {"take": str(target)}}


def _mixed(song: "Song", voices: Mapping[str, "AnyVoice"], chosen: "Chosen", wanted: TakesWanted) -> Files:
    from engine.songs.separation import OnnxSeparator
    from engine.songs.separator_file import checked_separator
    from engine.songs.song import FolderStages, SongFiles, make_song
    from studio.settings.environment import load_settings

    source, home = song.lead.path, load_settings()
    lanes = ["vocal", "backing", *(f"stem{number}" for number in range(2, 2 + len(song.stems)))]
    targets, work = _targets(song, lanes, wanted), _work(wanted.device)
    stages = home.work / f"song-{sha256(str(source.absolute()).encode()).hexdigest()[:16]}"

    def separator() -> OnnxSeparator:
        return OnnxSeparator(checked_separator(home.separators))

    with progress_bar() as report, rendered_in(targets, source, wanted.form, work.installation) as rendered:
        mix, vocal, backing, *stems = rendered
        done = make_song(
            song, SongFiles(mix, vocal, backing, stems), voices.__getitem__, FolderStages(stages), separator, chosen,
            report, work,
        )  # fmt: skip
    shutil.rmtree(stages, ignore_errors=True)  # kept only while it is not finished
    said = _say([one for one in done.conversions if one], done.notes, done.mix.unsigned)
    if done.mix.gain_db:
        say(tr("All lanes are {gain_db} dB lower, so that nothing clips.", gain_db=numeral(-done.mix.gain_db, ".1f")))
    return {"voices": said, "files": dict(zip(["mix", *lanes], map(str, targets), strict=True))}


def _targets(song: "Song", lanes: Sequence[str], wanted: TakesWanted) -> list[Path]:
    source, voice, names = song.lead.path, wanted.request.model, wanted.names
    planned = names.lanes(source, voice, lanes) if lanes else names.takes(source, voice, 1)
    if names.skips(planned):
        say(tr("Its results are there already."), about=str(source))
        raise typer.Exit
    others = [song.backing, *(stem.path for stem in song.stems)]
    return names.free(planned, [source, *(one for one in others if one is not None)])


def _voice(name: str, device: str) -> "AnyVoice":
    from engine.voices.imported import load_any_voice
    from studio.actions.conversions.conversion import usable_voice_folder

    with local_studio() as studio, progress_bar() as report:
        voice = load_any_voice(usable_voice_folder(studio, studio.local, name, report, device))
    if voice.card.is_untrained:
        say(tr(
            "{name} is untrained: python -m studio train {name2} makes it more like the recordings.",
            name=voice.card.name, name2=name,
        ))
    return voice


def _work(device: str) -> "Work":
    from engine.songs.part_conversion import Work
    from studio.settings.environment import installation_of, load_service_settings, load_settings

    return Work(device, installation_of(load_settings(), load_service_settings()), say)


def say_what_is_wrong(survey: "Survey") -> None:
    """Say before a conversion that the recording is no dry vocal. Raises AudioError for silence."""
    survey.refuse_silence()
    if survey.dryness and survey.dryness.warning:
        say(survey.dryness.warning)


def _song(source: Path, options: SongOptions, voice: str) -> "Song":
    from engine.songs.mixing import Fader
    from engine.songs.parts import read_parts
    from engine.songs.song import Song, Stem

    backing = Path(options.backing) if options.backing and options.backing != KEEP_BACKING else None
    stems = []
    for given in options.stems:
        path, _, voices = given.rpartition("=")
        if not path:
            raise SettingsError(tr("--stem takes FILE=VOICE, or FILE=keep, not '{given}'.", given=given))
        stems.append(Stem(Path(path), read_parts(voices)))
    lead = Stem(source, options.parts_with(voice), Fader(options.vocal_db))
    return Song(lead, backing, options.separate, options.offset, stems)


def _say(conversions: "Sequence[PartsConversion]", notes: Sequence[str], unsigned: str | None) -> Files:
    """Say what became of each voice; return it."""
    voices: Files = {}
    for conversion in conversions:
        for voice, transpose in conversion.transposes.items():
            voices[voice] = {"style": conversion.styles[voice], "transpose": transpose}
            say(tr(
                "{voice}, {styles}, transposed by {transpose} semitones.",
                voice=voice, styles=conversion.styles[voice], transpose=numeral(transpose, "+g"),
            ))
    for note in notes:
        say(note)
    if unsigned:
        say(tr("Without content credentials. {unsigned}", unsigned=unsigned))
    return voices
