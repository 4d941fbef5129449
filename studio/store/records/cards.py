"""What the row of a voice has of its card, and of the report on its recordings."""

from collections.abc import Mapping, Sequence

from typing_extensions import TypedDict

from engine.analysis.pitch_statistics import PitchStatistics
from engine.voices.card import VoiceCard


class Stated(TypedDict, total=False):
    """What is said of a voice, without measured fields that are unknown; see `engine.voices.card.VoiceCard`."""

    name: str
    gender: str | None
    age: str | None
    base_language: str | None
    genre: str | None
    description: str
    licence: str
    source: str
    traits: list[str]
    consent: dict[str, str]
    voice_type: str
    vocal_range: dict[str, str]


class Card(TypedDict, total=False):
    """The fields of a card that its row has, as far as they are known; the last ones only those of demo voices."""

    id: str
    name: str
    gender: str | None
    age: str | None
    base_language: str | None
    genre: str | None
    description: str
    licence: str | None
    source: str | None
    traits: list[str]
    consent: dict[str, str] | None
    voice_type: str | None
    vocal_range: dict[str, str] | None
    format: int | None
    kind: str | None
    consent_seal: dict[str, str] | None
    spoken_pitch: PitchStatistics | None
    sung_pitch: PitchStatistics | None
    estimated: Mapping[str, Mapping[str, float]]
    training: dict[str, object]


class PublishedVoice(TypedDict):
    """A voice as the published interface lists it."""

    id: str
    name: str
    gender: str | None
    age: str | None
    description: str
    base_language: str | None
    traits: list[str]
    genre: str | None
    voice_type: str | None
    vocal_range: dict[str, str] | None


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
    return {
        "id": card.id,
        "name": card.name,
        "gender": card.gender,
        "age": card.age,
        "base_language": card.base_language,
        "genre": card.genre,
        "description": card.description,
        "licence": card.licence,
        "source": card.source,
        "traits": card.traits,
        "consent": card.consent,
        "voice_type": card.voice_type,
        "vocal_range": card.vocal_range,
        "format": card.format,
        "kind": card.kind,
        "consent_seal": card.consent_seal,
        "spoken_pitch": card.spoken_pitch,
        "sung_pitch": card.sung_pitch,
        "estimated": card.values["estimated"],
        "training": card.training,
    }


def published(card: Card) -> PublishedVoice:
    """Return the fields of the published interface's voice model, exactly."""
    return {
        "id": card["id"],
        "name": card["name"],
        "gender": card.get("gender"),
        "age": card.get("age"),
        "description": card["description"],
        "base_language": card.get("base_language"),
        "traits": card["traits"],
        "genre": card.get("genre"),
        "voice_type": card.get("voice_type"),
        "vocal_range": card.get("vocal_range"),
    }


def stated(card: Card) -> Stated:
    """Return the descriptive fields of a card, without measured ones that are unknown."""
    said: Stated = {
        "name": card["name"],
        "gender": card.get("gender"),
        "age": card.get("age"),
        "base_language": card.get("base_language"),
        "genre": card.get("genre"),
        "description": card.get("description") or "",
        "licence": card.get("licence") or "",
        "source": card.get("source") or "",
        "traits": list(card.get("traits") or ()),
        "consent": dict(card.get("consent") or {}),
    }
    if voice_type := card.get("voice_type"):
        said["voice_type"] = voice_type
    if vocal_range := card.get("vocal_range"):
        said["vocal_range"] = vocal_range
    return said
