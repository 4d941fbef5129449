"""The range of a voice where it does what a recording does: sings, or speaks."""

from dataclasses import dataclass, replace
from typing import Literal

from engine.errors import VoiceError
from engine.units import note_number
from engine.voices.card import CARD_FILE, DEMO_VOICES, VoiceCard, load_card, read_card
from studio.errors import NotFound
from studio.store.accounts import Account
from studio.store.catalogue import Model, find_model
from studio.store.records.codec import Record
from studio.store.studio import Studio
from studio.store.voice_folders import untrained_prefix

_LARGEST_CARD = 4 << 20  # bytes


@dataclass(frozen=True, kw_only=True)
class VoiceEnds(Record):
    """The name of a voice, and its range in MIDI note numbers where it sings or speaks as the recording does.

    estimated: which of the two, where no recording of the voice does it and the range is an estimate.
    """

    name: str
    low: int | None
    high: int | None
    estimated: Literal["spoken", "sung"] | None


def range_of(studio: Studio, account: Account, model_id: str, is_sung: bool | None) -> VoiceEnds:
    """Return the range of a voice where it sings, or speaks; None: the one that its card states. Raises NotFound."""
    model = find_model(studio.database, account, model_id)
    return ends_of(model, card_of(studio, model), is_sung)


def ends_of(model: Model, card: VoiceCard | None, is_sung: bool | None) -> VoiceEnds:
    """Return the same of a voice whose card was read."""
    stated = model.card.vocal_range or (card.vocal_range if card is not None else {})
    fitted = stated
    if card is not None and is_sung is not None:
        fitted = replace(card, vocal_range=stated).range_where(is_sung)
    low, high = (note_number(fitted[end]) if fitted.get(end) else None for end in ("min", "max"))
    estimated: Literal["spoken", "sung"] = "sung" if is_sung else "spoken"
    return VoiceEnds(name=model.name, low=low, high=high, estimated=None if fitted == stated else estimated)


def card_of(studio: Studio, model: Model) -> VoiceCard | None:
    """Return the card in the voice's own folder or the untrained one; None if unreadable."""
    try:
        if model.is_demo:
            return load_card(DEMO_VOICES / model.id)
        place = untrained_prefix(model) if model.is_untrained else model.voice_key
        if place is None:
            return None
        content = b"".join(studio.storage.read(f"{place}/{CARD_FILE}", 0, _LARGEST_CARD))
        return read_card(content, f"'{model.id}'")
    except (VoiceError, NotFound):
        return None
