"""Projects as zips: every take from the beginning of the song, with a track list."""

import hashlib
import json
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import Literal, TypeVar

import numpy as np

from engine.analysis.notes import Note, find_notes, notes_as_midi
from engine.analysis.phrases import Phrase, find_phrases
from engine.analysis.pitch import TRUSTED
from engine.analysis.timeline import Timeline, cue_sheet, marker_labels, pitch_table
from engine.audio.files import open_audio
from engine.audio.session_metadata import place_of
from engine.audio.stems import Placing, write_stem
from engine.conversion.harmony import NONE
from engine.files import on_track, replacing
from engine.progress import Report, no_report
from engine.provenance.statement import Statement
from engine.songs.alignment import check_offset
from engine.songs.daw_project import StemTrack, daw_project
from engine.songs.mixing import Fader
from engine.texts import tr
from studio.actions.account import named_file, unlike, voice_names
from studio.actions.conversions.songs import BACKING, RECORDING, VOCAL, fader_of
from studio.actions.conversions.views import TakeView, takes_of
from studio.actions.uploads import scratch_folder
from studio.errors import Invalid, NotFound
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import PACKAGES
from studio.store.projects import Project, find_project
from studio.store.records.codec import Absent, Record, plain
from studio.store.records.conversion import Conversion, Rendered, Scores, Settings
from studio.store.studio import Cost, Studio, costs
from studio.store.tasks import Task

Part = TypeVar("Part", Note, Phrase)
_SAME_S = 0.001  # recordings that end so much later hold nothing new
Suffix = Literal["zip", "dawproject"]  # of the same file, which has the parts of both
_PLACE = "_projects"  # beside the packages of voices


@dataclass(frozen=True)
class _Sound:
    """A recording, a take or a lane of a song to be written. start_s: in the whole recording."""

    label: str
    key: str
    start_s: float
    task: Task
    take: TakeView | None = None  # None: the recording
    lane: str | None = None  # of a song

    @property
    def is_beside(self) -> bool:
        """Whether it sounds beside the vocal of a song."""
        return self.lane not in (None, VOCAL)

    @property
    def fader_key(self) -> str:
        """What the page keeps its fader by: its task, and which of its takes or lanes it is."""
        return f"{self.task.id} {self.lane if self.is_beside else self.take and self.take.number}"

    def is_of(self, take: "_Sound") -> bool:
        """Whether it is this take, or sounds beside it."""
        return self.take is not None and (self.task, self.take) == (take.task, take.take)


@dataclass(frozen=True, kw_only=True)
class _Stem(Record):
    """What project.json says of a stem."""

    file: str
    conversion: str


@dataclass(frozen=True, kw_only=True)
class _TakeStem(_Stem):
    take: int
    lane: Absent[str]
    starred: bool
    voice: str | None
    settings: Settings
    effects: str | Mapping[str, int | float]
    scores: Scores | None


@costs(Cost.APART)
def project_zip(
    studio: Studio,
    account: Account,
    project_id: str,
    base_url: str,
    now_s: float,
    *,
    dry: bool = False,
    suffix: Suffix = "zip",
    faders: Mapping[str, object] | None = None,
) -> dict[str, str]:
    """Export a project, or return its zip as made before, which "Clear cache" deletes: its `url` and
    `name`. dry: takes without their effects; suffix: of the file; faders: as of `export_project`, maybe of other
    projects too. Raises as `export_project`."""
    project = find_project(studio.database, account.id, project_id)
    done = _done(project)
    own = {key: fader for key, fader in (faders or {}).items() if key.partition(" ")[0] in {one.id for one in done}}
    said = json.dumps(
        [project.shown_name, asdict(project.timeline), dry, [one.id for one in done], *([own] if own else [])],
        sort_keys=True,
    )
    place = f"{account_prefix(account)}{PACKAGES}/{_PLACE}/{project.id}/{suffix}"
    key = f"{place}/{hashlib.sha256(said.encode()).hexdigest()[:16]}.{suffix}"
    if studio.storage.head(key) is None:
        with scratch_folder(studio) as folder:
            made = export_project(studio, account, project.id, folder / "project.zip", dry=dry, faders=own)
            studio.storage.delete_below(place)
            studio.storage.put_file(made, key)
    return {"url": studio.link(key, base_url, now_s), "name": named_file(project.shown_name, suffix)}


def export_project(
    studio: Studio,
    account: Account,
    project_id: str,
    target: Path,
    report: Report = no_report,
    *,
    dry: bool = False,
    timeline: Timeline | None = None,
    faders: Mapping[str, object] | None = None,
) -> Path:
    """Write a project as a zip to `target`, a file or a folder, and return the file.

    It holds stems (.wav) of the recording and of all takes that begin and end together, of a song one for each of its
    lanes, which together are its mix; the melody as MIDI with a marker for each phrase, the pitch curve and the phrases
    as tables (CSV), the phrases as labels, and project.json with the settings of each take. It also holds project.xml,
    so a DAW opens it as a .dawproject: a track for each stem, of which one take is heard. Files are named by where the
    stems begin in the song, and takes by their voice, a number that counts through all conversions with it, and their
    name. Stems have the time reference of the recording in its session, if it has one and the timeline begins at 0.
    timeline: in place of the project's; faders: {gain_db, pan, mute, solo} of tracks, by a task's id, a blank and the
    number of a take, the name of a lane that sounds beside the vocal of a song, or "recording"; mute None: unless it is
    the one that is heard; shift_s of a backing: how much later than in its mix the others begin. Raises NotFound, also
    if nothing of it is left, AudioError, SettingsError for faders that cannot be, Invalid for a target that cannot be
    written, DiskFull.
    """
    project = find_project(studio.database, account.id, project_id)
    if target.is_dir():
        target = target / named_file(project.shown_name, "zip")
    try:
        with scratch_folder(studio) as scratch, replacing(target) as unfinished:
            export = _Export(studio, account, project, timeline or project.timeline, scratch, dry, faders or {})
            export.write(unfinished, report)
    except OSError as cause:
        text = tr('"{target}" cannot be written: {strerror}.', target=target, strerror=cause.strerror or cause)
        raise Invalid([("output", text)], "not_writable") from cause
    return target


class _Export:
    """One export of a project. place: an empty folder for its files."""

    def __init__(
        self, studio: Studio, account: Account, project: Project, timeline: Timeline, scratch: Path, dry: bool,
        faders: Mapping[str, object],
    ) -> None:  # fmt: skip
        self._studio, self._project, self._place = studio, project, scratch
        self._faders = faders
        self._done = done = _done(project)
        named = voice_names(studio.database, account, done)
        counted: Counter[str] = Counter()
        found = [one for task in reversed(done) for one in _takes(task, named[task.id] or "voice", counted, dry)]
        self._takes = [replace(one, start_s=one.start_s - self._shift_s(one)) for one in found]
        self._recordings = list(self._whole(done))
        if not self._takes:
            raise NotFound(tr("Nothing of this project is left to export."), "no_results")
        lasting = [(one, seconds) for one, _, seconds in self._recordings]
        lasting += [
            (one, _seconds(self._fetched(one)))
            for one in self._takes
            if one.lane == VOCAL or self._shift_s(one)  # as its backing does, unless it was moved
        ]
        self._origin_s = min(one.start_s for one, _ in lasting)
        self._seconds = max(one.start_s + seconds for one, seconds in lasting) - self._origin_s
        # a backing that begins before its vocal begins the song, where that is not known to begin earlier
        self._timeline = replace(timeline, start_s=max(0.0, timeline.start_s + self._origin_s))
        self._begin_s = self._timeline.start_s if timeline.start_s else self._session_s() or self._timeline.start_s
        self._stem = f"{self._timeline.position(0.0)} {project.shown_name}"
        self._phrases: list[Phrase] = []  # found on writing the cue sheet

    def write(self, target: Path, report: Report) -> None:
        """Write the zip. `report` shows progress and may raise Cancelled."""
        stems, tracks = [], []
        heard = self._audible_take()
        sounds = [*((one, path) for one, path, _ in self._recordings), *((one, None) for one in self._takes)]
        taken: set[str] = set()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:  # audio hardly compresses
            for number, (sound, path) in enumerate(sounds):
                report(number / (len(sounds) + 1), tr("writing stems"))
                name = unlike(named_file(f"{self._stem} - {sound.label}", "wav"), taken)
                archive.write(stem := self._written(sound, path), f"stems/{name}")
                stems.append(plain(_stem_facts(sound, name)))
                with open_audio(stem) as opened:
                    fader = self._fader(sound, heard)
                    tracks.append(StemTrack(sound.label, f"stems/{name}", opened.rate, opened.channels, fader))
            report(len(sounds) / (len(sounds) + 1), tr("writing the cue sheet"))
            for kind, suffix, content in self._cues():
                archive.writestr(named_file(f"{self._stem} - {kind}", suffix), content)
            for name, written in self._daw_project(tracks).items():
                archive.writestr(name, written)
            facts = {"name": self._project.shown_name, "timeline": asdict(self._timeline), "seconds": self._seconds}
            archive.writestr("project.json", json.dumps(facts | {"stems": stems}, indent=2, ensure_ascii=False))

    def _written(self, sound: _Sound, path: Path | None) -> Path:
        source, stem = path or self._fetched(sound), self._place / "stem.wav"
        placing = Placing(sound.start_s - self._origin_s, self._seconds, self._begin_s)
        write_stem(source, stem, placing, self._statement(sound, source), self._studio.installation)
        return stem

    def _statement(self, sound: _Sound, path: Path) -> Statement | None:
        """Return how a stem was made; None for a recording, for takes before 0.9, and for lanes as they were sung."""
        if sound.lane:
            from engine.provenance.verification import statement_of  # which loads what the server does without

            return statement_of(path, self._studio.installation)
        return sound.task.result_as(Rendered).statement if sound.take else None

    def _audible_take(self) -> _Sound:
        """Return the take that plays in a DAW: the last one with a star, or the last one, and no harmony of it."""
        leads = [one for one in self._takes if one.task.asked_as(Conversion).settings.get("harmony", NONE) == NONE]
        starred = [one for one in leads if one.take and one.take.label.starred]
        return (starred or leads or self._takes)[-1]

    def _fader(self, sound: _Sound, heard: _Sound) -> Fader:
        """Return the fader of a track; what is beside a vocal is silent unless that is heard."""
        is_heard, given = sound.is_of(heard), self._given(sound)
        if not given:
            return Fader(mute=not is_heard)
        fader = fader_of(given)
        if sound.is_beside:
            return replace(fader, mute=fader.mute or not is_heard, solo=fader.solo and is_heard)
        is_said = isinstance(given, Mapping) and given.get("mute") is not None
        return fader if is_said else replace(fader, mute=not (is_heard or fader.solo))

    def _given(self, sound: _Sound) -> object:
        """Return what is given for the fader of a track; that of the recording is kept by its conversions."""
        if sound.take:
            return self._faders.get(sound.fader_key)
        return next(filter(None, (self._faders.get(f"{one.id} {RECORDING}") for one in self._done)), None)

    def _shift_s(self, sound: _Sound) -> float:
        """Return how much earlier than in its mix a backing begins. Raises SettingsError for what cannot be."""
        given = self._faders.get(sound.fader_key) if sound.lane == BACKING else None
        return check_offset(given.get("shift_s", 0.0)) if isinstance(given, Mapping) else 0.0

    def _daw_project(self, tracks: list[StemTrack]) -> dict[str, bytes]:
        markers = [(one.start_s, _marker(number)) for number, one in enumerate(self._phrases, 1)]
        timeline = replace(self._timeline, start_s=self._begin_s)
        return daw_project(self._project.shown_name, tracks, self._seconds, timeline, markers)

    def _session_s(self) -> float | None:
        """Return the second of the session at which the stems begin, if a recording says where it lies in one."""
        for sound, path, _ in self._recordings:
            place = place_of(path)
            if place is not None and place.time_reference is not None:
                return max(0.0, place.time_reference / place.rate - (sound.start_s - self._origin_s))
        return None

    def _cues(self) -> Iterator[tuple[str, str, bytes | str]]:
        """Yield the parts of the cue sheet: kind, suffix and content. Times begin with the stems."""
        from engine.analysis.recording import analyse_file

        notes: list[Note] = []
        phrases: list[Phrase] = []
        tables = []
        for sound, path, _ in self._recordings:
            found, later_s = analyse_file(path), sound.start_s - self._origin_s
            pitch, loudness_db = found.pitch, found.loudness_db
            hertz = np.where(pitch.voicing > TRUSTED, pitch.hertz, 0.0)
            tables.append(pitch_table(hertz, pitch.voicing, loudness_db, start_s=later_s))
            notes += [_later(one, later_s) for one in find_notes(pitch, loudness_db)]
            phrases += [_later(one, later_s) for one in find_phrases(pitch, loudness_db)]
        self._phrases = phrases
        markers = [(one.start_s, _marker(number)) for number, one in enumerate(phrases, 1)]
        tempo = {"tempo_bpm": self._timeline.tempo_bpm} if self._timeline.tempo_bpm else {}
        yield "melody", "mid", notes_as_midi(notes, markers=markers, **tempo)
        yield "phrases", "csv", cue_sheet(phrases, notes, self._timeline)
        yield "phrases", "txt", marker_labels(phrases)
        yield "pitch", "csv", tables[0] + "".join(one.partition("\n")[2] for one in tables[1:])

    def _whole(self, done: list[Task]) -> Iterator[tuple[_Sound, Path, float]]:
        """Yield the recordings that no other contains, their files and durations; usually it is one."""
        found = []
        for task in done:
            sound = _Sound("recording", task.asked_as(Conversion).input_key, _start_s(task), task)
            path = self._fetched(sound)
            found.append((sound, path, _seconds(path)))
        end_s = -1.0
        for sound, path, seconds in sorted(found, key=lambda one: (one[0].start_s, -one[2])):
            if sound.start_s + seconds > end_s + _SAME_S:
                end_s = sound.start_s + seconds
                yield sound, path, seconds

    def _fetched(self, sound: _Sound) -> Path:
        folder = self._place / sound.task.id
        folder.mkdir(exist_ok=True)
        try:
            path = self._studio.storage.fetch(sound.key, folder)
            return path if sound.take else on_track(path, sound.task.asked_as(Conversion).track)
        except NotFound as cause:
            raise NotFound(tr("A recording or a take of this project has been deleted."), "recording_gone") from cause


def _takes(task: Task, voice: str, counted: Counter[str], dry: bool) -> Iterator[_Sound]:
    """Yield the takes of a conversion, of a song its lanes, labelled as no other of the project: `counted` has the
    labels so far."""
    asked = task.asked_as(Conversion)
    made = "comp" if asked.comp else "edited" if asked.edit else "take"
    for take in takes_of(task):
        label = f"{voice} {made}"
        counted[label] += 1
        number = str(counted[label]) if made == "take" or counted[label] > 1 else ""
        label = " ".join(filter(None, [label, number, take.label.name]))
        whole = _Sound(label, take.dry_key if dry else take.key, _start_s(task), task, take)
        yield from _lanes(whole) or [whole]


def _lanes(whole: _Sound) -> list[_Sound]:
    """Return the lanes of a song, which begin together; none of another take."""
    rendered = whole.task.result_as(Rendered)
    start_s = whole.start_s - rendered.vocal_begins_s
    return [
        replace(whole, label=f"{whole.label} {_called(name)}".rstrip(), key=key, start_s=start_s, lane=name)
        for name, key in (rendered.lanes or {}).items()
    ]


def _called(lane: str) -> str:
    """Return what is added to the name of a take for a lane: further singers by their numbers."""
    return {VOCAL: "", BACKING: "backing", "stem": "vocal 2"}.get(lane, f"vocal {lane.removeprefix('stem')}")


def _seconds(path: Path) -> float:
    """Return how long a recording is."""
    with open_audio(path) as opened:
        if opened.duration_s is not None:
            return opened.duration_s
        return sum(block.shape[1] for block in opened.blocks()) / opened.rate


def _marker(number: int) -> str:
    return tr("phrase {number}", number=number)


def _stem_facts(sound: _Sound, name: str) -> _Stem:
    task, take, file = sound.task, sound.take, f"stems/{PurePath(name).name}"
    if take is None:
        return _Stem(file=file, conversion=task.id)
    asked = task.asked_as(Conversion)
    return _TakeStem(
        file=file,
        conversion=task.id,
        take=take.number,
        lane=sound.lane or None,
        starred=take.label.starred,
        voice=task.model_id,
        settings=task.result_as(Rendered).settings or asked.settings,
        effects=asked.effects,
        scores=take.scores or None,
    )


def _done(project: Project) -> list[Task]:
    """Return the conversions that have takes, the newest first."""
    return [one for one in project.conversions if one.state == "completed" and one.outputs_deleted_at is None]


def _later(part: Part, by_s: float) -> Part:
    return replace(part, start_s=part.start_s + by_s, end_s=part.end_s + by_s)


def _start_s(task: Task) -> float:
    return task.asked_as(Conversion).start_s
