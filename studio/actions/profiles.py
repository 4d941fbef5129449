"""Who a voice is, said anew: its name and all else that its maker states of it."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection

from engine.datasets.dataset import LARGEST_MODEL_FILE, MODEL_FILE
from engine.voices.card import CARD_FILE, card_text, read_card
from engine.voices.profile import VoiceProfile, profile_as_json, profile_text, read_profile
from studio.errors import WrongState
from studio.store.accounts import Account
from studio.store.catalogue import Model, describe, find_model, held_model
from studio.store.studio import Studio
from studio.store.tasks import submit

_MEASURED = ("voice_type", "vocal_range")  # where nobody states them
_JUDGED_BY = ("gender", *_MEASURED)  # what the data report compares the recordings with
_REPORT_PRIORITY = 1


def profile_values(studio: Studio, account: Account, model_id: str) -> dict[str, Any]:
    """What is said of a voice, as the values of a profile. Raises NotFound."""
    return find_model(studio.database, account, model_id).stated


def edit_profile(studio: Studio, account: Account, model_id: str, values: Mapping[str, Any]) -> None:
    """Say anew who a voice is; it keeps its id. values: those of a profile, of which the ones left out say nothing.

    What was measured is kept where nothing else is stated. Raises ProfileError with every wrong field, NotFound,
    WrongState for a demo voice, Unavailable, DiskFull; then all is as before.
    """
    if find_model(studio.database, account, model_id).is_demo:
        raise WrongState(f"The voice '{model_id}' is a demo voice and cannot be changed.", "demo_voice")
    given = read_profile(values)
    with studio.database.write() as connection:
        model = held_model(connection, account.id, model_id)
        stated = profile_as_json(given)
        measured = {name: model.stated.get(name) for name in _MEASURED} if model.voice_key is not None else {}
        unchanged = {"id": model_id, "format": model.card.get("format")}
        describe(connection, account.id, model_id, {**measured, **stated, **unchanged})
        # last, since files do not come back with the transaction
        if model.dataset_key is not None:
            _write_profile(studio, connection, model, given)
        if model.voice_key is not None:
            _write_card(studio, held_model(connection, account.id, model_id))
    studio.wake()


def _write_profile(studio: Studio, connection: Connection, model: Model, given: VoiceProfile) -> None:
    """Write it beside the recordings, which are examined anew where they were judged by something else."""
    key = f"{model.dataset_key}/{MODEL_FILE}"
    kept = json.loads(b"".join(studio.storage.read(key, 0, LARGEST_MODEL_FILE)))
    before = profile_as_json(read_profile(kept))
    after = profile_as_json(replace(given, other=read_profile(kept).other))
    for name in _MEASURED:  # what a form was filled with because it was measured is not stated by that
        if name not in before and after.get(name) == model.card.get(name):
            after.pop(name, None)
    studio.storage.put_bytes(profile_text(read_profile(after)).encode(), key)
    if any(before.get(name) != after.get(name) for name in _JUDGED_BY):
        submit(connection, model.account_id, "report", {}, model_id=model.id, priority=_REPORT_PRIORITY)


def _write_card(studio: Studio, model: Model) -> None:
    """Write it into the folder of the voice."""
    key = f"{model.voice_key}/{CARD_FILE}"
    card = read_card(b"".join(studio.storage.read(key)), f"'{model.id}'")
    studio.storage.put_bytes(card_text(replace(card, id=model.id, **model.stated)).encode(), key)
