"""A conversion: what is asked (plain, or an edit, a comp, a song, a live session), and what was rendered."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, PlainSerializer

from engine.audio.result_format import ResultFormat
from engine.conversion.comping import CompPart
from engine.conversion.settings import AUTO
from engine.effects.settings import OFF
from engine.provenance.statement import Statement
from engine.songs.parts import Part
from studio.languages.stored import Said
from studio.store.records.codec import Absent, Record

Settings = Mapping[str, int | float | str]
Scores = Mapping[str, int | float | None]
Edits = Sequence[Mapping[str, object]]  # as `engine.conversion.pitch_edits.read_edits` takes them
Parts = Annotated[
    tuple[Part, ...],
    BeforeValidator(lambda given: [Part(*one) if isinstance(one, list) else one for one in given]),
    PlainSerializer(lambda parts: [[part.start_s, part.voice] for part in parts]),
]


@dataclass(frozen=True)
class OutputSettings(Record):
    """The settings of a finished conversion, as published."""

    model: str | None
    transpose: int | float
    vocal_style: str


# ---- asked


@dataclass(frozen=True)
class EditSources(Record):
    """Keys of the take as converted, and of its edit data."""

    take: str
    groundwork: str


@dataclass(frozen=True)
class EarlierEdit(Record):
    """An edited take, and its edits."""

    key: str
    edits: Edits


@dataclass(frozen=True)
class Edit(Record):
    """A take with edited pitch.

    of: the task whose take was edited; conversion, take: the take that all its edits refer to, 1 for the first;
    earlier: the take with its edits so far, if any.
    """

    of: str
    conversion: str
    take: int
    edits: Edits
    original: EditSources
    earlier: EarlierEdit | None = None


@dataclass(frozen=True)
class ChosenTake(Record):
    """A take of a task, 1 for the first."""

    task: str
    take: int


@dataclass(frozen=True)
class CompSource(Record):
    """What a comp has from the conversion of its takes."""

    output_settings: OutputSettings
    settings: Settings
    untrained: bool | None
    statement: Statement
    phrase_starts_s: tuple[float, ...]
    lowered_db: Absent[float] = None


@dataclass(frozen=True)
class Comp(Record):
    """One take out of several. takes: their keys; choice: the take of each phrase."""

    takes: tuple[str, ...]
    parts: tuple[CompPart, ...]
    choice: tuple[ChosenTake, ...]
    of: CompSource


@dataclass(frozen=True)
class Song(Record):
    """What is made of a recording beside converting it. keys, names: of the files sent with it, by lane.

    more_stem_parts: of the stems after the first, whose lanes are `more_lanes`.
    """

    parts: Parts
    stem_parts: Parts
    separate: bool
    offset_s: float | None
    faders: Mapping[str, float]
    keys: Mapping[str, str]
    names: Mapping[str, str]
    more_stem_parts: Absent[tuple[Parts, ...]] = None


def more_lanes() -> Iterator[str]:
    """Yield the names of the lanes of stems after the first: "stem3", as singers are counted, and so on."""
    return (f"stem{number}" for number in count(3))


Live = Mapping[str, bool | int | float | str | None]  # fields of engine.live.settings.LiveSettings


@dataclass(frozen=True)
class Conversion(Record):
    """What is asked of a conversion; at most one of edit, comp, song and live.

    settings: fields of ConversionSettings that were given; recording, start_s: see `studio.actions.recordings.Origin`;
    track: the sound track of the recording that was chosen, 1 for the first.
    """

    input_key: str
    settings: Settings
    file_name: str = ""
    format: str = "wav"
    preset: str = AUTO
    effects: str | Mapping[str, int | float] = OFF
    model_account: str = ""
    untrained: bool = False
    recording: str | None = None
    start_s: float = 0.0
    edit: Absent[Edit] = None
    comp: Absent[Comp] = None
    song: Absent[Song] = None
    live: Absent[Live] = None
    form: Absent[ResultFormat] = None  # of the takes' files; None is the published one
    track: Absent[int] = None

    # what the service's call has fields for under the same names, in their order there
    of_the_call: ClassVar = ("track", "untrained", "preset")

    @property
    def takes(self) -> int:
        """How many takes are asked for."""
        return int(self.settings.get("takes", 1))


# ---- rendered


@dataclass(frozen=True)
class Mix(Record):
    """What was found out when a song was mixed."""

    gain_db: float
    offset_s: float


@dataclass(frozen=True)
class Rendered(Record):
    """What a conversion has made; everything empty until it is completed.

    outputs: keys of the takes; dry: without their effects, if they have any; scores: of each take; lanes: keys of the
    lanes of a song; notes: sentences on a song; unsigned: why the takes carry no content credentials; groundwork: key
    of the edit data; voices: all that sing in a song; lowered_db: by how much the takes are softer than the recording,
    if it is above full scale.
    """

    outputs: tuple[str, ...] = ()
    output_settings: Absent[OutputSettings] = None
    settings: Settings = field(default_factory=dict)
    untrained: Absent[bool] = None
    scores: tuple[Scores, ...] = ()
    phrase_starts_s: tuple[float, ...] = ()
    statement: Absent[Statement] = None  # None before 0.9
    unsigned: Said | None = None
    warning: Said | None = None
    groundwork: Absent[str] = None
    dry: Absent[tuple[str, ...]] = None
    lanes: Absent[Mapping[str, str]] = None
    notes: Absent[tuple[Said, ...]] = None
    mix: Absent[Mix] = None
    voices: Absent[tuple[OutputSettings, ...]] = None
    lowered_db: Absent[float] = None
    seconds: float = 0.0

    @property
    def vocal_begins_s(self) -> float:
        """How many seconds after its mix the vocal of a song begins, and the recording with it."""
        return max(0.0, self.mix.offset_s) if self.mix else 0.0
