"""What tests of the database begin with."""

import json
from dataclasses import replace

import pytest

from studio.store.accounts import Account, create_account, local_account
from studio.store.catalogue import Model, add_model, set_keys


@pytest.fixture
def account(database) -> str:
    """The id of the account that a database begins with."""
    return local_account(database).id


@pytest.fixture
def guest(sqlite_database) -> Account:
    return create_account(sqlite_database, "guest")


@pytest.fixture
def model(sqlite_database, storage, guest, tmp_path) -> Model:
    """A voice that has recordings."""
    recordings = tmp_path / "recordings"
    (recordings / "audio").mkdir(parents=True)
    (recordings / "model.json").write_text(json.dumps({"name": "Mia"}))
    for number in range(3):
        (recordings / "audio" / f"take {number}.wav").write_bytes(bytes([number]) * 1000)
    with sqlite_database.write() as connection:
        model = add_model(connection, storage, guest, {"name": "Mia"}, "pending")
        key = f"accounts/{guest.id}/datasets/{model.id}"
        storage.push_folder(recordings, key)
        set_keys(connection, model, dataset_key=key)
    return replace(model, dataset_key=key)


@pytest.fixture(scope="module")
def voice():
    from engine.voices.voice import load_voice

    return load_voice("kathleen")
