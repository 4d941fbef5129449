"""`convert` and `demo`: convert recordings to another voice."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from engine.errors import EngineError, SettingsError
from studio.commands.failures import in_one_sentence
from studio.commands.recordings import find_recordings
from studio.commands.result_names import ResultNames
from studio.commands.scores_text import print_scores, score_units
from studio.commands.song_options import SongOptions
from studio.commands.wording import complain, say
from studio.settings.options import DeviceOption, read_settings

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.audio.result_format import ResultFormat
    from studio.actions.account import Preset
    from studio.commands.takes import Converted, Outcome, TakesWanted

DEFAULT_VOICE = "kathleen"
_SONGS = "Songs and several voices"
RESULTS = "Where the results go"
SAMPLE = "singing.flac"  # in the engine's folder of samples

Recording = Annotated[Path, typer.Argument(metavar="IN", help="A recording: wav, flac, mp3, ogg, opus, aiff, m4a.")]
Recordings = Annotated[
    list[Path],
    typer.Argument(metavar="FILE", help="Recordings, or folders of them: wav, flac, mp3, ogg, opus, aiff, m4a."),
]
VoiceId = Annotated[str, typer.Option("--voice", metavar="ID", help="The voice to convert with; `voices` lists them.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace files that exist; else a result gets a number.")
]


@in_one_sentence
def convert(
    sources: Recordings,
    voice: VoiceId = DEFAULT_VOICE,
    output: Annotated[
        str | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE|FOLDER|TEMPLATE",
            rich_help_panel=RESULTS,
            help="A file (.wav, .flac, .mp3, .m4a, .ogg, .aiff), a folder, which is made, or a template as "
            "out/{name}.{voice}.{take}.flac. Default: named after the recording and the voice, in this folder.",
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", rich_help_panel=RESULTS, help="Replace files that exist; else a result gets a number."
        ),
    ] = False,
    skip_existing: Annotated[
        bool,
        typer.Option(
            "--skip-existing", rich_help_panel=RESULTS, help="Leave recordings out whose results are there."
        ),
    ] = False,
    project: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", rich_help_panel=RESULTS, help="The name of its project. Default: as the recording's."
        ),
    ] = None,
    no_project: Annotated[
        bool, typer.Option("--no-project", rich_help_panel=RESULTS, help="Keep nothing of it in the studio.")
    ] = False,
    preset: Annotated[
        str,
        typer.Option(
            metavar="auto|melodic|rhythmic|spoken|NAME",
            help="Settings for singing, rap or speech, or saved on the page; auto detects the style.",
        ),
    ] = "auto",
    effects: Annotated[
        str | None,
        typer.Option(
            metavar="PRESET",
            help="EQ, dynamics and reverb on the takes: clean, vocal, speech, hall or off. "
            "(Default: off, or the preset's.)",
        ),
    ] = None,
    scores: Annotated[bool, typer.Option("--scores", help="Show how much of the performance each take kept.")] = False,
    as_json: AsJson = False,
    device: DeviceOption = "auto",
    separate: Annotated[bool, typer.Option("--separate", help="FILE is a whole song.", rich_help_panel=_SONGS)] = False,
    backing: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|keep", rich_help_panel=_SONGS, help="Mix with this instrumental, or what is left of the song."
        ),
    ] = None,
    offset: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", rich_help_panel=_SONGS, help="How much later than the backing the vocal begins."
        ),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar='"1:42 ID"',
            rich_help_panel=_SONGS,
            help="From there another voice, or keep. Repeat it.",
        ),
    ] = None,
    stem: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE=ID", rich_help_panel=_SONGS, help="A further singer's stem and voice, or =keep."),
    ] = None,
    vocal_db: Annotated[
        float, typer.Option(metavar="-60..12", rich_help_panel=_SONGS, help="The vocal's fader in the mix.")
    ] = 0.0,
    **given: str | None,
) -> None:
    """Convert recordings to another voice; prints the path of each result."""
    recordings, names = find_recordings(sources), ResultNames(output, overwrite, skip_existing)
    song = SongOptions(separate, backing, offset, part or (), stem or (), vocal_db)
    values, form = _read(given)
    if song.is_used:
        song.check(recordings, int(values.get("takes", 1)), effects, project)
    if project is not None and len(recordings) > 1:
        raise SettingsError("--project names the project of one recording: give one, or leave it out.")
    if project is not None and no_project:
        raise SettingsError("Choose one of --project and --no-project.")
    names.check(recordings)
    wanted = replace(
        _wanted(voice, _preset(preset), values, effects, form, names, device), project=project, is_kept=not no_project
    )
    shown = _Shown(scores, as_json, preset, several=len(recordings) > 1)
    if song.is_used:
        from studio.commands.songs import convert_song

        shown.song(convert_song(recordings[0], song, wanted))
    else:
        from studio.commands.takes import convert_takes

        try:
            convert_takes(recordings, wanted, shown.outcome)
        finally:
            shown.end()
    if shown.failures:
        raise typer.Exit(1)


@in_one_sentence
def demo(voice: VoiceId = DEFAULT_VOICE, as_json: AsJson = False) -> None:
    """Convert the bundled recording with a demo voice and score the result."""
    sample = bundled_sample()
    say(f"Converting {sample.name}, a recording that comes with the project ...")
    convert([sample], voice, str(Path.cwd()), scores=True, as_json=as_json)
    say("Now convert one of your own: python -m studio convert RECORDING")


def bundled_sample() -> Path:
    """Return the recording that `demo` converts. Raises EngineError if the installation lacks it."""
    import engine

    sample = Path(engine.__path__[0]) / "samples" / SAMPLE
    if not sample.is_file():
        raise EngineError(f'The bundled recording "{SAMPLE}" is missing: install the project again.')
    return sample


def _read(given: Mapping[str, str | None]) -> "tuple[dict[str, Any], ResultFormat]":
    """Return the settings that were given, and the form of the results. Raises SettingsError for a wrong one."""
    from engine.audio.result_format import ResultFormat
    from engine.conversion.settings import ConversionSettings

    of_form = {one.name for one in fields(ResultFormat)}
    form = read_settings(ResultFormat(), {name: text for name, text in given.items() if name in of_form})
    asked = {name: text for name, text in given.items() if text is not None and name not in of_form}
    settings = read_settings(ConversionSettings(), asked)
    return {name: getattr(settings, name) for name in asked}, form


def _wanted(
    voice: str,
    preset: "Preset",
    values: Mapping[str, Any],
    effects: str | None,
    form: "ResultFormat",
    names: ResultNames,
    device: str,
) -> "TakesWanted":
    from engine.devices import working_device
    from studio.actions.conversions import ConversionRequest
    from studio.commands.takes import TakesWanted

    import_module("engine.conversion.convert")  # what the installation lacks is said here
    working_device(device)
    settings = {**preset.settings, **values}
    request = ConversionRequest(
        voice, settings, preset.style, untrained=True, effects=preset.effects if effects is None else effects
    )
    return TakesWanted(request, form, names, device)


def _preset(name: str) -> "Preset":
    """Return a preset of the program, or one that was saved. Raises NotFound."""
    from engine.conversion.settings import AUTO, ConversionSettings
    from studio.actions.account import Preset, find_preset
    from studio.commands.in_process import local_studio

    if name == AUTO or name in ConversionSettings.presets:
        return Preset(name, {})
    with local_studio() as studio:
        return find_preset(studio, studio.local, name)


@dataclass
class _Shown:
    """What is printed of results: paths as they come, or all as JSON at the end."""

    scores: bool
    as_json: bool
    preset: str
    several: bool = False
    records: list[dict[str, Any]] = field(default_factory=list)
    failures: int = 0

    def outcome(self, outcome: "Outcome") -> None:
        """Show a recording's takes, or why it has none."""
        from studio.commands.takes import Failed

        if isinstance(outcome, Failed):
            self.failures += 1
            self.records.append({"recording": str(outcome.recording), "error": outcome.reason})
            complain(outcome.reason, about=str(outcome.recording))
            return
        self._say(outcome)
        self.records.append(outcome.as_json())
        for number, (path, scores) in enumerate(zip(outcome.takes, outcome.scores, strict=True), 1):
            if not self.as_json:
                typer.echo(path)
            if self.scores:
                print_scores(number, scores)

    def song(self, files: Mapping[str, Any]) -> None:
        """Show the files of a song."""
        if self.as_json:
            typer.echo(json.dumps({"conversions": [files]}, indent=2, ensure_ascii=False))
            return
        for path in files["files"].values():
            typer.echo(path)

    def end(self) -> None:
        """Print the JSON of all that was converted."""
        if self.as_json:
            found = {"conversions": self.records, "score_units": score_units()}
            typer.echo(json.dumps(found, indent=2, ensure_ascii=False))

    def _say(self, done: "Converted") -> None:
        facts, about = done.facts, str(done.recording) if self.several else ""
        name = facts["model"]
        if facts["untrained"] and not any("error" not in one for one in self.records):
            say(f"{done.name} is untrained: python -m studio train {name} makes it more like the recordings.")
        used = self.preset if self.preset != "auto" else facts["style"]
        say(f"{done.name}, {used}, transposed by {facts['transpose']:+g} semitones.", about)
        for sentence in done.warnings:
            say(sentence, about)
