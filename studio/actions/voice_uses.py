"""What a voice is good for, in a few words: speaks, sings, its range, how long it was trained, and its scores."""

from collections.abc import Mapping
from typing import Any

from engine.texts import numeral, tr

_KINDS = {(True, True): tr("speaks and sings"), (True, False): tr("speaks"), (False, True): tr("sings")}


def uses_of(card: Mapping[str, Any]) -> list[str]:
    """Return what a card says a voice is good for, the most important first; nothing is guessed.

    >>> uses_of({"sung_pitch": {"low": 50.0}, "training": {"minutes": 11.5, "scores": {"likeness": 0.94}}})
    ['sings', '12 min of training', 'likeness 0.94']
    """
    kind = _KINDS.get((bool(card.get("spoken_pitch")), bool(card.get("sung_pitch"))))
    uses = [kind] if kind else []
    learned = card.get("training") or {}
    if isinstance(minutes := learned.get("minutes"), int | float):
        uses.append(tr("{minutes} min of training", minutes=numeral(minutes, ".0f")) if minutes >= 1 else tr(
            "{minutes} s of training",
            minutes=numeral(60 * minutes, ".0f"),
        ))
    scores = learned.get("scores") or {}
    if isinstance(score := scores.get("likeness"), int | float):
        uses.append(tr("likeness {score}", score=numeral(score, ".2f")))
    if isinstance(score := scores.get("content"), int | float):
        uses.append(tr("clarity {score}", score=numeral(score, ".2f")))
    if learned.get("blend"):
        uses.append("a blend")
    return uses
