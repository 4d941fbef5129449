"""Songs: what is sent beside a recording, and a finished song mixed again with other faders."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import astuple, dataclass, field, replace
from hashlib import sha256
from pathlib import Path, PurePath

from engine.effects.settings import Effects
from engine.errors import SettingsError
from engine.files import fitting_name, on_track
from engine.provenance.statement import canonical_json
from engine.songs.mixing import Fader, Lane, mix_files
from engine.songs.parts import KEEP, Part, checked_parts
from engine.texts import tr
from engine.units import SAMPLE_RATE
from studio.actions.account import FORMATS, voice_name
from studio.actions.conversions.downloads import wet_take
from studio.actions.conversions.views import key_of_take
from studio.actions.fetched_models import refuse_without_separator
from studio.actions.recordings import Length, check_recording, refuse_without_consent, suffix_of
from studio.actions.uploads import scratch_folder, stored_copy
from studio.errors import Invalid, NotFound
from studio.store.accounts import Account
from studio.store.catalogue import find_usable
from studio.store.kinds import CONVERSION
from studio.store.records.conversion import Conversion, Rendered, Song, more_lanes
from studio.store.studio import Cost, Studio, costs
from studio.store.tasks import Task, find

_RECORDING_GONE = tr("A recording of this song has been deleted: send it again.")
VOCAL, BACKING = "vocal", "backing"
LANES = (VOCAL, BACKING, "stem")  # of a mix
RECORDING = "recording"  # that a take was made of, beside it
HARMONY = "harmony-"  # before the id of its task: the lane of a harmony
TAKE = "take-"  # before the id of its task and its number: the lane of a take beside another one
LANE = "lane-"  # before the id of a song and the name of its lane: in place of the lanes of the take's own song
_ONE_TAKE = tr("A song, or a recording in several voices, is made in one take.")
_NO_EFFECTS = tr("Effects are for a vocal alone: convert the vocal with them, then mix it.")
_LANES_GONE = tr("The lanes of this song have been deleted: convert it again.")


@dataclass(frozen=True)
class SentFile:
    """A file beside the recording, and its owner's name for it."""

    path: Path
    name: str


@dataclass(frozen=True)
class TakeInMix:
    """A take, 1 for the first, as it is heard. effects: None for its own. shift_s: how much later than in the mix of
    its song all but the backing begins."""

    number: int = 1
    effects: Effects | None = None
    shift_s: float = 0.0


@dataclass(frozen=True)
class SongRequest:
    """What to make of a recording beside converting it.

    parts: its voices, beginning with the request's own. separate: whether it is a whole song. backing: the
    instrumental, None for what is left of the song. stem, stem_parts: a second singer. offset_s: how much later than
    the backing the recording begins, None to find it. faders: in dB, by lane. more_stems: further singers, with their
    parts.
    """

    parts: Sequence[Part]
    separate: bool = False
    backing: SentFile | None = None
    stem: SentFile | None = None
    stem_parts: Sequence[Part] = (Part(0.0, KEEP),)
    offset_s: float | None = None
    faders: Mapping[str, float] = field(default_factory=dict)
    more_stems: Sequence[tuple[SentFile, Sequence[Part]]] = ()

    @property
    def is_mixed(self) -> bool:
        """Whether there is a backing to mix with."""
        return self.separate or self.backing is not None

    @property
    def files(self) -> dict[str, SentFile]:
        """The files beside the recording, by lane."""
        more = {name: sent for name, (sent, _) in zip(more_lanes(), self.more_stems, strict=False)}
        sent = {"backing": self.backing, "stem": self.stem, **more}
        return {name: one for name, one in sent.items() if one is not None}

    def with_files(self, changed: Callable[[str, SentFile], SentFile]) -> "SongRequest":
        """Return the same song with what `changed` makes of each file and the name of its lane."""
        files = {name: changed(name, sent) for name, sent in self.files.items()}
        more = [(files[name], parts) for name, (_, parts) in zip(more_lanes(), self.more_stems, strict=False)]
        return replace(self, backing=files.get("backing"), stem=files.get("stem"), more_stems=more)

    @property
    def sung(self) -> list[Sequence[Part]]:
        """The parts of the recording, and of each stem."""
        return [self.parts, *([self.stem_parts] if self.stem else ()), *(parts for _, parts in self.more_stems)]

    def from_second(self, start_s: float) -> "SongRequest":
        """Return what it is of a recording whose beginning is cut off."""
        sung = [part for part in self.parts if part.start_s <= start_s][-1:]
        later = [replace(part, start_s=part.start_s - start_s) for part in self.parts if part.start_s > start_s]
        parts = checked_parts([*(replace(part, start_s=0.0) for part in sung), *later])
        return replace(self, parts=parts, offset_s=None if self.offset_s is None else self.offset_s + start_s)

    def record(self, place: str) -> Song:
        """Return the song as its task has it; place: of the task's files in the storage."""
        return Song(
            parts=tuple(self.parts),
            stem_parts=tuple(self.stem_parts),
            separate=self.separate,
            offset_s=self.offset_s,
            faders=self.faders,
            keys={name: f"{place}/{name}{suffix_of(one.name, one.path)}" for name, one in self.files.items()},
            names={name: one.name for name, one in self.files.items()},
            more_stem_parts=tuple(tuple(parts) for _, parts in self.more_stems) or None,
        )


def check_song(
    studio: Studio, account: Account, song: SongRequest, takes: int, has_effects: bool, untrained: bool
) -> float:
    """Check what a song needs beside its recording; return what its files cost, in seconds x channels.

    Raises Invalid, SettingsError, NotReadable, NotFound and WrongState with a sentence.
    """
    if takes > 1:
        raise Invalid([("generations_count", _ONE_TAKE)])
    if has_effects:
        raise Invalid([("effects", _NO_EFFECTS)])
    if not song.is_mixed and (song.stem or song.offset_s is not None or song.faders):
        name = "stem" if song.stem else "offset" if song.offset_s is not None else "vocal_db"
        raise Invalid([(name, tr("{name} needs a backing: send one, or separate=true.", name=name))])
    parts = [part for sung in song.sung for part in checked_parts(sung)]
    voices = {part.voice for part in parts} - {KEEP}
    if not voices:
        raise Invalid([("model", tr("Nothing is converted: give the vocal, or one of the stems, a voice."))])
    for voice in sorted(voices):
        refuse_without_consent(studio, find_usable(studio.database, account, voice, untrained).card.consent)
    for level in song.faders.values():
        Fader(level)
    if song.separate:
        refuse_without_separator(studio.settings)
    lengths: list[Length] = [check_recording(one.path, one.name, studio.service) for one in song.files.values()]
    return sum(length.channel_seconds for length in lengths)


@contextmanager
def song_again(studio: Studio, task: Task, model: str | None = None) -> Iterator[SongRequest | None]:
    """Yield the song that a task was, with copies of its files; None if it was none. model: instead of its first voice.

    Raises NotFound if a file has been deleted.
    """
    asked = task.asked_as(Conversion).song
    if asked is None:
        yield None
        return
    with ExitStack() as stack:
        sent = {
            name: SentFile(stack.enter_context(stored_copy(studio, key, _RECORDING_GONE)), asked.names[name])
            for name, key in asked.keys.items()
        }
        parts = [
            replace(part, voice=model or part.voice) if part.voice == task.model_id else part for part in asked.parts
        ]
        more = [(sent[name], one) for name, one in zip(more_lanes(), asked.more_stem_parts or (), strict=False)]
        yield SongRequest(
            parts,
            asked.separate,
            sent.get("backing"),
            sent.get("stem"),
            asked.stem_parts,
            asked.offset_s,
            asked.faders,
            more,
        )


@costs(Cost.APART)
def mix_again(
    studio: Studio,
    account: Account,
    task_id: str,
    faders: object,
    kind: str,
    base_url: str,
    now_s: float,
    heard: TakeInMix = TakeInMix(),
) -> dict[str, str]:
    """Mix the lanes of a finished song, or a take, with what sounds beside it; return the `url` and `name` of the mix,
    which is kept beside the task's own files.

    faders: {gain_db, mute, solo, pan} by lane; those named `HARMONY` and a task's id, `TAKE`, a task's id and a number,
    `LANE`, a song's id and its lane, and `RECORDING` add it. kind: a format. heard: what is mixed where it is no song,
    and when it begins. Raises NotFound, Invalid for a format that is not offered, SettingsError for faders that cannot
    be, or if no lane sounds.
    """
    from engine.provenance.verification import statement_of  # which loads what the server does without

    task = find(studio.database, account.id, task_id, kind=CONVERSION)
    rendered = task.result_as(Rendered)
    levels = faders if isinstance(faders, Mapping) else {}
    beside = {name: _beside(studio, account, task, name) for name in levels if _is_beside(name)}
    lanes = dict(rendered.lanes or {})
    if levels and not lanes:
        lanes = {VOCAL: wet_take(studio, task, heard.number, heard.effects)}
    if lanes and any(name.startswith(LANE) for name in beside):
        lanes = {VOCAL: lanes[VOCAL]}
    if not lanes or task.outputs_deleted_at is not None:
        raise NotFound(_LANES_GONE, "lanes_gone")
    if kind not in FORMATS:
        raise Invalid([("format", tr("The formats are {formats}, not {kind}.", formats=", ".join(FORMATS), kind=kind))])
    stored = lanes | {name: one.key for name, one in beside.items()}
    given = {name: fader_of(levels.get(name)) for name in stored}
    marks = {name: [stored[name], *astuple(one), heard.shift_s] for name, one in given.items()}
    key = f"{PurePath(lanes[VOCAL]).parent}/mix-{sha256(canonical_json(marks)).hexdigest()[:16]}.{kind}"
    if studio.storage.head(key) is None:
        with scratch_folder(studio) as scratch:
            files = []
            for number, (name, where) in enumerate(stored.items()):
                folder = scratch / str(number)
                folder.mkdir()
                path = studio.storage.fetch(where, folder)
                statement = statement_of(path, studio.installation)
                begins_s = 0.0 if name.endswith(BACKING) else heard.shift_s
                if name in beside:
                    path = on_track(path, beside[name].track)
                    begins_s += rendered.vocal_begins_s - beside[name].first_s
                files.append(Lane(path, given[name], round(begins_s * SAMPLE_RATE), statement=statement))
            mix_files(files, scratch / f"mix.{kind}", installation=studio.installation)
            studio.storage.put_file(scratch / f"mix.{kind}", key)
    voice = voice_name(studio.database, account, task)
    name = fitting_name(PurePath(task.asked_as(Conversion).file_name).stem, f" - {voice} mix.{kind}")
    return {"url": studio.link(key, base_url, now_s), "name": name}


@dataclass(frozen=True)
class _Beside:
    """What sounds beside a take: its storage key. first_s: how much earlier than the recording it begins; track: of a
    file that has several."""

    key: str
    first_s: float = 0.0
    track: int | None = None


def _is_beside(name: str) -> bool:
    return name == RECORDING or name.startswith((HARMONY, TAKE, LANE))


def _beside(studio: Studio, account: Account, task: Task, name: str) -> _Beside:
    """Return what a lane beside those of a task is. Raises NotFound for one that is gone."""
    if name == RECORDING:
        asked = task.asked_as(Conversion)
        return _Beside(asked.input_key, track=asked.track)
    if name.startswith(HARMONY):
        return _Beside(key_of_take(find(studio.database, account.id, name.removeprefix(HARMONY), kind=CONVERSION), 1))
    task_id, _, which = name.removeprefix(LANE).removeprefix(TAKE).rpartition(" ")
    other = find(studio.database, account.id, task_id, kind=CONVERSION)
    sung = other.result_as(Rendered)
    if sung.lanes or name.startswith(LANE):
        key = (sung.lanes or {}).get(which if name.startswith(LANE) else VOCAL)
        if key is None:
            raise NotFound(_LANES_GONE, "lanes_gone")
        return _Beside(key, sung.vocal_begins_s)
    return _Beside(key_of_take(other, int(which) if which.isdecimal() else 0))


def fader_of(given: object) -> Fader:
    """Return a fader as the page keeps it: {gain_db, mute, solo, pan}. Raises SettingsError."""
    if given is None:
        return Fader()
    if not isinstance(given, Mapping):
        raise SettingsError(tr("A fader is gain_db, mute and solo."))
    return Fader(given.get("gain_db", 0.0), given.get("mute") is True, given.get("solo") is True, given.get("pan", 0.0))
