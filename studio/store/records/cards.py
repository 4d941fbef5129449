"""What the row of a voice has of its card, and of the report on its recordings."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal, NotRequired, cast

from pydantic import Field
from typing_extensions import TypedDict

from engine.analysis.pitch_statistics import PitchStatistics
from engine.voices.card import VoiceCard
from engine.voices.profile import AGES, GENDERS, GENRES, VOICE_TYPES
from studio.store.records.codec import exact, shown_as

_MEASURED = ("voice_type", "vocal_range")
_EMPTY = {"description": "", "traits": [], "licence": "", "source": "", "consent": {}}


Gender = Literal[GENDERS]  # type: ignore[valid-type]
Age = Literal[AGES]  # type: ignore[valid-type]
Genre = Literal[GENRES]  # type: ignore[valid-type]
VoiceType = Literal[VOICE_TYPES]  # type: ignore[valid-type]


@exact
class VocalRange(TypedDict):
    """The notes a voice sings comfortably."""

    min: Annotated[str, Field(examples=["A2"])]
    max: Annotated[str, Field(examples=["C5"])]


class Identified(TypedDict):
    """What has an id that people chose."""

    id: Annotated[str, Field(examples=["kathleen"])]


class Description(TypedDict):
    """What is said of a voice."""

    name: Annotated[str, Field(examples=["Kathleen"])]
    gender: Gender | None
    age: Age | None
    description: str
    base_language: Annotated[str, Field(pattern="^[a-z]{2}$")] | None
    traits: list[str]
    genre: Genre | None
    voice_type: VoiceType | None


@exact
class Voice(Identified, Description):
    """A voice in the list."""

    vocal_range: Annotated[dict[str, str], shown_as(VocalRange)] | None


class Stated(Description):
    """The same with its terms, without measured fields that are unknown; see `engine.voices.card.VoiceCard`."""

    licence: str
    source: str
    consent: dict[str, str]
    vocal_range: NotRequired[dict[str, str]]


class Card(Voice, total=False):
    """The fields of a card that its row has, as far as they are known; the last ones only those of demo voices."""

    licence: str | None
    source: str | None
    consent: dict[str, str] | None
    format: int | None
    kind: str | None
    consent_seal: dict[str, str] | None
    spoken_pitch: PitchStatistics | None
    sung_pitch: PitchStatistics | None
    estimated: Mapping[str, Mapping[str, float]]
    training: dict[str, object]


class ReportedFinding(TypedDict):
    """A finding; see `engine.datasets.findings.Finding`."""

    code: str
    verdict: str
    reason: str
    remedy: str


class ReportedRecording(TypedDict):
    """A recording in a report; others of its fields are those of `engine.datasets.report.RecordingReport`."""

    name: str
    verdict: str
    findings: Sequence[ReportedFinding]


class ReportedData(TypedDict, total=False):
    """A data report; others of its fields are those of `engine.datasets.report.DataReport`."""

    verdict: str
    findings: Sequence[ReportedFinding]
    recordings: Sequence[ReportedRecording]
    usable_s: float
    voice_type: str | None
    vocal_range: tuple[str, str] | None
    stated_range: tuple[str, str] | None
    pitch_histogram: dict[str, float]


def card_of(card: VoiceCard) -> Card:
    """Return the card of a voice without a row as a row would have it."""
    fields = {name: getattr(card, name) for name in Card.__annotations__}
    return cast(Card, {**fields, "estimated": card.values["estimated"]})


def published(card: Card) -> Voice:
    """Return the fields of the published interface's voice model, exactly."""
    return cast(Voice, {name: card.get(name) for name in Voice.__annotations__})


def stated(card: Card) -> Stated:
    """Return the descriptive fields of a card, without measured ones that are unknown."""
    said = {name: card.get(name) or _EMPTY.get(name) for name in Stated.__annotations__}
    return cast(Stated, {name: value for name, value in said.items() if value or name not in _MEASURED})
