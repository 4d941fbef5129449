"""Checkpoints of a training: each can become the voice."""

import shutil
from dataclasses import replace
from pathlib import Path

from engine.texts import ntr, tr
from engine.training.history import EVALUATIONS_FOLDER
from engine.voices.card import (
    CARD_FILE,
    PREVIEW_FILE,
    WEIGHTS_FILE,
    VoiceCard,
    card_text,
    earlier_voice,
    load_card,
    read_card,
)
from studio.actions.trainings.history import training_history
from studio.actions.uploads import scratch_folder
from studio.errors import NotFound, WrongState
from studio.store.accounts import Account
from studio.store.catalogue import TRAINING, Model, find_model, locked_model, training_completed
from studio.store.studio import Studio
from studio.store.trainings import training_files
from studio.store.voice_folders import drop_older_voices, keep_voice_folder

_SCORES = ("likeness", "content", "mel_distance", "pitch_error_cents", "voicing_error", "score")


def choose_checkpoint(studio: Studio, account: Account, model_id: str, epoch: int) -> None:
    """Make the checkpoint after `epoch` epochs the voice; training still continues from its end.

    Raises NotFound, and WrongState during training or if only the audio of the checkpoint was kept.
    """
    model = find_model(studio.database, account, model_id)
    history = None if model.is_demo else training_history(studio, model)
    line = next((line for line in (history["evaluations"] if history else ()) if line["epoch"] == epoch), None)
    if history is None or line is None:
        raise NotFound(
            ntr(
                "The training of '{model_id}' has no checkpoint after {epoch} epoch.",
                "The training of '{model_id}' has no checkpoint after {epoch} epochs.",
                epoch=epoch,
                model_id=model_id,
            ),
            "no_checkpoint",
        )
    _refuse_in_training(model)
    with scratch_folder(studio) as scratch:
        folder = _fetched(studio, model, f"{EVALUATIONS_FOLDER}/{line['folder']}", scratch)
        made = load_card(folder)
        if made.is_earlier:
            raise WrongState(earlier_voice(model_id), "model_not_ready")
        reached = history["epochs"][-1]["epoch"] if history["epochs"] else 0
        training = {
            **({} if (minutes := _minutes(studio, model)) is None else {"minutes": minutes}),
            "epochs": reached,
            "best_epoch": epoch,
            "steps": made.training.get("steps"),
            "scores": {name: line.get(name) for name in _SCORES},
            "chosen": True,  # by ear, not by its score
        }
        replace_voice_files(studio, account, model, folder, replace(model.stated_on(made), training=training))


def replace_voice_files(studio: Studio, account: Account, model: Model, folder: Path, card: VoiceCard) -> None:
    """Make the files in `folder`, with this card, the voice; its id, recordings and training stay.

    Raises NotFound, and WrongState during training, which would overwrite it.
    """
    _refuse_in_training(model)
    card = replace(card, id=model.id)
    (folder / CARD_FILE).write_text(card_text(card), encoding="utf-8")
    voice_key = keep_voice_folder(studio.storage, account, model.id, folder)
    with studio.database.write() as connection:
        now = locked_model(connection, account.id, model.id)
        _refuse_in_training(now)
        training_completed(connection, now, card, voice_key, now.epoch, now.epochs)
    drop_older_voices(studio.storage, account, model, voice_key)


def stored_card(studio: Studio, model: Model) -> VoiceCard | None:
    """Return the card of a voice as stored, with what it states about the training; None before there is one."""
    if model.voice_key is None:
        return None
    return read_card(b"".join(studio.storage.read(f"{model.voice_key}/{CARD_FILE}")), f"'{model.id}'")


def _fetched(studio: Studio, model: Model, evaluation: str, scratch: Path) -> Path:
    """Return a folder with a copy of the voice at this checkpoint."""
    files = training_files(studio.storage, model)
    folder, fetched = scratch / "voice", scratch / "fetched"
    folder.mkdir()
    for name in (CARD_FILE, WEIGHTS_FILE, PREVIEW_FILE):
        key = files.get(f"{evaluation}/{name}")
        if key is not None:
            shutil.copyfile(studio.storage.fetch(key, fetched), folder / name)
        elif name != PREVIEW_FILE:
            text = tr("Only the audio of this checkpoint was kept: choose another checkpoint.")
            raise WrongState(text, "checkpoint_gone")
    return folder


def _minutes(studio: Studio, model: Model) -> float | None:
    """Return how long the recordings are that it was trained on, if known."""
    before = stored_card(studio, model)
    if before is not None and "minutes" in before.training:
        return before.training["minutes"]
    usable_s = (model.data_report or {}).get("usable_s")
    return round(usable_s / 60, 1) if isinstance(usable_s, int | float) else None


def _refuse_in_training(model: Model) -> None:
    if model.state == TRAINING:
        text = tr("{name} is being trained: stop the training first, and continue it afterwards.", name=model.name)
        raise WrongState(text, "model_busy")
