"""Edit a voice's profile: its name and all other statements about it."""

import json
from collections.abc import Mapping
from dataclasses import replace

from sqlalchemy import Connection

from engine.datasets.dataset import LARGEST_MODEL_FILE, MODEL_FILE
from engine.texts import tr
from engine.voices.card import CARD_FILE, card_text, read_card
from engine.voices.profile import VoiceProfile, is_blank, profile_as_json, profile_text, read_profile
from studio.actions.submission import Work, queue_task
from studio.actions.voices.packages import free_name, voices_named
from studio.errors import Invalid, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import Model, describe, find_model, locked_model
from studio.store.kinds import REPORT
from studio.store.records.voices import ReportAsked
from studio.store.studio import Studio

_MEASURED = ("voice_type", "vocal_range")  # unless stated
_JUDGED_BY = ("gender", *_MEASURED)  # what the data report compares the recordings with


def profile_values(studio: Studio, account: Account, model_id: str) -> Mapping[str, object]:
    """Return the profile of a voice as values. Raises NotFound."""
    return find_model(studio.database, account, model_id).stated


def edit_profile(studio: Studio, account: Account, model_id: str, values: Mapping[str, object]) -> None:
    """Replace the profile of a voice, which keeps its id. values: fields of a profile; omitted ones are cleared.

    Measured fields are kept unless stated. Raises ProfileError with every wrong field, Invalid without a name or
    for that of another voice, NotFound, WrongState for a demo voice, Unavailable, DiskFull; then nothing has changed.
    """
    if find_model(studio.database, account, model_id).is_demo:
        raise WrongState(
            tr("The voice '{model_id}' is a demo voice and cannot be changed.", model_id=model_id), "demo_voice"
        )
    if is_blank(values.get("name")):
        raise Invalid([("name", tr("Give the voice a name."))])
    given = read_profile(values)
    _refuse_name_in_use(studio, account, model_id, given.name)
    with studio.database.write() as connection:
        model = locked_model(connection, account.id, model_id)
        stated = profile_as_json(given)
        measured = {name: model.stated.get(name) for name in _MEASURED} if model.voice_key is not None else {}
        is_sealed = stated.get("consent") == model.card.consent  # another one has not been signed
        kept = ("format", "kind", "consent_seal") if is_sealed else ("format", "kind")
        unchanged = {name: getattr(model.card, name) for name in kept}
        describe(connection, account.id, model_id, {**measured, **stated, "id": model_id, **unchanged})
        # last, since a rollback of the transaction does not restore files
        if model.dataset_key is not None:
            _write_profile(studio, connection, model, given)
        if model.voice_key is not None:
            _write_card(studio, locked_model(connection, account.id, model_id))
    studio.wake()


def _refuse_name_in_use(studio: Studio, account: Account, model_id: str, name: str) -> None:
    """Raise Invalid if another voice has the name; one that two voices have already may stay."""
    there = [one.id for one in voices_named(studio, account, name)]
    if there and model_id not in there:
        free = free_name(studio, account, name)
        raise Invalid(
            [
                (
                    "name",
                    tr(
                        "There is already a voice called {name}: choose another name, such as {free}.",
                        name=name,
                        free=free,
                    ),
                )
            ]
        )


def _write_profile(studio: Studio, connection: Connection, model: Model, given: VoiceProfile) -> None:
    """Write the profile beside the recordings; examine them again if what they were judged by has changed."""
    key = f"{model.dataset_key}/{MODEL_FILE}"
    kept = json.loads(b"".join(studio.storage.read(key, 0, LARGEST_MODEL_FILE)))
    before = profile_as_json(read_profile(kept))
    after = profile_as_json(replace(given, other=read_profile(kept).other))
    for name in _MEASURED:  # a measured value that prefilled the form is not a statement
        if name not in before and after.get(name) == getattr(model.card, name):
            after.pop(name, None)
    studio.storage.put_bytes(profile_text(read_profile(after)).encode(), key)
    if any(before.get(name) != after.get(name) for name in _JUDGED_BY):
        queue_task(studio, connection, model.account_id, Work(REPORT, ReportAsked(), model.id))


def _write_card(studio: Studio, model: Model) -> None:
    """Write the profile to the card in the voice's folder."""
    key = f"{model.voice_key}/{CARD_FILE}"
    card = read_card(b"".join(studio.storage.read(key)), f"'{model.id}'")
    card = replace(model.stated_on(card), id=model.id, consent_seal=model.card.consent_seal or {})
    studio.storage.put_bytes(card_text(card).encode(), key)
