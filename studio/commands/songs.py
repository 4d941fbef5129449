"""`convert` of a song, and `mix`: a vocal with its backing."""

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from engine.errors import SettingsError
from engine.files import beside
from studio.commands.failures import in_one_sentence
from studio.commands.progress import progress_bar
from studio.commands.wording import say

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.conversion.convert import Chosen
    from engine.features.survey import Survey
    from engine.songs.part_conversion import PartsConversion, VoiceNamed
    from engine.songs.parts import Part
    from engine.songs.song import Song

KEEP_BACKING = "keep"


@dataclass(frozen=True)
class SongOptions:
    """What `convert` says of a song beside its voice."""

    separate: bool = False
    backing: str | None = None  # a file, or KEEP_BACKING
    offset: float | None = None
    parts: Sequence[str] = ()  # "1:42 koguchi"
    stems: Sequence[str] = ()  # "FILE=VOICE"
    vocal_db: float = 0.0

    @property
    def is_song(self) -> bool:
        """Whether there is something to mix."""
        return self.separate or self.backing is not None

    def check(self, takes: int, has_effects: bool) -> None:
        """Raise SettingsError for options that need others."""
        if not self.is_song and (self.offset is not None or self.stems or self.vocal_db):
            raise SettingsError("--offset, --stem and --vocal-db need --backing FILE or --separate.")
        if self.backing == KEEP_BACKING and not self.separate:
            raise SettingsError("--backing keep needs --separate: the backing is what is left of the song.")
        if (self.is_song or self.parts) and takes > 1:
            raise SettingsError("A song, or a recording in several voices, is made in one take: leave --takes out.")
        if (self.is_song or self.parts) and has_effects:
            raise SettingsError("Effects are for a vocal alone: convert the vocal with them, then use `mix`.")

    def parts_with(self, voice: str) -> tuple["Part", ...]:
        """Return the parts of the lead, which begins in this voice."""
        from engine.songs.parts import read_parts

        return read_parts(", ".join([voice, *self.parts]))


def convert_song(
    source: Path, target: Path, options: SongOptions, voice: str, voice_named: "VoiceNamed", settings: "Chosen",
    device: str,
) -> None:  # fmt: skip
    """Convert a song, or a vocal with its backing, or a recording in several voices; print the paths of the results.

    An interrupted song is resumed by the same command.
    """
    from engine.songs.part_conversion import Work, convert_parts
    from engine.songs.parts import KEEP
    from engine.songs.separation import OnnxSeparator
    from engine.songs.separator_file import checked_separator
    from engine.songs.song import FolderStages, SongFiles, make_song
    from engine.songs.two_pitches import find_two_pitches
    from studio.settings.environment import installation_of, load_service_settings, load_settings

    home = load_settings()
    work = Work(device, installation_of(home, load_service_settings()), say)
    song = _song(source, options, voice)
    wanted = {part.voice for stem in (song.lead, *song.stems) for part in stem.parts} - {KEEP}
    voices = {name: voice_named(name) for name in wanted}  # each has a bar of its own, if it must be made first
    if not options.is_song:
        with progress_bar() as report:
            parts = convert_parts(
                source, target, song.lead.parts, voices.__getitem__, settings, report, work, say_what_is_wrong
            )
        notes = [find_two_pitches(source).sentence, parts.notes_warning]
        _tell([parts], [note for note in notes if note], parts.unsigned)
        typer.echo(target)
        return
    lanes = ["vocal", "backing", *(f"stem{number}" for number in range(2, 2 + len(song.stems)))]
    vocal, backing, *stems = (beside(target, f".{name}{target.suffix}") for name in lanes)
    files = SongFiles(target, vocal, backing, stems)
    stages = home.work / f"song-{sha256(str(source.absolute()).encode()).hexdigest()[:16]}"

    def separator() -> OnnxSeparator:
        return OnnxSeparator(checked_separator(home.separators))

    with progress_bar() as report:
        done = make_song(
            song, files, voices.__getitem__, FolderStages(stages), separator, settings, report, work
        )
    shutil.rmtree(stages, ignore_errors=True)  # kept only while it is not finished
    _tell(filter(None, done.conversions), done.notes, done.mix.unsigned)
    if done.mix.gain_db:
        say(f"All lanes are {-done.mix.gain_db:.1f} dB lower, so that nothing clips.")
    for path in (files.mix, files.vocal, files.backing, *files.stems):
        typer.echo(path)


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
            raise SettingsError(f"--stem takes FILE=VOICE, or FILE=keep, not '{given}'.")
        stems.append(Stem(Path(path), read_parts(voices)))
    lead = Stem(source, options.parts_with(voice), Fader(options.vocal_db))
    return Song(lead, backing, options.separate, options.offset, stems)


def _tell(conversions: "Iterable[PartsConversion]", notes: Sequence[str], unsigned: str | None) -> None:
    for conversion in conversions:
        for voice, transpose in conversion.transposes.items():
            say(f"{voice}, {conversion.styles[voice]}, transposed by {transpose:+g} semitones.")
    for note in notes:
        say(note)
    if unsigned:
        say(f"Without content credentials. {unsigned}")


@in_one_sentence
def mix(
    vocal: Annotated[Path, typer.Argument(metavar="VOCAL", help="The vocal, converted or not.")],
    backing: Annotated[Path, typer.Argument(metavar="BACKING", help="The instrumental.")],
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="OUT", help="A file (.wav, .flac, .mp3, .m4a, .ogg, .aiff).")
    ],
    original: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="What the vocal was converted from: its loudness and place are kept."),
    ] = None,
    offset: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="How much later than the backing the vocal begins.")
    ] = None,
    vocal_db: Annotated[float, typer.Option(metavar="-60..12", help="The vocal's fader.")] = 0.0,
    backing_db: Annotated[float, typer.Option(metavar="-60..12", help="The backing's fader.")] = 0.0,
) -> None:
    """Mix a vocal with its backing, in place and at its level; prints the path of the mix."""
    from engine.conversion.convert import refuse_overwriting
    from engine.provenance.verification import statement_of
    from engine.songs.alignment import align
    from engine.songs.mixing import Fader, Lane, mix_files
    from studio.settings.environment import installation_of, load_service_settings, load_settings

    installation = installation_of(load_settings(), load_service_settings())
    for path in filter(None, (vocal, backing, original)):
        refuse_overwriting(path, [output])
    found = align(original or vocal, backing, offset)
    lanes = [
        Lane(vocal, Fader(vocal_db), found.samples, original, statement_of(vocal, installation)),
        Lane(backing, Fader(backing_db), statement=statement_of(backing, installation)),
    ]
    with progress_bar() as report:
        done = mix_files(lanes, output, report=report, installation=installation)
    say(f"The vocal begins {found.offset_s:+.3f} s from the backing ({found.reason}).")
    if done.gain_db:
        say(f"Both are {-done.gain_db:.1f} dB lower, so that nothing clips.")
    typer.echo(output)
