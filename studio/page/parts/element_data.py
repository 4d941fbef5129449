"""What our elements are given, as their classes in JavaScript read it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from typing_extensions import TypedDict

from studio.actions.analysis_views import Download, RollData
from studio.actions.voices.cards import Avatar
from studio.store.records.codec import Absent, Record

TokenId = Mapping[Literal["id"], str]  # what <timbre-tokens> tells
ChosenVoice = Mapping[Literal["id"], str]  # what <timbre-voices> tells
ChosenEpoch = Mapping[Literal["epoch"], int]  # what <timbre-curves> tells
ChosenTrack = Mapping[Literal["index"], int]  # what <timbre-player> tells


@dataclass(frozen=True, kw_only=True)
class FactRow(Record):
    """A row of <timbre-facts>. state: good, bad or warn; is_name, is_command: whether the value is in the words of
    others, or the note is typed."""

    label: str
    value: str
    note: Absent[str] = None
    state: Absent[str] = None
    is_name: Absent[bool] = None
    is_command: Absent[bool] = None


@dataclass(frozen=True, kw_only=True)
class TokenRow(Record):
    """A token of <timbre-tokens>."""

    id: str
    name: str
    state: str
    created_s: float
    expires_s: float | None
    used_s: float | None


@dataclass(frozen=True, kw_only=True)
class Facts(Record):
    """Data of <timbre-facts>. otherwise: what stands in place of no rows."""

    rows: Sequence[FactRow]
    otherwise: Absent[str] = None


@dataclass(frozen=True, kw_only=True)
class Track(Record):
    """A track of <timbre-player>. names: what of the label is in the words of others; offset_s: where on the timeline
    it begins; outline: heights 0..99 of its waveform."""

    label: str
    url: str
    outline: Absent[Sequence[int]] = None
    offset_s: Absent[float] = None
    names: Absent[Sequence[str]] = None
    note: Absent[str] = None
    downloads: Absent[Sequence[Download]] = None


@dataclass(frozen=True, kw_only=True)
class PlayerData(Record):
    """Data of <timbre-player>. chosen: the index of a track."""

    id: str
    tracks: Sequence[Track]
    chosen: Absent[int] = None


@dataclass(frozen=True, kw_only=True)
class ShownRoll(RollData):
    """Data of <timbre-roll>, and how it is shown. follows: the id of a player; is_close: whether it begins enlarged;
    origin_s: where on the player's timeline it begins; shown, hidden: layers and curves that are switched on and off
    at first; kept: pictures that another roll in its place shows."""

    follows: Absent[str] = None
    isClose: Absent[bool] = None
    label: Absent[str] = None
    origin_s: Absent[float] = None
    shown: Absent[Sequence[str]] = None
    hidden: Absent[Sequence[int]] = None
    kept: Absent[Sequence[str]] = None


@dataclass(frozen=True, kw_only=True)
class CurveLine(Record):
    """A line of a chart. points: epoch and value of each."""

    label: str
    colour: str
    points: Sequence[tuple[int, float]]
    marks: bool


@dataclass(frozen=True, kw_only=True)
class Chart(Record):
    """A chart of <timbre-curves>."""

    title: str
    unit: str
    lines: Sequence[CurveLine]


@dataclass(frozen=True, kw_only=True)
class CurvesData(Record):
    """Data of <timbre-curves>. epochs: the whole width; kept, chosen: epochs; choices: epochs that can be chosen."""

    epochs: int
    kept: int | None
    chosen: int | None
    choices: Sequence[int]
    charts: Sequence[Chart]


class AskedOfTask(TypedDict, total=False):
    """What <timbre-tasks> tells: what to do with a task, or with several; or a format to make of a track, its label;
    faders: that the browser has, by take."""

    id: str
    action: str
    ids: Sequence[str]
    faders: Mapping[str, object]
    index: int
    label: str


@dataclass(frozen=True, kw_only=True)
class VoiceHead(Record):
    """Data of <timbre-voice>. kind: words that describe it."""

    name: str
    badge: str
    kind: Sequence[str]
    description: str
    traits: Sequence[str]
    avatar: Absent[Avatar] = None
    uses: Absent[Sequence[str]] = None
    state: Absent[str] = None
    demo: Absent[bool] = None
