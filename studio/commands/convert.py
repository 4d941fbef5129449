"""`convert`: convert recordings to another voice, each into its takes, or one into a song."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.errors import EngineError, SettingsError
from engine.files import on_track
from engine.texts import tr
from engine.torch_loading import load_for_graphics
from studio.commands.arguments import DEFAULT_VOICE, RESULTS, AsJson, Form, Threads, Track, VoiceId
from studio.commands.failures import in_one_sentence
from studio.commands.garbage import collect_from_here
from studio.commands.known_voices import refuse_unknown_voice
from studio.commands.piped import STREAM, refuse_beside_sound, to_standard_output
from studio.commands.reading_ahead import keep_what_was_loaded
from studio.commands.recordings import find_recordings
from studio.commands.result_names import ResultNames
from studio.commands.results_text import TakesPrinter, print_song
from studio.commands.song_options import SongOptions
from studio.settings.options import DeviceOption, option, read_settings

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.audio.result_format import ResultFormat
    from studio.actions.account import Preset
    from studio.commands.takes import TakesWanted

_SONGS = tr("Songs and several voices")
_OUTPUT = tr(
    "A file (.wav, .flac, .mp3, .m4a, .ogg, .aiff), a folder (created if needed), a template such as "
    "out/{name}.{take}.flac, or - for standard output. Default: named after the recording and the voice, in this "
    "folder."
)
_EFFECTS = tr(
    "EQ, dynamics and reverb on the takes: clean, vocal, speech, hall or off. (Default: off, or the preset's.)"
)
_JOBS = tr("How many recordings to convert side by side; they share the cores, and the results are the same.")

Recordings = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE|-",
        help=tr("Recordings, or folders of them: wav, flac, mp3, ogg, opus, aiff, m4a; - is standard input."),
    ),
]


Output = Annotated[str | None, option("FILE|FOLDER|TEMPLATE|-", _OUTPUT, "-o", "--output", panel=RESULTS)]
Replace = Annotated[
    bool, option(None, tr("Replace existing files; otherwise results are numbered."), "--overwrite", panel=RESULTS)
]
SkipExisting = Annotated[
    bool, option(None, tr("Skip recordings that already have results."), "--skip-existing", panel=RESULTS)
]
Project = Annotated[str | None, option("NAME", tr("The name of its project. Default: the recording's."), panel=RESULTS)]
NoProject = Annotated[bool, option(None, tr("Keep nothing of it in the studio."), "--no-project", panel=RESULTS)]
DryRun = Annotated[bool, option(None, tr("Only print what the results would be called."), "--dry-run", panel=RESULTS)]
PresetName = Annotated[
    str,
    option(
        "auto|melodic|rhythmic|spoken|NAME",
        tr("Settings for singing, rap or speech, or saved on the page; auto detects the style."),
    ),
]
Effects = Annotated[str | None, option("PRESET", _EFFECTS)]
ShowScores = Annotated[bool, option(None, tr("Show how much of the performance each take kept."), "--scores")]
Jobs = Annotated[int, typer.Option("--jobs", metavar="N", min=1, max=64, help=_JOBS)]
Separate = Annotated[bool, option(None, tr("FILE is a whole song."), "--separate", panel=_SONGS)]
Backing = Annotated[
    str | None, option("FILE|keep", tr("Mix with this instrumental, or what is left of the song."), panel=_SONGS)
]
Offset = Annotated[
    float | None, option("SECONDS", tr("How much later than the backing the vocal begins."), panel=_SONGS)
]
FurtherParts = Annotated[
    list[str] | None,
    option(
        '"1:42 ID"',
        tr("Switch to another voice at this time, or keep the original; repeatable."),
        "--from",
        panel=_SONGS,
    ),
]
Stems = Annotated[list[str] | None, option("FILE=ID", tr("Another singer's stem and voice, or =keep."), panel=_SONGS)]
VocalLevel = Annotated[float, option("-60..12", tr("The vocal's fader in the mix."), panel=_SONGS)]


@in_one_sentence
def convert(
    sources: Recordings,
    voice: VoiceId = DEFAULT_VOICE,
    output: Output = None,
    form: Form = None,
    overwrite: Replace = False,
    skip_existing: SkipExisting = False,
    project: Project = None,
    no_project: NoProject = False,
    dry_run: DryRun = False,
    preset: PresetName = "auto",
    effects: Effects = None,
    scores: ShowScores = False,
    as_json: AsJson = False,
    device: DeviceOption = "auto",
    threads: Threads = None,
    jobs: Jobs = 1,
    track: Track = None,
    separate: Separate = False,
    backing: Backing = None,
    offset: Offset = None,
    part: FurtherParts = None,
    stem: Stems = None,
    vocal_db: VocalLevel = 0.0,
    **given: str | None,
) -> None:
    """Convert recordings to another voice; prints the path of each result."""
    recordings = [on_track(one, track) for one in find_recordings(sources)]
    song = SongOptions(separate, backing, offset, part or (), stem or (), vocal_db)
    for one in song.voices(voice) if song.is_used else [voice]:
        refuse_unknown_voice(one)
    values, written = _read(given)
    if not _is_own(preset):
        _preset(preset)  # a name that is wrong is refused before the engine is loaded
    if output == STREAM:
        _check_streamed(recordings, {"--json": as_json, "--dry-run": dry_run, "--skip-existing": skip_existing})
    with to_standard_output(output or "", form) as place:
        names = ResultNames(place or None, overwrite, skip_existing, form)
        names.check_suffix()
        if song.is_used:
            song.check(recordings, int(values.get("takes", 1)), effects)
        _check_project(project, no_project, recordings)
        names.check(recordings, dry_run)
        if not dry_run:
            _load_engine(device)
        settings = {**_preset(preset).settings, **values}
        if output == STREAM and int(settings.get("takes", 1)) > 1:
            raise SettingsError(tr("-o - writes one take: leave --takes out, or name a file or a folder."))
        if dry_run:
            _print_names(recordings, voice, song, settings, names)
            return
        wanted = _wanted(voice, _preset(preset), values, effects, written, names, device)
        wanted = replace(wanted, project=project, is_kept=not no_project, threads=threads, jobs=jobs)
        collect_from_here()
        if song.is_used:
            from studio.commands.songs import convert_song

            print_song(convert_song(recordings[0], song, wanted), as_json)
        else:
            _convert_each(recordings, wanted, TakesPrinter(scores, as_json, preset, several=len(recordings) > 1))
        keep_what_was_loaded()


def _check_streamed(recordings: Sequence[Path], options: Mapping[str, bool]) -> None:
    refuse_beside_sound(options)
    if len(recordings) > 1:
        raise SettingsError(tr("-o - writes the result of one recording: give one, or name a folder."))


def _check_project(project: str | None, no_project: bool, recordings: Sequence[Path]) -> None:
    if project is not None and len(recordings) > 1:
        raise SettingsError(
            tr("--project names the project of a single recording: give one recording, or leave --project out.")
        )
    if project is not None and no_project:
        raise SettingsError(tr("Choose one of --project and --no-project."))


def _print_names(
    recordings: Sequence[Path],
    voice: str,
    song: SongOptions,
    values: Mapping[str, int | float | str],
    names: ResultNames,
) -> None:
    """Print the paths of the results that there would be. Raises SettingsError for those of a song."""
    if song.is_used:
        raise SettingsError(tr("--dry-run names the takes of recordings: leave it out for a song."))
    for recording in recordings:
        files = names.takes(recording, voice, int(values.get("takes", 1)))
        for path in () if names.skips(files) else names.free(files, recordings, is_tried=True):
            typer.echo(path)


def _convert_each(recordings: Sequence[Path], wanted: "TakesWanted", printer: TakesPrinter) -> None:
    """Convert recordings into their takes; exit status 1 if one of several failed."""
    from studio.commands.takes import convert_takes

    try:
        convert_takes(recordings, wanted, printer.converted, printer.failed)
    finally:
        printer.end()
    if printer.failures:
        raise typer.Exit(1)


def _read(given: Mapping[str, str | None]) -> "tuple[dict[str, Any], ResultFormat]":
    """Return the settings that were given, and the form of the results. Raises SettingsError for a wrong one."""
    from engine.audio.result_format import ResultFormat
    from engine.conversion.settings import ConversionSettings

    of_form = {one.name for one in fields(ResultFormat)}
    form = read_settings(ResultFormat(), {name: text for name, text in given.items() if name in of_form})
    asked = {name: text for name, text in given.items() if text is not None and name not in of_form}
    settings = read_settings(ConversionSettings(), asked)
    return {name: getattr(settings, name) for name in asked}, form


def _load_engine(device: str) -> None:
    """Load the engine; on the processor its networks, beside the modules of the studio. Raises SettingsError."""
    import_module("engine.conversion.convert")  # what the installation lacks is said here
    from engine.devices import working_device
    from engine.voices.voice import prepare_base

    if working_device(device).kind == "cpu":
        Thread(target=_prepared, args=(prepare_base,), name="networks").start()
    else:
        load_for_graphics()


def _prepared(prepare: Callable[[], None]) -> None:
    with suppress(EngineError):  # which whoever needs them meets too
        prepare()


def _wanted(
    voice: str,
    preset: "Preset",
    values: Mapping[str, int | float | str],
    effects: str | None,
    written: "ResultFormat",
    names: ResultNames,
    device: str,
) -> "TakesWanted":
    from studio.actions.conversions.conversion import ConversionRequest
    from studio.commands.takes import TakesWanted

    settings, chosen = {**preset.settings, **values}, preset.effects if effects is None else effects
    request = ConversionRequest(voice, settings, preset.style, untrained=True, effects=chosen)
    return TakesWanted(request, written, names, device)


def _preset(name: str) -> "Preset":
    """Return a preset of the program, or one that was saved. Raises NotFound."""
    from studio.actions.account import Preset, find_preset
    from studio.commands.in_process import local_studio

    if _is_own(name):
        return Preset(name, {})
    with local_studio() as studio:
        return find_preset(studio, studio.local, name)


def _is_own(preset: str) -> bool:
    """Return whether a preset is one of the program's, which every installation has."""
    from engine.conversion.settings import AUTO, ConversionSettings

    return preset == AUTO or preset in ConversionSettings.presets
