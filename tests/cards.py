"""Cards of voices, changed by tests as by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.voices.card import CARD_FILE, VoiceCard, card_text, load_card


def update_card(folder: Path, **changes: Any) -> VoiceCard:
    card = replace(load_card(folder), **changes)
    (folder / CARD_FILE).write_text(card_text(card), encoding="utf-8")
    return card
