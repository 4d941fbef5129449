import json
import shutil
from contextlib import contextmanager

import pytest

from engine.voices.card import CARD_FILE, DEMO_VOICES
from studio.actions.tasks import cancel_task
from studio.actions.trainings.training import train_model
from studio.actions.voices.datasets import create_model
from studio.actions.voices.packages import export_model, import_model
from studio.actions.voices.voice import delete_model, model_view, models_view, refuse_undeletable
from studio.errors import DiskFull, NotFound, WrongState
from studio.store.catalogue import find_model
from studio.store.database import Database
from studio.store.folder_import import import_folders
from studio.store.records.codec import plain
from studio.store.tasks import list_tasks
from studio.store.workspaces import alone_in_training

PUBLISHED = set("id name gender age description base_language traits genre voice_type vocal_range".split())


@pytest.mark.parametrize(
    ("voice", "median"), [("safiye", {"spoken_pitch": 55.76}), ("kathleen", {"sung_pitch": 60.07}), ("koguchi", {})]
)
def test_model_view_says_what_is_estimated_of_a_demo_voice_and_of_an_imported_one(studio, tmp_path, voice, median):
    export_model(studio, studio.local, voice, tmp_path / "out.zip")
    imported = import_model(studio, studio.local, tmp_path / "out.zip")
    for model in (voice, imported):
        said = model_view(studio, studio.local, model).estimated
        assert {name: pitch["median"] for name, pitch in said.items()} == median


def test_model_view_estimates_for_a_voice_of_before_and_leaves_its_card_alone(studio):
    home = studio.settings.voices / "mine"
    shutil.copytree(DEMO_VOICES / "safiye", home)
    card = json.loads((home / CARD_FILE).read_text(encoding="utf-8"))
    del card["estimated"]
    (home / CARD_FILE).write_text(json.dumps(card), encoding="utf-8")
    before = (home / CARD_FILE).read_bytes()
    import_folders(studio.database, studio.storage, studio.local)
    assert list(model_view(studio, studio.local, "mine").estimated) == ["spoken_pitch"]
    assert (home / CARD_FILE).read_bytes() == before


def test_model_view_estimates_nothing_without_a_voice(studio, package):
    assert model_view(studio, studio.local, create_model(studio, studio.local, package())).estimated == {}


def test_delete_model_removes_everything_but_refuses_during_training(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 1)
    for refused in (delete_model, refuse_undeletable):
        with pytest.raises(WrongState, match="is being trained: wait until it has finished"):
            refused(studio, studio.local, model)
    cancel_task(studio, studio.local, list_tasks(studio.database, studio.local.id, kind="training")[0][0].id, "", 0.0)
    refuse_undeletable(studio, studio.local, model)
    delete_model(studio, studio.local, model)
    with pytest.raises(NotFound):
        model_view(studio, studio.local, model)
    assert not (studio.settings.datasets / model).exists()


def test_delete_model_on_a_full_disk_keeps_the_voice(studio, package, monkeypatch):
    model = create_model(studio, studio.local, package())
    write = Database.write

    @contextmanager
    def write_on_a_full_disk(database):
        with write(database) as connection:
            yield connection
            raise DiskFull("The disk of the database is full. Free some space and try again.")

    with monkeypatch.context() as patch:
        patch.setattr(Database, "write", write_on_a_full_disk)
        with pytest.raises(DiskFull):
            delete_model(studio, studio.local, model)
    assert find_model(studio.database, studio.local, model).state == "pending"
    assert (studio.settings.datasets / model / "audio" / "one.wav").exists()
    assert not list(studio.settings.work.glob("gone-*"))
    delete_model(studio, studio.local, model)
    assert not (studio.settings.datasets / model).exists()


def test_delete_model_refuses_during_training_from_the_command_line(studio, package):
    model = create_model(studio, studio.local, package())
    with alone_in_training(studio.settings.datasets / model), pytest.raises(WrongState, match="command line"):
        delete_model(studio, studio.local, model)
    assert (studio.settings.datasets / model / "audio").exists()
    delete_model(studio, studio.local, model)
    assert not (studio.settings.datasets / model).exists()


def test_delete_model_refuses_a_demo_voice(studio):
    with pytest.raises(WrongState):
        delete_model(studio, studio.local, "koguchi")
    assert {one.id for one in models_view(studio, studio.local).models} == {
        "everett",
        "goekhan",
        "kathleen",
        "kerstin",
        "koguchi",
        "safiye",
    }


def test_model_actions_refuse_the_voices_of_other_accounts(studio, other, package, tmp_path):
    model = create_model(studio, studio.local, package(name="Mine"))
    for act in (model_view, delete_model, lambda *a: train_model(*a, 1), lambda *a: export_model(*a, tmp_path / "x")):
        with pytest.raises(NotFound):
            act(studio, other, model)


def test_models_view_pages_through_all_voices(studio):
    first = models_view(studio, studio.local, limit=3)
    rest = models_view(studio, studio.local, limit=3, cursor=first.next_cursor)
    names = [one.id for one in first.models + rest.models]
    assert sorted(names) == ["everett", "goekhan", "kathleen", "kerstin", "koguchi", "safiye"]
    assert rest.next_cursor is None
    assert all(set(plain(one)) == PUBLISHED for one in first.models)
