"""Voices as folders, whatever the storage is: kept, cached, arriving, and untrained."""

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile

from engine.datasets.dataset import create_dataset
from engine.errors import Cancelled
from engine.voices.card import CARD_FILE, DEMO_VOICES, PREVIEW_FILE, load_card
from studio.errors import NotFound, WrongState
from studio.store import voice_folders
from studio.store.accounts import Account, local_account
from studio.store.catalogue import DATASETS, VOICES, Model, add_model, find_model, remove_model, set_keys
from studio.store.storage import Storage
from studio.store.voice_folders import arriving, drop_older_voices, keep_voice, untrained_folder, voice_folder
from studio.store.workspaces import Workspace, alone_with_untrained, refuse_busy


def test_voice_folder_returns_the_shipped_folder_of_a_demo_voice(sqlite_database, storage, guest):
    demo = find_model(sqlite_database, guest, "koguchi")
    assert voice_folder(storage, demo) == DEMO_VOICES / "koguchi"


def test_voice_folder_refuses_an_untrained_voice(storage, model):
    with pytest.raises(WrongState, match="not trained"):
        voice_folder(storage, model)


def test_voice_folder_returns_a_kept_voice_with_its_preview(storage, guest, voice):
    key = keep_voice(storage, guest, "mia", 3, replace(voice, card=replace(voice.card, id="mia")), voice.preview)
    home = voice_folder(storage, a_model(guest, key))
    assert load_card(home).id == "mia"
    assert (home / PREVIEW_FILE).read_bytes() == voice.preview.read_bytes()
    kept = [path.name for path in storage.scratch.iterdir()] if storage.scratch.exists() else []
    assert kept == (["cache"] if storage.folder("x") is None else [])


def test_keep_voice_leaves_the_earlier_voice_until_its_row_changes(s3_storage, guest, voice):
    first = keep_voice(s3_storage, guest, "mia", 1, voice)
    before = voice_folder(s3_storage, a_model(guest, first))
    second = keep_voice(s3_storage, guest, "mia", 1, replace(voice, card=replace(voice.card, name="Anew")))
    assert first != second
    assert load_card(voice_folder(s3_storage, a_model(guest, first))).name == voice.card.name
    drop_older_voices(s3_storage, guest, a_model(guest, second), first)  # by a worker that comes late
    assert load_card(voice_folder(s3_storage, a_model(guest, second))).name == "Anew"
    drop_older_voices(s3_storage, guest, a_model(guest, second), second)
    assert {key.rpartition("/")[0] for key in s3_storage.list_keys("accounts")} == {second}
    assert (before / CARD_FILE).exists()  # who is reading it can go on
    with pytest.raises(NotFound):
        voice_folder(s3_storage, a_model(guest, first))


def test_voice_folder_fetches_a_voice_from_s3_once(s3_storage, guest, voice, monkeypatch):
    key = keep_voice(s3_storage, guest, "mia", 1, voice)
    home = voice_folder(s3_storage, a_model(guest, key))
    monkeypatch.setattr(s3_storage, "pull_folder", lambda *arguments: pytest.fail("it is there already"))
    assert voice_folder(s3_storage, a_model(guest, key)) == home


def test_voice_folder_fetches_a_replaced_voice_again(s3_storage, guest, tmp_path):
    cards = []
    for name in ("koguchi", "kerstin"):
        shutil.copytree(DEMO_VOICES / name, tmp_path / name)
        s3_storage.push_folder(tmp_path / name, "voices/mia")
        cards.append(load_card(voice_folder(s3_storage, a_model(guest, "voices/mia"))).name)
    assert cards == ["Koguchi", "Kerstin"]


def test_voice_folder_caches_only_the_most_recently_used_voices(s3_storage, guest, monkeypatch):
    monkeypatch.setattr(voice_folders, "MOST_CACHED", 2)
    homes = []
    for number in range(3):
        key = f"voices/v{number}"
        s3_storage.put_bytes(b"{}", f"{key}/card.json")
        s3_storage.put_bytes(bytes([number]), f"{key}/weights.safetensors")
        homes.append(voice_folder(s3_storage, a_model(guest, key)))
        assert homes[-1].exists()
        if number == 1:
            os.utime(homes[0], (0, 0))
    assert [home.exists() for home in homes] == [False, True, True]


@pytest.fixture
def upload(tmp_path) -> Path:
    (tmp_path / "upload" / "audio").mkdir(parents=True)
    (tmp_path / "upload" / "audio" / "one.wav").write_bytes(b"one")
    (tmp_path / "upload" / "model.json").write_text('{"name": "Mia"}')
    return tmp_path / "upload"


def test_arriving_stores_files_under_the_returned_key(storage, guest, upload):
    with arriving(storage, guest, DATASETS, upload) as arrive:
        assert storage.head(f"accounts/{guest.id}/datasets/mia/model.json") is None
        key = arrive("mia")
    assert (key == f"accounts/{guest.id}/datasets/mia") == (storage.folder("x") is not None)
    assert stored(storage) == [f"{key}/audio/one.wav", f"{key}/model.json"]


def test_arriving_moves_files_when_the_id_changes(storage, guest, upload):
    """As where a transaction is tried again, and somebody else has taken the id meanwhile."""
    with arriving(storage, guest, DATASETS, upload) as arrive:
        arrive("mia")
        assert arrive("mia-2") == arrive("mia-2")
        key = arrive("mia-2")
    assert stored(storage) == [f"{key}/audio/one.wav", f"{key}/model.json"]


@pytest.mark.parametrize("arrives", [False, True])
def test_arriving_leaves_nothing_after_an_interruption(storage, guest, upload, arrives):
    with pytest.raises(KeyboardInterrupt), arriving(storage, guest, VOICES, upload) as arrive:  # noqa: PT012
        if arrives:
            arrive("mia")
        raise KeyboardInterrupt
    assert stored(storage) == []
    assert not storage.scratch.exists() or list(storage.scratch.iterdir()) == []


def test_arriving_keeps_no_files_without_an_id(storage, guest, upload):
    with arriving(storage, guest, VOICES, upload):
        pass
    assert stored(storage) == []


def test_remove_model_deletes_its_uploaded_files(sqlite_database, storage, guest, upload):
    with arriving(storage, guest, DATASETS, upload) as arrive, sqlite_database.write() as connection:
        model = add_model(connection, storage, guest, {"name": "Mia"}, "pending")
        set_keys(connection, model, dataset_key=arrive(model.id))
    model = find_model(sqlite_database, guest, "mia")
    with storage.deleting() as take_away, sqlite_database.write() as connection:
        remove_model(connection, take_away, guest, model)
    assert stored(storage) == []


def test_keep_voice_stores_voices_of_the_local_account_in_the_data_folder(sqlite_database, folder_storage, voice):
    me = local_account(sqlite_database)
    with sqlite_database.write() as connection:
        model = add_model(connection, folder_storage, me, {"name": "Mia"}, "pending")
    assert keep_voice(folder_storage, me, model.id, 1, voice) == "voices/mia"
    assert voice_folder(folder_storage, replace(model, voice_key="voices/mia")) == folder_storage.folder("voices/mia")


@pytest.fixture
def untrained(sqlite_database, storage, guest, tmp_path, vocal) -> Model:
    """A voice that has fifteen seconds of recordings."""
    soundfile.write(tmp_path / "one.wav", vocal(15.0, 200.0), 44_100)
    folder = create_dataset([tmp_path / "one.wav"], tmp_path / "dataset", {"name": "Mia"}).folder
    with sqlite_database.write() as connection:
        model = add_model(connection, storage, guest, {"name": "Mia"}, "pending")
        key = f"accounts/{guest.id}/datasets/{model.id}"
        storage.push_folder(folder, key)
        set_keys(connection, model, dataset_key=key)
    return replace(model, dataset_key=key)


def hear(storage: Storage, account: Account, model: Model, said: list[str] | None = None) -> Path:
    told = said if said is not None else []
    return untrained_folder(storage, account, model, lambda fraction, message: told.append(message), "cpu")


@pytest.mark.system
def test_untrained_folder_makes_an_untrained_voice_once(storage, guest, untrained, monkeypatch):
    said: list[str] = []
    home = hear(storage, guest, untrained, said)
    assert load_card(home).is_untrained
    assert said[-1] == "rendering a preview"
    place = f"{untrained.dataset_key}/untrained"
    assert {f"{place}/card.json", f"{place}/weights.safetensors"} <= set(stored(storage))
    assert not [key for key in stored(storage) if "/training" in key or (key.endswith(".wav") and "/audio/" not in key)]
    monkeypatch.setattr(Workspace, "make_untrained", lambda *given: pytest.fail("it is there already"))
    assert hear(storage, guest, untrained) == home


@pytest.mark.parametrize("storage", ["folder"], indirect=True)
@pytest.mark.system
def test_untrained_folder_rebuilds_the_voice_after_the_recordings_change(storage, guest, untrained):
    home = hear(storage, guest, untrained)
    before = (home / "weights.safetensors").stat().st_ino
    os.utime(next((home.parent / "audio").iterdir()), ns=(0, 0))
    assert hear(storage, guest, untrained) == home
    assert (home / "weights.safetensors").stat().st_ino != before


@pytest.mark.system
def test_untrained_folder_rebuilds_a_voice_of_an_earlier_base(storage, guest, untrained, monkeypatch):
    hear(storage, guest, untrained)
    key = f"{untrained.dataset_key}/untrained/card.json"
    card = json.loads(b"".join(storage.read(key)))
    storage.put_bytes(json.dumps(card | {"format": 1}).encode(), key)
    assert not load_card(hear(storage, guest, untrained)).is_earlier


@pytest.mark.parametrize("storage", ["folder"], indirect=True)
def test_untrained_folder_waits_while_another_makes_it_and_can_be_cancelled(storage, guest, untrained):
    home = storage.folder(untrained.dataset_key)

    def stop(fraction, message):
        assert message == "waiting for the analysis of its recordings"
        raise Cancelled

    with alone_with_untrained(home, stop):
        with pytest.raises(Cancelled):
            untrained_folder(storage, guest, untrained, stop, "cpu")
        with pytest.raises(WrongState, match="being analysed"):
            refuse_busy(home)
    refuse_busy(home)


def test_untrained_folder_refuses_a_voice_without_recordings(storage, guest, model):
    with pytest.raises(WrongState, match="not made from recordings"):
        hear(storage, guest, replace(model, dataset_key=None))


def test_untrained_folder_raises_not_found_for_deleted_recordings(storage, guest, untrained):
    storage.delete_below(untrained.dataset_key)
    with pytest.raises(NotFound):
        hear(storage, guest, untrained)
    assert stored(storage) == []


def a_model(account: Account, voice_key: str | None, dataset_key: str | None = None) -> Model:
    return Model(account.id, "mia", "Mia", "completed", {}, voice_key, dataset_key, None, 0, 0, False, None, None, 0, 0)


def stored(storage: Storage) -> list[str]:
    return sorted(storage.list_keys("accounts"))
