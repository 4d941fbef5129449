"""`convert` and `demo`: convert a recording to another voice."""

from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import EngineError
from engine.files import beside, fitting_name
from studio.commands.failures import in_one_sentence
from studio.commands.progress import progress_bar
from studio.commands.songs import SongOptions, convert_song, say_what_is_wrong
from studio.commands.wording import padded, say, translated
from studio.settings.options import DeviceOption, read_settings

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.analysis.style import Style
    from engine.conversion.settings import ConversionSettings
    from engine.voices.imported import AnyVoice
    from studio.actions.presets import Preset

DEFAULT_VOICE = "kathleen"
_SONGS = "Songs and several voices"
SAMPLE = "singing.flac"  # in the engine's folder of samples

Recording = Annotated[Path, typer.Argument(metavar="IN", help="A recording: wav, flac, mp3, ogg, opus, aiff, m4a.")]
VoiceId = Annotated[str, typer.Option("--voice", metavar="ID", help="The voice to convert with; `voices` lists them.")]


@in_one_sentence
def convert(
    source: Recording,
    voice: VoiceId = DEFAULT_VOICE,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="OUT",
            help="A file (.wav, .flac, .mp3, .m4a, .ogg, .aiff), replaced if it exists, or a folder. "
            "Default: named after the recording and the voice, in this folder.",
        ),
    ] = None,
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
    scores: Annotated[bool, typer.Option("--scores", help="Score each result against the recording.")] = False,
    device: DeviceOption = "auto",
    separate: Annotated[bool, typer.Option("--separate", help="IN is a whole song.", rich_help_panel=_SONGS)] = False,
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
    """Convert a recording to another voice; prints the path of each result."""
    from engine.conversion.convert import convert_file, refuse_overwriting
    from engine.conversion.settings import AUTO, by_style
    from engine.effects.chain import apply_effects_to_file
    from engine.effects.settings import effects_of
    from engine.voices.imported import load_any_voice
    from studio.actions.conversions import usable_voice_folder
    from studio.commands.in_process import local_studio

    saved = _preset(preset)
    chosen_by = by_style(saved.style, saved.settings)
    settings, chain = read_settings(chosen_by("melodic"), given), effects_of(effects or saved.effects)
    song = SongOptions(separate, backing, offset, part or (), stem or (), vocal_db)
    song.check(settings.takes, not chain.is_off)
    targets = _targets(source, output, voice, settings.takes)
    refuse_overwriting(source, targets)

    def chosen(style: "Style") -> "ConversionSettings":
        return read_settings(chosen_by(style), given)

    def voice_named(name: str) -> "AnyVoice":
        with local_studio() as studio, progress_bar() as report:  # of making an untrained voice
            found = load_any_voice(usable_voice_folder(studio, studio.local, name, report, device))
        if found.card.is_untrained:
            say(f"{found.card.name} is untrained: python -m studio train {name} makes it more like the recordings.")
        return found

    if song.is_song or song.parts:
        convert_song(source, targets[0], song, voice, voice_named, chosen, device)
        return
    loaded = voice_named(voice)
    with progress_bar() as report, TemporaryDirectory() as folder:
        # through wav, so that no format loses twice
        dry = targets if chain.is_off else [Path(folder) / f"{number}.wav" for number in range(len(targets))]
        conversion = convert_file(source, dry, loaded, chosen, report, device, surveyed=say_what_is_wrong)
        for path, target in zip(dry, targets, strict=True):
            if path != target:
                apply_effects_to_file(path, target, chain, report, conversion.statement)
    used = conversion.style if preset == AUTO else preset
    say(f"{loaded.card.name}, {used}, transposed by {conversion.transpose:+g} semitones.")
    if conversion.notes_warning:
        say(conversion.notes_warning)
    if conversion.unsigned:
        say(f"Without content credentials. {conversion.unsigned}")
    for path in targets:
        typer.echo(path)
        if scores:
            _print_scores(source, path, conversion.transpose)


@in_one_sentence
def demo(voice: VoiceId = DEFAULT_VOICE) -> None:
    """Convert the bundled recording with a demo voice and score the result."""
    sample = bundled_sample()
    say(f"Converting {sample.name}, a recording that comes with the project ...")
    convert(sample, voice, Path.cwd(), scores=True, transpose="auto")
    say(
        "Now convert one of your own: python -m studio convert RECORDING --transpose auto",
    )


def bundled_sample() -> Path:
    """Return the recording that `demo` converts. Raises EngineError if the installation lacks it."""
    import engine

    sample = Path(engine.__path__[0]) / "samples" / SAMPLE
    if not sample.is_file():
        raise EngineError(f'The bundled recording "{SAMPLE}" is missing: install the project again.')
    return sample


def _preset(name: str) -> "Preset":
    """Return a preset of the program, or one that was saved. Raises NotFound."""
    from engine.conversion.settings import AUTO, ConversionSettings
    from studio.actions.presets import Preset, find_preset
    from studio.commands.in_process import local_studio

    if name == AUTO or name in ConversionSettings.presets:
        return Preset(name, {})
    with local_studio() as studio:
        return find_preset(studio, studio.local, name)


def _targets(source: Path, output: Path | None, voice: str, takes: int) -> list[Path]:
    """Return the path of each take: vocal.kathleen.wav, vocal.kathleen.take2.wav, ... Raises SettingsError."""
    first = output or Path()
    if first.is_dir():
        first = first / fitting_name(source.stem, f".{voice}.wav")
    rest = [beside(first, f".take{number}{first.suffix}") for number in range(2, takes + 1)]
    return [first, *rest]


def _print_scores(source: Path, result: Path, transpose: float) -> None:
    from engine.evaluation.scores import score_performance

    for name, value in asdict(score_performance(source, result, transpose)).items():
        shown = "does not apply" if value is None else f"{value:.3f}"
        typer.echo(f"  {padded(name.replace('_', ' '), 16)}{translated(shown)}", err=True)
