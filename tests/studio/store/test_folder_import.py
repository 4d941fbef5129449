"""Voices that lie in the data folder without a row, as the command line made them up to 0.7."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.training.history import TrainingHistory, write_history
from engine.voices.card import CARD_FILE, DEMO_VOICES
from engine.voices.card_rules import FORMAT
from studio.store import folder_import
from studio.store.accounts import Account, local_account
from studio.store.catalogue import Model, add_model, all_models, find_model, remove_model, training_begun
from studio.store.folder_import import import_folders
from tests.cards import rewrite_card, update_card
from tests.waiting import in_threads


@pytest.fixture
def me(database) -> Account:
    return local_account(database)


@pytest.fixture
def data(folder_storage) -> Path:
    return folder_storage.folder("voices").parent


@pytest.fixture
def imported(database, folder_storage, me) -> Callable[[], dict[str, Model]]:
    """Imports, and gives the account's own voices by id."""

    def run() -> dict[str, Model]:
        import_folders(database, folder_storage, me)
        return {model.id: model for model in all_models(database, me) if not model.is_demo}

    return run


def a_voice(data: Path, identifier: str, **changes: object) -> Path:
    home = data / "voices" / identifier
    shutil.copytree(DEMO_VOICES / "kathleen", home)
    update_card(home, **{"name": identifier.title(), **changes})
    return home


def a_dataset(data: Path, identifier: str, **profile: object) -> Path:
    home = data / "datasets" / identifier
    (home / "audio").mkdir(parents=True)
    (home / "audio" / "one.wav").write_bytes(b"RIFF")
    (home / "model.json").write_text(json.dumps({"name": identifier.title(), **profile}))
    return home


def test_import_folders_adds_nothing_for_an_empty_data_folder(imported):
    assert imported() == {}


def test_import_folders_adds_a_row_for_a_voice(imported, data):
    a_voice(data, "mia", genre="jazz")
    model = imported()["mia"]
    assert (model.state, model.voice_key, model.dataset_key) == ("completed", "voices/mia", None)
    assert (model.name, model.published.genre) == ("Mia", "jazz")


def test_import_folders_adds_recordings_with_their_report_and_training(imported, data):
    home = a_dataset(data, "mia", genre="jazz")
    (home / "report.json").write_text('{"verdict": "warn", "snr_db": NaN}')
    (home / "training").mkdir()
    write_history(TrainingHistory("training", 20, [{"epoch": 12, "steps": 1, "seconds": 1.0}]), home / "training")
    (a_dataset(data, "ben") / "report.json").write_text("cut o")
    found = imported()
    mia = found["mia"]
    assert (mia.state, mia.dataset_key, mia.voice_key) == ("pending", "datasets/mia", None)
    assert (mia.epoch, mia.epochs, mia.data_report) == (12, 0, {"verdict": "warn", "snr_db": None})
    assert mia.published.genre == "jazz"
    assert found["ben"].data_report is None


def test_import_folders_joins_a_trained_voice_to_its_recordings(imported, data):
    home = a_dataset(data, "mia")
    created_at = imported()["mia"].created_at
    a_voice(data, "mia")
    (home / "training").mkdir()
    write_history(TrainingHistory("completed", 20, [{"epoch": 20, "steps": 1, "seconds": 1.0}]), home / "training")
    mia = imported()["mia"]
    assert (mia.state, mia.voice_key, mia.dataset_key) == ("completed", "voices/mia", "datasets/mia")
    assert (mia.epoch, mia.epochs, mia.created_at) == (20, 20, created_at)


def test_import_folders_updates_a_retrained_voice_of_an_earlier_base(imported, data):
    home = a_voice(data, "mia")
    rewrite_card(home, format=FORMAT - 1)
    assert imported()["mia"].must_be_trained_again
    rewrite_card(home, format=FORMAT)
    assert imported()["mia"].state == "completed"


def test_import_folders_leaves_completed_and_training_rows_unchanged(database, imported, data, me):
    home = a_voice(data, "mia")
    before = imported()
    update_card(home, name="Changed by hand")
    assert imported() == before
    a_dataset(data, "ben")
    imported()
    with database.write() as connection:
        training_begun(connection, me.id, "ben")
    a_voice(data, "ben")
    assert imported()["ben"].state == "training"  # its worker is about to publish it


def test_import_folders_skips_damaged_folders(imported, data):
    (a_voice(data, "ben") / CARD_FILE).write_text("nonsense")
    (a_dataset(data, "ann") / "model.json").write_text("[]")
    (a_dataset(data, "eva") / "model.json").write_text('{"name": "Eva", "gender": "loud"}')
    a_voice(data, "mia")
    (data / "voices" / "No id").mkdir()
    (data / "voices" / "notes.txt").write_text("x")
    assert list(imported()) == ["mia"]


def test_import_folders_imports_nothing_with_s3_storage(database, s3_storage, me, tmp_path):
    a_voice(tmp_path / "data", "mia")
    import_folders(database, s3_storage, me)
    assert all(model.is_demo for model in all_models(database, me))


def test_import_folders_imports_every_voice_when_run_in_parallel(imported, data):
    expected = {f"voice-{number}" for number in range(8)}
    for name in expected:
        a_voice(data, name)
    assert in_threads(5, lambda _: set(imported())) == [expected] * 5


def test_import_folders_does_not_restore_a_deleted_voice(database, folder_storage, imported, data, me):
    a_voice(data, "mia")
    a_dataset(data, "mia")
    model = imported()["mia"]
    with folder_storage.deleting() as take_away, database.write() as connection:
        remove_model(connection, take_away, me, model)
    assert imported() == {}


def test_import_folders_handles_voices_added_or_deleted_meanwhile(
    database, folder_storage, imported, data, me, monkeypatch
):
    """Another process deletes one voice and makes another, between the look at the folders and the transaction."""
    going = a_voice(data, "going")
    coming = a_dataset(data, "coming")

    def look_and_be_late(row: object, voice: Path, dataset: Path) -> bool:
        monkeypatch.setattr(folder_import, "_is_known", is_known)
        shutil.rmtree(going)
        shutil.move(coming, data / "aside")
        with database.write() as connection:
            add_model(connection, folder_storage, me, {"name": "Coming"}, "pending", dataset_key="datasets/coming")
        shutil.move(data / "aside", coming)
        return False

    is_known = folder_import._is_known
    monkeypatch.setattr(folder_import, "_is_known", look_and_be_late)
    assert list(imported()) == ["coming"]
    assert find_model(database, me, "coming").name == "Coming"
