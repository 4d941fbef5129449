"""Add rows for voices in the data folder that have none: until 0.7 the command line used folders only."""

import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from sqlalchemy import Connection, select, update

from engine.datasets.dataset import MODEL_FILE, REPORT_FILE, TRAINING_FOLDER, load_dataset
from engine.errors import DatasetError, ProfileError, TrainingError, VoiceError
from engine.training.history import read_history
from engine.voices.card import CARD_FILE, load_card
from engine.voices.card_rules import FORMAT, is_identifier
from engine.voices.profile import profile_as_json
from studio.store.accounts import Account
from studio.store.catalogue import COMPLETED, DATASETS, PENDING, TRAINING, VOICES, described, plain_report
from studio.store.database import AnyRow, Columns, Database, Now, insert_or_keep
from studio.store.storage import Storage
from studio.store.tables import models

_DAMAGED = (DatasetError, ProfileError, TrainingError, VoiceError)


def import_folders(database: Database, storage: Storage, local: Account) -> None:
    """Add the local account's voices and recordings that have no row; safe to repeat. Damaged folders are skipped."""
    voices, datasets = storage.folder(VOICES), storage.folder(DATASETS)
    if voices is None or datasets is None:
        return
    own = select(models).where(models.c.account_id == local.id)
    with database.read() as connection:
        rows = {row.id: row for row in connection.execute(own)}
    for name in sorted(filter(is_identifier, _names(voices, CARD_FILE) | _names(datasets, MODEL_FILE))):
        with suppress(*_DAMAGED):
            if not _is_known(rows.get(name), voices / name, datasets / name):
                with database.write() as connection:  # checked again: row and folders may have changed meanwhile
                    row = connection.execute(own.where(models.c.id == name)).one_or_none()
                    _import(connection, local, row, voices / name, datasets / name)


def _import(connection: Connection, local: Account, row: AnyRow | None, voice: Path, dataset: Path) -> None:
    if _is_known(row, voice, dataset):
        return
    columns = _columns(voice, dataset)
    if row is None:
        new = {"account_id": local.id, "id": voice.name, "created_at": Now(), **columns}
        connection.execute(insert_or_keep(connection, models).values(new))
    else:
        connection.execute(update(models).where(models.c.number == row.number).values(columns))


def _names(folder: Path, file: str) -> set[str]:
    return {path.parent.name for path in folder.glob(f"*/{file}")}


def _is_known(row: AnyRow | None, voice: Path, dataset: Path) -> bool:
    """Return whether the row covers the folders; a voice in training belongs to its worker. Raises VoiceError."""
    if row is None:
        return False
    if row.state == TRAINING:
        return True
    if (voice / CARD_FILE).exists():
        is_earlier = row.voice_key is not None and (row.card.get("format") or 1) < FORMAT
        if row.voice_key is None or (is_earlier and not load_card(voice).is_earlier):
            return False
    return row.dataset_key is not None or not (dataset / MODEL_FILE).exists()


def _columns(voice: Path, dataset: Path) -> Columns:
    """Return the columns for the contents of the folders. Raises VoiceError, DatasetError, TrainingError if damaged."""
    has_voice, has_dataset = (voice / CARD_FILE).exists(), (dataset / MODEL_FILE).exists()
    card = asdict(load_card(voice)) if has_voice else profile_as_json(load_dataset(dataset).profile)
    history = read_history(dataset / TRAINING_FOLDER) if has_dataset else None
    columns = described({**card, "id": voice.name}) | {
        "state": COMPLETED if has_voice else PENDING,
        "voice_key": f"{VOICES}/{voice.name}" if has_voice else None,
        "dataset_key": f"{DATASETS}/{dataset.name}" if has_dataset else None,
        "updated_at": Now(),
    }
    with suppress(OSError, ValueError):
        columns["data_report"] = plain_report(json.loads((dataset / REPORT_FILE).read_text(encoding="utf-8")))
    if history is not None:
        columns |= {"epoch": history.epoch, "epochs": history.ceiling if history.state == "completed" else 0}
    return columns
