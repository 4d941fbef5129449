"""An analysis of a recording: what is asked, and what was found."""

from dataclasses import dataclass

from studio.languages.stored import Said
from studio.store.records.codec import Absent, Record


@dataclass(frozen=True)
class Analysis(Record):
    """What is asked of an analysis; recording, start_s: see `studio.actions.recordings.Origin`; track: the sound track
    that was chosen, 1 for the first."""

    input_key: str
    file_name: str
    recording: str | None = None
    start_s: float = 0.0
    track: Absent[int] = None


@dataclass(frozen=True)
class FoundRange(Record):
    """The range of a recording, as notes and as MIDI numbers."""

    min: str
    max: str
    lowest: int
    highest: int


@dataclass(frozen=True)
class FoundPitch(Record):
    """Quantiles of the pitch, in semitones."""

    low: float
    median: float
    high: float


@dataclass(frozen=True)
class Summary(Record):
    """What is said of a recording at a glance; see `studio.actions.analyses`."""

    style: str
    vocal_range: FoundRange | None
    pitch: FoundPitch | None
    voiced_s: float
    loudness_lufs: float | None
    peak_db: float
    clipped_runs: int = 0
    warning: Said | None = None
    is_mix: bool = False
    voice_type: Absent[str] = None  # until 0.8


@dataclass(frozen=True)
class FoundNote(Record):
    """A sustained note; cents: the median deviation from it."""

    start_s: float
    end_s: float
    midi: int
    cents: float


@dataclass(frozen=True)
class PitchSeconds(Record):
    """For how long a note sounds."""

    midi: int
    seconds: float


@dataclass(frozen=True)
class Tile(Record):
    """A part of a picture, and its key."""

    key: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Picture(Record):
    """A spectrogram on one scale, whole and in tiles."""

    scale: str
    lowest_hertz: float
    highest_hertz: float
    overview: Tile
    tiles: tuple[Tile, ...]


@dataclass(frozen=True)
class FoundTrack(Record):
    """A sound track of a file with several. number: 1 for the first; title, language: empty without."""

    number: int
    title: str
    language: str
    encoding: str
    is_readable: bool


@dataclass(frozen=True)
class FoundTracks(Record):
    """The sound tracks of a file with several, and the number of the one that was read."""

    read: int
    tracks: tuple[FoundTrack, ...]


@dataclass(frozen=True)
class Explored(Record):
    """What an analysis has found. curves, table, midi, heard: keys of files; origin: None before 0.9; tracks: of a file
    with several."""

    duration_s: float
    summary: Summary
    notes: tuple[FoundNote, ...]
    pitch_histogram: tuple[PitchSeconds, ...]
    curves: str
    table: str
    midi: str
    heard: str
    pictures: tuple[Picture, ...]
    origin: Absent[str] = None
    tracks: Absent[FoundTracks] = None
