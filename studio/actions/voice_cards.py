"""The voices of an account as people choose among them: who each is, whether it is ready, and what it sounds like."""

from typing import Any

from engine.errors import EngineError
from engine.voices.card import DEMO_VOICES, PREVIEW_FILE, TRAIN_AGAIN, load_card
from studio.actions.checkpoints import kept_card
from studio.actions.voices import model_view
from studio.store.accounts import Account
from studio.store.catalogue import COMPLETED, Model, all_models, find_model
from studio.store.studio import Studio

DEMO_PREVIEWS = "/demo-voices"  # where the page has the folders of the demo voices, which are everybody's


def voice_cards(
    studio: Studio, account: Account, base_url: str, now_s: float, ready_only: bool = True
) -> list[dict[str, Any]]:
    """Cards of the account's voices and the demo voices, by name, as the element <timbre-voices> shows them.

    ready_only: those alone that can convert, trained or untrained. Each has the published fields, its `state`
    (TRAIN_AGAIN where it was made on an earlier base), whether it can convert only as it is before it is trained
    (`untrained`), whether it is a `demo` voice, and `preview_url`, which is None where there is nothing to be heard.
    """
    found = all_models(studio.database, account)
    return [
        _card(studio, model, base_url, now_s)
        for model in found
        if model.state == COMPLETED or model.is_usable_untrained or not ready_only
    ]


def voice_details(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> dict[str, Any]:
    """All that is known of one voice: its `model_view`, with `preview_url`, whether it can be trained here, and what it
    `learned`: minutes, epochs and scores of the training it comes from, or the voices it was blended of.

    Raises NotFound.
    """
    model = find_model(studio.database, account, model_id)
    try:
        card = load_card(DEMO_VOICES / model.id) if model.is_demo else kept_card(studio, model)
    except EngineError:  # another one takes its place at this moment
        card = None
    return (
        model_view(studio, account, model_id)
        | _state(model)
        | {
            "preview_url": preview_link(studio, model, base_url, now_s),
            "has_recordings": model.dataset_key is not None,
            "learned": card.training if card is not None else {},
        }
    )


def preview_link(studio: Studio, model: Model, base_url: str, now_s: float) -> str | None:
    """Where a voice's preview can be heard; None where it has none."""
    if model.is_demo:
        return f"{base_url.rstrip('/')}{DEMO_PREVIEWS}/{model.id}/{PREVIEW_FILE}"
    if model.voice_key is None:
        return None
    key = f"{model.voice_key}/{PREVIEW_FILE}"
    home = studio.storage.folder(key)
    if home is not None and not home.exists():  # elsewhere it would be asked for each voice, and all but a few have one
        return None
    # a voice that was trained further is another sound under the same key, and browsers keep what they have heard
    return f"{studio.link(key, base_url, now_s)}&changed={model.updated_at:.0f}"


def _card(studio: Studio, model: Model, base_url: str, now_s: float) -> dict[str, Any]:
    return (
        model.published
        | _state(model)
        | {
            "demo": model.is_demo,
            "preview_url": preview_link(studio, model, base_url, now_s),
        }
    )


def _state(model: Model) -> dict[str, Any]:
    return {
        "state": TRAIN_AGAIN if model.must_be_trained_again else model.state,
        "untrained": model.is_usable_untrained,
    }
