"""What the row of a voice has of its card, and of the report on its recordings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypedDict

from engine.analysis.pitch_statistics import PitchStatistics
from engine.voices.card import VoiceCard
from engine.voices.profile import AGES, GENDERS, GENRES, VOICE_TYPES, VoiceProfile
from studio.store.records.codec import Record, shown_as

_MEASURED = ("voice_type", "vocal_range")
_STATED = tuple(one.name for one in fields(VoiceProfile) if one.name != "other")
_EMPTY = {"description": "", "traits": [], "licence": "", "source": "", "consent": {}}


Gender = Literal[GENDERS]  # type: ignore[valid-type]
Age = Literal[AGES]  # type: ignore[valid-type]
Genre = Literal[GENRES]  # type: ignore[valid-type]
VoiceType = Literal[VOICE_TYPES]  # type: ignore[valid-type]


@dataclass(frozen=True)
class VocalRange(Record):
    """The notes a voice sings comfortably."""

    min: Annotated[str, Field(examples=["A2"])]
    max: Annotated[str, Field(examples=["C5"])]


@dataclass(frozen=True, kw_only=True)
class Voice(Record):
    """A voice in the list."""

    id: Annotated[str, Field(examples=["kathleen"])]
    name: Annotated[str, Field(examples=["Kathleen"])]
    gender: Gender | None
    age: Age | None
    description: str
    base_language: Annotated[str, Field(pattern="^[a-z]{2}$")] | None
    traits: list[str]
    genre: Genre | None
    voice_type: VoiceType | None
    vocal_range: Annotated[dict[str, str], shown_as(VocalRange)] | None


@dataclass(frozen=True, kw_only=True)
class Card(Voice):
    """The fields of a card that its row has, as far as they are known; the last ones only those of demo voices."""

    licence: str | None
    source: str | None
    consent: dict[str, str] | None
    format: int | None
    kind: str | None
    consent_seal: dict[str, str] | None
    spoken_pitch: PitchStatistics | None
    sung_pitch: PitchStatistics | None
    estimated: Mapping[str, Mapping[str, float]] | None
    training: Mapping[str, object] | None


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
    return known_card({**vars(card), "estimated": card.values["estimated"]})


def known_card(values: Mapping[str, object]) -> Card:
    """Return the card of a row, of any version."""
    return Card(**{one.name: values.get(one.name) for one in fields(Card)})  # type: ignore[arg-type]


def published(card: Card) -> Voice:
    """Return the fields of the published interface's voice model, exactly."""
    return Voice(**{one.name: getattr(card, one.name) for one in fields(Voice)})


def stated(card: Card) -> Mapping[str, object]:
    """Return what is said of a voice, with its terms, without measured fields that are unknown."""
    said = {name: getattr(card, name) or _EMPTY.get(name) for name in _STATED}
    return {name: value for name, value in said.items() if value or name not in _MEASURED}
