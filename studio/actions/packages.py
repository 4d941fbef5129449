"""Export and import voices as packages."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

from engine.voices.card import CARD_FILE, card_text
from engine.voices.package import export_voice, import_voice
from studio.actions.arrivals import called, seems_zip, workplace
from studio.actions.consent import refuse_without_consent
from studio.actions.names import named_file
from studio.errors import NotReadable
from studio.store.accounts import Account, account_prefix
from studio.store.catalogue import COMPLETED, PACKAGES, VOICES, add_model, find_model, refuse_too_many, set_keys
from studio.store.idempotency import Idempotency, answered, once
from studio.store.studio import Studio
from studio.store.workspaces import arriving, voice_folder


def import_model(
    studio: Studio, account: Account, package: Path, idempotency: Idempotency | None = None, name: str = "the file"
) -> str:
    """Import a voice package and return the voice's id; errors call the file `name`.

    Raises NotReadable if it is not a zip, ArchiveError and VoiceError if it is not a complete voice, WrongState
    if it states no consent where that is required, TooMany, DiskFull.
    """
    from engine.conversion.preview import refuse_senseless  # loads torch
    from engine.voices.voice import load_voice

    if known := answered(studio, account, idempotency):
        return str(known["model_id"])
    if not seems_zip(package):
        text = f"{name[:1].upper()}{name[1:]} is not a voice package: export a voice, and import that file."
        raise NotReadable(text, "not_a_zip")
    with workplace(studio) as place:
        with called(package, name):
            card = import_voice(package, place / "voices")
            refuse_without_consent(studio, card.consent)
            refuse_senseless(load_voice(card.id, place / "voices"))
        with arriving(studio.storage, account, VOICES, place / "voices" / card.id) as arrive:

            def act(connection: Connection) -> dict[str, Any]:
                refuse_too_many(connection, account.id, studio.service.models_per_account)
                model = add_model(connection, studio.storage, account, asdict(card), COMPLETED)
                key = arrive(model.id)
                set_keys(connection, model, voice_key=key)
                studio.storage.put_bytes(card_text(replace(card, id=model.id)).encode(), f"{key}/{CARD_FILE}")
                return {"model_id": model.id}

            answer, _ = once(studio, account, idempotency, act)
    return str(answer["model_id"])


def package_link(studio: Studio, account: Account, model_id: str, base_url: str, now_s: float) -> dict[str, str]:
    """Export a voice; return the `name` of the package and a `url` to fetch it from.

    It is kept until the next export of this voice, or its deletion. Raises as `export_model` does.
    """
    with workplace(studio) as place:
        made = place / f"{model_id}.voice.zip"
        export_model(studio, account, model_id, made)
        key = f"{account_prefix(account)}{PACKAGES}/{model_id}/{made.name}"
        studio.storage.put_file(made, key)
    name = named_file(find_model(studio.database, account, model_id).name, "voice.zip")
    # so that browsers do not reuse an earlier package from their cache
    return {"name": name, "url": f"{studio.link(key, base_url, now_s)}&made={now_s:.0f}"}


def export_model(studio: Studio, account: Account, model_id: str, target: Path) -> Path:
    """Write a voice as a package to `target`, a file or a folder, and return the file.

    Raises NotFound, WrongState for an untrained voice, VoiceError, DiskFull.
    """
    model = find_model(studio.database, account, model_id)
    recorded_by = studio.installation if model.dataset_key is not None else None
    return export_voice(voice_folder(studio.storage, model), target, recorded_by)
