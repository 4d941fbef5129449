"""The voices of an account: listed, under ids of their own, in one state at a time."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from engine.voices.card import DEMO_VOICES, load_card
from engine.voices.card_rules import FORMAT
from studio.errors import Invalid, NotFound
from studio.store import catalogue, tasks
from studio.store.accounts import Account, create_account, local_account
from studio.store.catalogue import (
    Model,
    add_model,
    all_models,
    clear_deleted,
    count_models,
    find_model,
    list_models,
    remove_model,
    report_completed,
    take_failure_report,
    training_begun,
    training_completed,
    training_failed,
    training_reached,
    training_stopped,
)
from studio.store.database import Database
from studio.store.records.codec import plain
from studio.store.storage import Storage
from studio.store.tables import models
from tests.waiting import in_threads

DEMO = ["everett", "goekhan", "kathleen", "kerstin", "koguchi", "safiye"]
FIELDS = ["id", "name", "gender", "age", "description", "base_language", "traits", "genre", "voice_type", "vocal_range"]


@pytest.fixture
def me(database) -> Account:
    return local_account(database)


@pytest.fixture
def guest(database) -> Account:
    return create_account(database, "guest")


@pytest.fixture
def data(folder_storage) -> Iterator[Path]:
    """The data folder, with its folders of voices and recordings."""
    folder = folder_storage.folder("voices").parent
    for name in ("voices", "datasets"):
        (folder / name).mkdir(parents=True)
    return folder


def ids(database: Database, account: Account, **narrowed: object) -> list[str]:
    return [one.id for one in list_models(database, account, **narrowed)[0]]


def states(database: Database, account: Account) -> dict[str, str]:
    return {model.id: model.state for model in all_models(database, account) if not model.is_demo}


def added(
    database: Database, storage: Storage, account: Account, name: str, state: str = "completed", **more: object
) -> Model:
    keys = {key: more.pop(key, None) for key in ("dataset_key", "voice_key")}
    made = {"format": FORMAT} if state == "completed" or keys["voice_key"] else {}  # on the base as it is
    with database.write() as connection:
        return add_model(connection, storage, account, {"name": name, **made, **more}, state, **keys)


def found(database: Database, account: Account, model: Model) -> Model:
    """The row as it is."""
    with database.read() as connection:
        return catalogue._model(
            connection.execute(select(models).where(models.c.account_id == account.id, models.c.id == model.id)).one()
        )


# ---- lists


def test_list_models_lists_the_demo_voices_for_every_account(database, folder_storage, me, guest):
    for account in (me, guest):
        listed, following = list_models(database, account)
        assert [one.id for one in listed] == DEMO
        assert following is None
        assert [list(plain(one)) for one in listed] == [FIELDS] * len(DEMO)
        demo = find_model(database, account, "kathleen")
        assert (demo.is_demo, demo.state) == (True, "completed")
        card = load_card(DEMO_VOICES / "kathleen")
        assert plain(demo.published) == plain(listed[2]) == {name: getattr(card, name) for name in FIELDS}


def test_list_models_lists_only_completed_voices(database, folder_storage, guest):
    for state in ("pending", "training", "completed", "failed"):
        added(database, folder_storage, guest, state, state)
    assert ids(database, guest) == ["completed", *DEMO]
    assert states(database, guest) == {name: name for name in ("pending", "training", "completed", "failed")}
    with database.read() as connection:
        assert count_models(connection, guest.id) == 4


@pytest.mark.parametrize("format", [FORMAT - 1, None])  # cards were once kept without it
def test_find_model_shows_a_voice_of_an_earlier_base_as_pending_and_unlisted(database, folder_storage, guest, format):
    old = added(database, folder_storage, guest, "Old", voice_key="voices/old/1", format=format)
    now = find_model(database, guest, old.id)
    assert (now.state, now.is_earlier, now.epoch, now.voice_key) == ("pending", True, 0, "voices/old/1")
    assert ids(database, guest) == DEMO
    assert states(database, guest) == {"old": "pending"}
    with database.write() as connection:
        training_begun(connection, guest.id, old.id)
        training_stopped(connection, guest.id, old.id)
    assert states(database, guest) == {"old": "pending"}


def test_list_models_returns_all_fields_of_a_voice_with_only_a_name(database, folder_storage, guest):
    added(database, folder_storage, guest, "Zoë")
    assert [plain(one) for one in list_models(database, guest, q="zoë")[0]] == [
        (
            {"id": "zoe", "name": "Zoë", "gender": None, "age": None, "description": "", "base_language": None}
            | {"traits": [], "genre": None, "voice_type": None, "vocal_range": None}
        )
    ]


def test_list_models_filters_by_fields_and_search_words(database, folder_storage, guest):
    added(
        *(database, folder_storage, guest, "Ann"),
        **dict(gender="female", genre="rock", age="adult", base_language="en", voice_type="alto"),
        **dict(traits=["Husky", "Straße"], description="A smoky voice"),
    )
    added(database, folder_storage, guest, "Ben", gender="male", genre="rock", traits=["bright"])
    assert ids(database, guest, genre="rock") == ["ann", "ben"]
    assert ids(database, guest, genre="rock", gender="female") == ["ann"]
    assert ids(database, guest, voice_type="alto", base_language="en", age="adult") == ["ann", "kathleen"]
    assert ids(database, guest, q="HUSKY smoky") == ["ann"]
    assert ids(database, guest, q="strasse") == ["ann"]
    assert ids(database, guest, q="Strässe") == ["ann"]
    assert ids(database, guest, q="husky bright") == []
    assert ids(database, guest, genre="no such genre") == []
    assert ids(database, guest, q="%") == []


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_list_models_returns_each_voice_once_across_pages(database, folder_storage, guest, limit):
    for name in ("Ähre", "anna", "Anna", "zoe", "Gökhan"):
        added(database, folder_storage, guest, name)
    seen: list[str] = []
    cursor = None
    while True:
        listed, cursor = list_models(database, guest, limit=limit, cursor=cursor)
        assert len(listed) <= limit
        seen += [one.id for one in listed]
        if cursor is None:
            break
    assert seen == ids(database, guest)
    assert sorted(seen) == sorted([*DEMO, "ahre", "anna", "anna-2", "zoe", "gokhan"])


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_list_models_refuses_limits_out_of_range(database, folder_storage, guest, limit):
    with pytest.raises(Invalid, match="limit"):
        list_models(database, guest, limit=limit)


# ---- whose they are


def test_find_model_and_remove_model_keep_accounts_apart(database, folder_storage, me, guest):
    mine = added(database, folder_storage, me, "Mia", voice_key=None)
    theirs = added(database, folder_storage, guest, "Mia", genre="jazz")
    assert mine.id == theirs.id == "mia"
    assert find_model(database, guest, "mia").published.genre == "jazz"
    with folder_storage.deleting() as take_away, database.write() as connection:
        remove_model(connection, take_away, guest, theirs)
    with pytest.raises(NotFound):
        find_model(database, guest, "mia")
    assert found(database, me, mine) == mine


@pytest.mark.parametrize("identifier", ["nobody", "", "../etc", "Mia", "a" * 65, "mia\0", "nul", "mia\n", "ü"])
def test_find_model_refuses_unknown_ids(database, folder_storage, me, identifier):
    with pytest.raises(NotFound, match="There is no voice") as trouble:
        find_model(database, me, identifier)
    assert trouble.value.code == "model_not_found"


def test_add_model_gives_unique_ids_to_parallel_calls(database, folder_storage, guest):
    made = in_threads(6, lambda _: added(database, folder_storage, guest, "Mia").id)
    assert sorted(made) == ["mia", *(f"mia-{number}" for number in range(2, 7))]


def test_add_model_avoids_ids_of_demo_voices_and_existing_folders(database, folder_storage, me, data):
    (data / "voices" / "mia").mkdir()
    (data / "datasets" / "mia-2").mkdir()
    assert added(database, folder_storage, me, "Kathleen").id == "kathleen-2"
    assert added(database, folder_storage, me, "Mia").id == "mia-3"


def test_add_model_stores_fields_of_any_length(database, folder_storage, guest):
    card = {"gender": "g" * 5000, "base_language": "a whole sentence", "genre": "rock", "voice_type": None}
    model = added(database, folder_storage, guest, "n" * 100, **card)
    assert find_model(database, guest, model.id).published.gender == "g" * 5000
    assert ids(database, guest, genre="rock") == [model.id]


# ---- states


def test_training_begun_reached_and_completed_update_a_pending_model(database, folder_storage, guest):
    model = added(database, folder_storage, guest, "Mia", "pending", dataset_key="d")
    card = replace(load_card(DEMO_VOICES / "koguchi"), name="Mia")
    with database.write() as connection:
        report_completed(connection, guest.id, model.id, {"verdict": "good", "level": float("nan")})
        training_begun(connection, guest.id, model.id)
        training_reached(connection, model, 7, "trainings/mia/1-1")
    now = find_model(database, guest, "mia")
    assert (now.state, now.epoch, now.training_key, now.epochs) == ("training", 7, "trainings/mia/1-1", 0)
    assert now.data_report == {"verdict": "good", "level": None}
    assert ids(database, guest) == DEMO
    with database.write() as connection:
        training_completed(connection, model, card, "voices/mia/1", epoch=9, epochs=10)
    now = find_model(database, guest, "mia")
    assert (now.state, now.epoch, now.epochs, now.voice_key) == ("completed", 9, 10, "voices/mia/1")
    assert plain(now.published) == {name: getattr(card, name) for name in FIELDS} | {"id": "mia"}
    assert now.updated_at >= model.updated_at
    assert now.created_at == model.created_at
    assert ids(database, guest, voice_type=card.voice_type, q="mia") == ["mia"]


def test_training_does_not_bring_back_a_voice_that_was_deleted(database, folder_storage, guest):
    model = added(database, folder_storage, guest, "Mia", "training")
    folder_storage.put_bytes(b"late", kept := f"accounts/{guest.id}/trainings/mia/checkpoint.pt")
    clear_deleted(database, folder_storage, guest, model)
    assert folder_storage.head(kept) is not None  # it is not deleted yet
    card = load_card(DEMO_VOICES / "koguchi")
    with database.write() as connection:
        connection.execute(models.delete())
    for write in (
        lambda connection: training_reached(connection, model, 7, "trainings/mia/1-1"),
        lambda connection: training_completed(connection, model, card, "voices/mia/1", epoch=9, epochs=10),
    ):
        with pytest.raises(NotFound, match="deleted during its training"), database.write() as connection:
            write(connection)
    clear_deleted(database, folder_storage, guest, model)
    assert folder_storage.head(kept) is None


def test_tell_failure_reports_each_failure_once(database, folder_storage, guest):
    model = added(database, folder_storage, guest, "Mia", "training")
    with database.write() as connection:
        training_failed(connection, guest.id, model.id, "There is no voice in it.")
        assert take_failure_report(connection, guest.id, model.id)
        assert not take_failure_report(connection, guest.id, model.id)
    now = found(database, guest, model)
    assert (now.state, now.error, now.failure_told) == ("failed", "There is no voice in it.", True)
    with database.write() as connection:
        training_begun(connection, guest.id, model.id)
        assert not take_failure_report(connection, guest.id, model.id)
        training_failed(connection, guest.id, model.id, "Again.")
        assert take_failure_report(connection, guest.id, model.id)


@pytest.mark.parametrize(("voice_key", "before"), [(None, "pending"), ("voices/mia/1", "completed")])
def test_training_stopped_restores_the_state_before_the_training(database, folder_storage, guest, voice_key, before):
    model = added(database, folder_storage, guest, "Mia", "training", voice_key=voice_key)
    with database.write() as connection:
        task_id = tasks.submit(connection, guest.id, "training", {"epochs": 5}, model_id=model.id)
        training_stopped(connection, guest.id, model.id)
    assert found(database, guest, model).state == "training"  # the other one waits
    tasks.request_cancel(database, guest.id, task_id)
    with database.write() as connection:
        training_stopped(connection, guest.id, model.id)
    assert found(database, guest, model).state == before
    with database.write() as connection:
        training_failed(connection, guest.id, model.id, "Why.")
        training_stopped(connection, guest.id, model.id)
    assert found(database, guest, model).state == "failed"
