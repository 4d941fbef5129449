"""From a finished track to a finished track: separate, convert, mix.

    song --> separate --> vocal --> convert its parts --> mix --> mix, vocal, backing
                  `-----> backing ------------------------^
    or a vocal and its backing, aligned                   |
    further stems, each with voices of its own, or kept --'

The output of each stage is a file, found again by what it was made of, so that a song that was interrupted goes on from
the last stage that was finished.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Protocol, get_args

from engine.analysis.style import Style
from engine.audio.files import notes_of
from engine.audio.tracks import track_digest
from engine.conversion.settings import Chosen, chosen_by
from engine.errors import SettingsError
from engine.features.survey import Survey
from engine.files import TakesPaths, names_that_fit, shown_name, write_atomically
from engine.networks.base import load_base
from engine.progress import Report, no_report, within
from engine.provenance.statement import Statement, canonical_json, of_several
from engine.songs.alignment import Alignment, align
from engine.songs.mixing import Fader, Lane, Mix, channels_of, common_channels, mix_files
from engine.songs.part_conversion import PartsConversion, VoiceNamed, Work, convert_parts
from engine.songs.parts import KEEP, Part
from engine.songs.separation import STEREO, Separator, separate_file
from engine.songs.two_pitches import find_two_pitches
from engine.texts import joined, numeral, tr
from engine.voices.imported import networks_digest

# of the progress as of the time, on processors: Demucs states 1.5 times the length of a song for its separation
# (github.com/facebookresearch/demucs), and a conversion takes a fifth of it
_SEPARATED, _CONVERTED = 0.85, 0.95
_SAID = "said"  # in the record of a conversion: what is wrong with the recording
_NO_VOCAL = tr("No voice was found in the vocal separated from this song: check that the song is not an instrumental.")
_TRACE_DB = -30.0  # a trace of the vocal in the backing that is worth a sentence


class Stages(Protocol):
    """Keeps the outputs of finished stages."""

    def find(self, name: str) -> Path | None:
        """Return the file of a stage by its name, if it was finished."""
        ...

    def new(self, name: str) -> Path:
        """Return where to write the file of a stage."""
        ...

    def keep(self, name: str) -> Path:
        """Keep the file written there, and return its new location."""
        ...


@dataclass(frozen=True)
class FolderStages(TakesPaths, Stages):
    """Stages kept in a folder.

    - folder: made when it is needed
    """

    folder: Path

    def find(self, name: str) -> Path | None:
        path = self.new(name)
        return path if path.is_file() else None

    def new(self, name: str) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / name

    def keep(self, name: str) -> Path:
        return self.new(name)


@dataclass(frozen=True)
class Stem(TakesPaths):
    """A recording of one singer and the voices it gets.

    - path: the recording
    - parts: as `read_parts` returns them; the voice keep leaves a stem as it is
    - fader: in the mix
    """

    path: Path
    parts: Sequence[Part]
    fader: Fader = field(default_factory=Fader)

    @property
    def is_kept(self) -> bool:
        """Whether nothing of it is converted."""
        return all(part.voice == KEEP for part in self.parts)


@dataclass(frozen=True)
class Song(TakesPaths):
    """What to make a track of.

    - lead: the song if `separates` is set, otherwise its vocal
    - backing: the instrumental; None to use what is left of the song
    - separates: whether the lead is a whole song, from which the vocal must be separated
    - offset_s: how much later than the backing the lead begins, in seconds; None to find it
    - stems: of further singers
    - backing_fader: of the backing in the mix
    """

    lead: Stem
    backing: Path | None = None
    separates: bool = False
    offset_s: float | None = None
    stems: Sequence[Stem] = ()
    backing_fader: Fader = field(default_factory=Fader)


@dataclass(frozen=True)
class SongFiles(TakesPaths):
    """Where the results go.

    - mix: the finished track
    - vocal, backing: the lanes as they are in the mix
    - stems: the further ones
    """

    mix: Path
    vocal: Path
    backing: Path
    stems: Sequence[Path] = ()


@dataclass(frozen=True)
class FinishedSong:
    """What was made.

    - alignment: where the vocal lies in the backing
    - conversions: of the lead and the other stems; None for a stem that was kept
    - mix: what the mix did
    - notes: sentences for the user
    - warning: what is wrong with the recordings
    """

    alignment: Alignment
    conversions: list[PartsConversion | None]
    mix: Mix
    notes: list[str]
    warning: str | None = None

    @property
    def statement(self) -> Statement:
        """Return what the mix states of how it was made."""
        return of_several([one.statement for one in self.conversions if one])


def make_song(
    song: Song,
    files: SongFiles,
    voice_named: VoiceNamed,
    stages: Stages,
    separator: Callable[[], Separator],
    settings: Chosen | None = None,
    report: Report = no_report,
    work: Work | None = None,
) -> FinishedSong:
    """Make a track: separate, convert and mix, beginning with the first stage that is not finished.

    Parameters
    ----------
    song : Song
        The parts of the song.
    files : SongFiles
        Where the results go.
    voice_named : callable
        Returns the voice with an id, such as `load_voice`.
    stages : Stages
        Keeps finished stages, even if the work is cancelled.
    separator : callable
        Returns a Separator; called only if there is something to separate.
    settings : mapping, ConversionSettings or callable, optional
        As in `convert`.
    report : callable
        Receives the progress (0..1, message) and may raise Cancelled.
    work : Work, optional
        Where and for whom it is computed.

    Returns
    -------
    FinishedSong
        How it was made, and what the user should know.

    Raises
    ------
    SettingsError, AudioError, SeparationError
        With a sentence for the user; then none of the `files` is touched.

    Examples
    --------
    >>> from engine import OnnxSeparator, checked_separator, load_voice, read_parts
    >>> song = Song(Stem(Path("vocal.flac"), read_parts("kathleen")), backing=Path("recordings/two.flac"), offset_s=0.5)
    >>> files = SongFiles(Path("mix.wav"), Path("vocal.wav"), Path("backing.wav"))
    >>> separator = lambda: OnnxSeparator(checked_separator(Path("models")))
    >>> make_song(song, files, load_voice, FolderStages(Path("stages")), separator).alignment.reason
    'as given'
    """
    _refuse_impossible(song, files)
    work = work or Work()
    start, lead, backing = 0.0, song.lead.path, song.backing
    if song.separates:
        lead, apart, start = _separated(song.lead.path, stages, separator, report)
        backing = song.backing or apart
    assert backing is not None
    if not song.separates:
        alignment = align(lead, backing, song.offset_s)
    elif song.backing:
        alignment = align(song.lead.path, song.backing, song.offset_s, may_hold=True)
    else:
        alignment = Alignment(0.0, tr("separated from the same song"))
    stems = [Stem(lead, song.lead.parts, song.lead.fader), *song.stems]
    given = [song.lead.path, *filter(None, [song.backing]), *(stem.path for stem in song.stems)]
    notes = notes_of(given, is_timed=len(given) > 1) + _notes(alignment)
    conversions, lanes, wrong = [], [], list[str]()
    for number, stem in enumerate(stems):
        share = [start + (_CONVERTED - start) * (number + ahead) / len(stems) for ahead in (0, 1)]
        named = "" if len(stems) == 1 else f'"{shown_name(stem.path if number else song.lead.path)}": '
        # a stem that is kept may hold a whole choir
        if not stem.is_kept and (sentence := find_two_pitches(stem.path).sentence):
            notes.append(named + sentence)
        check = _RecordingCheck(song.separates and not number, named, work.warn)
        done, path = _converted(stem, stages, voice_named, settings, within(report, *share), work, check)
        wrong += [named + said for said in check.said]
        if done and done.notes_warning:
            notes.append(done.notes_warning)
        conversions.append(done)
        original = stem.path if done else None
        statement = done.statement if done else None
        lanes.append(Lane(path, stem.fader, alignment.samples, original, statement))
    lanes.insert(1, Lane(backing, song.backing_fader))
    exported = [files.vocal, files.backing, *files.stems]
    mixed = mix_files(
        lanes,
        files.mix,
        exported[: len(lanes)] if len(exported) >= len(lanes) else (),
        within(report, _CONVERTED, 1.0),
        work.installation,
    )
    return FinishedSong(alignment, conversions, mixed, notes, joined(" ", wrong) or None)


@dataclass(frozen=True)
class _RecordingCheck:
    """Says what is wrong with the recording of a stem, which is `named` so."""

    is_separated: bool
    named: str
    warn: Callable[[str], None]
    said: list[str] = field(default_factory=list)

    def examine(self, survey: Survey) -> None:
        """Warn of a recording that is no dry vocal. Raises AudioError for silence."""
        survey.refuse_silence()
        if survey.dryness and survey.dryness.warning:
            is_without = self.is_separated and survey.dryness.presence.warning
            self.warn_of(_NO_VOCAL if is_without else survey.dryness.warning)

    def warn_of(self, sentence: str) -> None:
        """Say a sentence."""
        self.said.append(sentence)
        self.warn(self.named + sentence)


def stage_name(name: str, *made_of: object) -> str:
    """Name a stage by what it is made of: paths count by their contents, the rest as it is written."""
    parts = [track_digest(one) if isinstance(one, Path) else repr(one) for one in made_of]
    return f"{name}-{sha256(canonical_json({'of': parts})).hexdigest()[:24]}"


def _refuse_impossible(song: Song, files: SongFiles) -> None:
    """Raise what would else come up after the long stages: SettingsError, AudioError."""
    if not song.separates and song.backing is None:
        raise SettingsError(tr("There is no backing: give one, or separate the song."))
    if song.lead.is_kept and all(stem.is_kept for stem in song.stems):
        raise SettingsError(tr("Nothing is converted: give the vocal, or one of the stems, a voice."))
    given = [*filter(None, [song.backing]), *(stem.path for stem in song.stems)]
    channels = [(shown_name(path), channels_of(path)) for path in given]
    lead = song.lead.path
    common_channels([(shown_name(lead), STEREO if song.separates else channels_of(lead)), *channels])
    for target in (files.mix, files.vocal, files.backing, *files.stems):
        for path in (lead, *given):
            with names_that_fit():
                if target.exists() and target.samefile(path):
                    raise SettingsError(
                        tr('The result would overwrite "{name}": choose another file name.', name=shown_name(path))
                    )


def _separated(
    song: Path, stages: Stages, separator: Callable[[], Separator], report: Report
) -> tuple[Path, Path, float]:
    """Return the vocal and the backing of a song, and the progress: none where an earlier run finished them."""
    names = [f"{stage_name(name, song)}.wav" for name in ("vocal", "backing")]
    found, kept = (stages.find(name) for name in names)
    if found is not None and kept is not None:
        return found, kept, 0.0
    vocal, backing = (stages.new(name) for name in names)
    separate_file(song, vocal, backing, separator(), within(report, 0.0, _SEPARATED))
    report(_SEPARATED, tr("separating"))
    vocal, backing = (stages.keep(name) for name in names)
    return vocal, backing, _SEPARATED


def _converted(
    stem: Stem, stages: Stages, voice_named: VoiceNamed, settings: Chosen | None, report: Report, work: Work,
    check: _RecordingCheck,
) -> tuple[PartsConversion | None, Path]:  # fmt: skip
    """Return how a stem was converted and the file, or None and the stem itself where it is kept."""
    if stem.is_kept:
        return None, stem.path
    voices = {part.voice: voice_named(part.voice) for part in stem.parts if part.voice != KEEP}
    networks = [networks_digest(load_base(), voice) for voice in voices.values()]
    name = stage_name("converted", stem.path, tuple(stem.parts), networks, _described(settings))
    path, record = stages.find(f"{name}.wav"), stages.find(f"{name}.json")
    if path is None or record is None:
        target = stages.new(f"{name}.wav")
        done = convert_parts(stem.path, target, stem.parts, voices.__getitem__, settings, report, work, check.examine)
        write_atomically(stages.new(f"{name}.json"), json.dumps(asdict(done) | {_SAID: check.said}))
        return done, [stages.keep(f"{name}{suffix}") for suffix in (".json", ".wav")][1]
    report(1.0, tr("converting"))
    said = json.loads(record.read_text(encoding="utf-8"))
    for sentence in said.pop(_SAID, ()):
        check.warn_of(sentence)
    return PartsConversion(**said | {"statement": Statement(**said["statement"])}), path


def _described(settings: Chosen | None) -> str:
    """Write settings as text, also where they depend on the style of the recording."""
    return repr([chosen_by(settings)(style) for style in get_args(Style)])


def _notes(alignment: Alignment) -> list[str]:
    notes = []
    if alignment.offset_s > 0:
        notes.append(
            tr(
                "The vocal begins {offset_s} s later than the backing ({reason}).",
                offset_s=numeral(alignment.offset_s, ".3f"),
                reason=alignment.reason,
            )
        )
    elif alignment.offset_s < 0:
        notes.append(
            tr(
                "The vocal begins {offset_s} s earlier than the backing ({reason}).",
                offset_s=numeral(-alignment.offset_s, ".3f"),
                reason=alignment.reason,
            )
        )
    if alignment.trace_db is not None and alignment.trace_db > _TRACE_DB:
        notes.append(
            tr(
                "The backing holds a trace of the vocal, {trace_db} dB below it.",
                trace_db=numeral(-alignment.trace_db, ".0f"),
            )
        )
    return notes
