"""What our elements are given, as their classes in JavaScript read it."""

from collections.abc import Mapping, Sequence
from typing import NotRequired

from typing_extensions import TypedDict

from studio.actions.analysis_views import Download
from studio.actions.voices.cards import Avatar


class FactRow(TypedDict):
    """A row of <timbre-facts>. state: good, bad or warn; is_name, is_command: whether the value is in the words of
    others, or the note is typed."""

    label: str
    value: str
    note: NotRequired[str]
    state: NotRequired[str | None]
    is_name: NotRequired[bool]
    is_command: NotRequired[bool]


class TokenRow(TypedDict):
    """A token of <timbre-tokens>."""

    id: str
    name: str
    state: str
    created_s: float
    expires_s: float | None
    used_s: float | None


class Facts(TypedDict):
    """Data of <timbre-facts>. otherwise: what stands in place of no rows."""

    rows: Sequence[FactRow]
    otherwise: NotRequired[str]


class TokenId(TypedDict):
    """What <timbre-tokens> tells."""

    id: str


class Track(TypedDict):
    """A track of <timbre-player>. names: what of the label is in the words of others; offset_s: where on the timeline
    it begins; outline: heights 0..99 of its waveform."""

    label: str
    url: str
    outline: NotRequired[Sequence[int]]
    offset_s: NotRequired[float]
    names: NotRequired[Sequence[str]]
    note: NotRequired[str | None]
    downloads: NotRequired[Sequence[Download]]


class PlayerData(TypedDict):
    """Data of <timbre-player>. chosen: the index of a track."""

    id: str
    tracks: Sequence[Track]
    chosen: NotRequired[int]


class CurveLine(TypedDict):
    """A line of a chart. points: epoch and value of each."""

    label: str
    colour: str
    points: Sequence[tuple[int, float]]
    marks: bool


class Chart(TypedDict):
    """A chart of <timbre-curves>."""

    title: str
    unit: str
    lines: Sequence[CurveLine]


class CurvesData(TypedDict):
    """Data of <timbre-curves>. epochs: the whole width; kept, chosen: epochs; choices: epochs that can be chosen."""

    epochs: int
    kept: int | None
    chosen: int | None
    choices: Sequence[int]
    charts: Sequence[Chart]


class AskedOfTask(TypedDict, total=False):
    """What <timbre-tasks> tells: what to do with a task, or with several; faders: that the browser has, by take."""

    id: str
    action: str
    ids: Sequence[str]
    faders: Mapping[str, object]


class AskedDownload(TypedDict):
    """What <timbre-tasks> tells: a format to make of a track that a task's player has."""

    id: str
    index: int
    label: str


class ChosenEpoch(TypedDict):
    """What <timbre-curves> tells."""

    epoch: int


class ChosenVoice(TypedDict):
    """What <timbre-voices> tells."""

    id: str


class ChosenTrack(TypedDict):
    """What <timbre-player> tells."""

    index: int


class VoiceHead(TypedDict):
    """Data of <timbre-voice>. kind: words that describe it."""

    name: str
    badge: str
    kind: Sequence[str]
    description: str
    traits: Sequence[str]
    avatar: NotRequired[Avatar]
    uses: NotRequired[Sequence[str]]
    state: NotRequired[str]
    demo: NotRequired[bool]
