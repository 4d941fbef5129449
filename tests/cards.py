"""Cards of voices, changed by tests as by hand."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.voices.card import CARD_FILE, VoiceCard, card_text, load_card


def update_card(folder: Path, **changes: Any) -> VoiceCard:
    card = replace(load_card(folder), **changes)
    (folder / CARD_FILE).write_text(card_text(card), encoding="utf-8")
    return card


def rewrite_card(folder: Path, *left_out: str, **changes: Any) -> None:
    """Change the text of a card, and leave fields out, whatever becomes of it."""
    values = json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))
    kept = {name: value for name, value in (values | changes).items() if name not in left_out}
    (folder / CARD_FILE).write_text(json.dumps(kept), encoding="utf-8")
