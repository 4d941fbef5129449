"""Voice cards: description, state and preview of each voice to choose from."""

from dataclasses import asdict
from typing import Any

from engine.errors import EngineError
from engine.voices.card import DEMO_VOICES, PREVIEW_FILE, TRAIN_AGAIN, load_card
from engine.voices.card_rules import STUDIO
from studio.actions.avatars import avatar_of
from studio.actions.checkpoints import kept_card
from studio.actions.voice_uses import uses_of
from studio.actions.voices import model_view
from studio.store.accounts import Account
from studio.store.catalogue import COMPLETED, Model, all_models, find_model
from studio.store.studio import Studio

DEMO_PREVIEWS = "/demo-voices"  # the page serves the folders of the demo voices here


def voice_cards(
    studio: Studio, account: Account, base_url: str, now_s: float, ready_only: bool = True
) -> list[dict[str, Any]]:
    """Return cards of the account's voices, and then of the demo voices, each by name, for <timbre-voices>.

    ready_only: only those that can convert, trained or untrained. Each has the published fields, its `state`
    (TRAIN_AGAIN if it was made with an earlier base), its `avatar`, the `uses` that it is good for, `untrained`
    (whether it can convert only because that is allowed untrained), whether it is a `demo` voice, and `preview_url`, or
    None without a preview.
    """
    found = sorted(all_models(studio.database, account), key=lambda model: model.is_demo)
    return [
        _card(studio, model, base_url, now_s)
        for model in found
        if model.state == COMPLETED or model.is_usable_untrained or not ready_only
    ]


def voice_details(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> dict[str, Any]:
    """Return all that is known about a voice: its `model_view`, with `preview_url`, whether it can be trained here, and
    what it `learned`: minutes, epochs and scores of its training, or the voices it was blended from.

    Raises NotFound.
    """
    model = find_model(studio.database, account, model_id)
    try:
        card = load_card(DEMO_VOICES / model.id) if model.is_demo else kept_card(studio, model)
    except EngineError:  # it is being replaced
        card = None
    return (
        model_view(studio, account, model_id)
        | _state(model)
        | {
            "avatar": avatar_of(model.name),
            "uses": [] if card is None else uses_of(asdict(card)),
            "preview_url": preview_link(studio, model, base_url, now_s),
            "kind": model.card.get("kind") or STUDIO,
            "has_recordings": model.dataset_key is not None,
            "learned": card.training if card is not None else {},
        }
    )


def preview_link(studio: Studio, model: Model, base_url: str, now_s: float) -> str | None:
    """Return the link to a voice's preview; None if it has none."""
    if model.is_demo:
        return f"{studio.base_url(base_url)}{DEMO_PREVIEWS}/{model.id}/{PREVIEW_FILE}"
    if model.voice_key is None:
        return None
    key = f"{model.voice_key}/{PREVIEW_FILE}"
    home = studio.storage.folder(key)
    if home is not None and not home.exists():  # remote storage: a request per voice, for few without one
        return None
    # further training changes the preview under the same key, and browsers cache it
    return f"{studio.link(key, base_url, now_s)}&changed={model.updated_at:.0f}"


def _card(studio: Studio, model: Model, base_url: str, now_s: float) -> dict[str, Any]:
    return (
        model.published
        | _state(model)
        | {
            "demo": model.is_demo,
            "avatar": avatar_of(model.name),
            "uses": uses_of(_whole_card(studio, model)),
            "preview_url": preview_link(studio, model, base_url, now_s),
        }
    )


def _whole_card(studio: Studio, model: Model) -> dict[str, Any]:
    """Return the card with what it states about the training, where that is a file and not a request."""
    if model.is_demo or model.voice_key is None or studio.storage.folder(model.voice_key) is None:
        return model.card
    try:
        card = kept_card(studio, model)
    except EngineError:  # it is being replaced
        return model.card
    return model.card if card is None else asdict(card)


def _state(model: Model) -> dict[str, Any]:
    return {
        "state": TRAIN_AGAIN if model.must_be_trained_again else model.state,
        "untrained": model.is_usable_untrained,
    }
