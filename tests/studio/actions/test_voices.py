import shutil
from contextlib import contextmanager
from dataclasses import replace

import pytest

from engine.voices.card import CARD_FILE, DEMO_VOICES, card_text, load_card
from engine.voices.card_rules import FORMAT
from studio.actions.datasets import create_model
from studio.actions.packages import export_model
from studio.actions.tasks import cancel_task
from studio.actions.voices import delete_model, model_view, models_view, refuse_undeletable, train_model
from studio.errors import DiskFull, NotFound, TooMany, WrongState
from studio.executors.recovery import end_training
from studio.store.catalogue import find_model, training_completed, training_reached, voice_prefix
from studio.store.database import Database
from studio.store.tasks import claim, complete, fail, list_tasks
from studio.store.workspaces import alone_in_training

PUBLISHED = {
    "id", "name", "gender", "age", "description", "base_language", "traits", "genre", "voice_type", "vocal_range",
}  # fmt: skip


def state(studio, model):
    return find_model(studio.database, studio.local, model).state


def trainings(studio):
    return [task for task in list_tasks(studio.database, studio.local.id)[0] if task.kind == "training"]


def fail_training(studio):
    task = claim(studio.database, "worker", ["training"], 60)
    with studio.database.write() as connection:
        end_training(connection, fail(connection, task, "It came to nothing.", "reason"))


def finish_training(studio, model, epochs, **changes):
    task = claim(studio.database, "worker", ["training"], 60)
    with studio.database.write() as connection:
        complete(connection, task, {})
        card = replace(load_card(DEMO_VOICES / "kathleen"), **changes)
        key = voice_prefix(studio.local, model)
        shutil.copytree(DEMO_VOICES / "kathleen", studio.storage.folder(key), dirs_exist_ok=True)
        (studio.storage.folder(key) / CARD_FILE).write_text(card_text(card), encoding="utf-8")
        training_completed(connection, studio.local.id, model, card, key, epochs, epochs)


# ---- trained


def test_train_model_starts_once_and_returns_the_progress_when_called_again(studio, package):
    model = create_model(studio, studio.local, package())
    started = train_model(studio, studio.local, model, 3)
    assert started == {"status": "training", "model_id": model, "current_epoch": 0}
    assert train_model(studio, studio.local, model, 3) == started
    assert train_model(studio, studio.local, model, 50) == started
    assert len(trainings(studio)) == 1
    assert state(studio, model) == "training"


def test_train_model_starts_anew_for_a_voice_of_an_earlier_base(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)
    finish_training(studio, model, 3, format=FORMAT - 1)
    assert model not in {one["id"] for one in models_view(studio, studio.local)["models"]}
    view = model_view(studio, studio.local, model)
    assert (view["state"], view["training"]["current_epoch"], view["training"]["history"]) == ("pending", 0, None)
    assert "made with an earlier version" in view["error"]
    again = train_model(studio, studio.local, model, 3)
    assert (again["status"], again["current_epoch"]) == ("training", 0)
    assert model_view(studio, studio.local, model)["training"]["current_epoch"] == 0
    assert len(trainings(studio)) == 2


def test_cancel_task_leaves_a_voice_of_an_earlier_base_pending(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)
    finish_training(studio, model, 3, format=FORMAT - 1)
    train_model(studio, studio.local, model, 9)
    with studio.database.write() as connection:
        training_reached(connection, studio.local.id, model, 2)
    cancel_task(studio, studio.local, trainings(studio)[0].id, "", 0.0)
    view = model_view(studio, studio.local, model)
    assert (view["state"], view["training"]["current_epoch"]) == ("pending", 2)
    for status in ("failed", "training"):  # that it was cancelled is told once
        assert train_model(studio, studio.local, model, 9)["status"] == status
    finish_training(studio, model, 9)
    assert state(studio, model) == "completed"
    assert model in {one["id"] for one in models_view(studio, studio.local)["models"]}


def test_train_model_continues_a_completed_voice_only_for_more_epochs(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)
    finish_training(studio, model, 3)
    assert train_model(studio, studio.local, model, 3) == {"status": "completed", "model_id": model, "current_epoch": 3}
    assert train_model(studio, studio.local, model, 2)["status"] == "completed"
    assert len(trainings(studio)) == 1
    assert train_model(studio, studio.local, model, 4)["status"] == "training"
    assert len(trainings(studio)) == 2


def test_train_model_starts_nothing_when_the_training_ends_during_the_call(studio, package, monkeypatch):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)

    def find_and_be_late(*names):
        found = find_model(*names)
        finish_training(studio, model, 3)
        return found

    monkeypatch.setattr("studio.actions.voices.find_model", find_and_be_late)
    answer = train_model(studio, studio.local, model, 3)
    assert answer == {"status": "completed", "model_id": model, "current_epoch": 3}
    assert len(trainings(studio)) == 1


def test_train_model_refuses_a_voice_deleted_during_the_call(studio, other, package, monkeypatch):
    model = create_model(studio, other, package())

    def find_and_be_late(*names):
        found = find_model(*names)
        with monkeypatch.context() as undone:
            undone.setattr("studio.actions.voices.find_model", find_model)
            delete_model(studio, other, model)
        return found

    monkeypatch.setattr("studio.actions.voices.find_model", find_and_be_late)
    with pytest.raises(NotFound):
        train_model(studio, other, model, 3)
    assert not [task for task in list_tasks(studio.database, other.id)[0] if task.kind == "training"]


def test_train_model_returns_a_failure_once_and_then_continues(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)
    fail_training(studio)
    assert model_view(studio, studio.local, model)["error"] == "It came to nothing."
    assert train_model(studio, studio.local, model, 3)["status"] == "failed"
    assert train_model(studio, studio.local, model, 3)["status"] == "training"
    assert len(trainings(studio)) == 2


def test_train_model_with_another_epoch_total_continues_at_once_after_a_failure(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)
    fail_training(studio)
    assert train_model(studio, studio.local, model, 5)["status"] == "training"


def test_cancel_task_restores_the_voice_state_and_train_model_can_continue(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)
    cancel_task(studio, studio.local, trainings(studio)[0].id, "", 0.0)
    assert state(studio, model) == "pending"
    assert train_model(studio, studio.local, model, 4)["status"] == "training"  # another one
    cancel_task(studio, studio.local, trainings(studio)[0].id, "", 0.0)
    for status in ("failed", "training"):  # whoever only asks how far it is does not begin it again
        assert train_model(studio, studio.local, model, 4)["status"] == status
    finish_training(studio, model, 4)
    train_model(studio, studio.local, model, 9)
    cancel_task(studio, studio.local, trainings(studio)[0].id, "", 0.0)
    assert state(studio, model) == "completed"
    for status in ("failed", "training"):
        assert train_model(studio, studio.local, model, 9)["status"] == status


def test_train_model_limits_the_trainings_of_an_account(studio, package):
    models = [create_model(studio, studio.local, package()) for _ in range(3)]
    for model in models[:2]:
        train_model(studio, studio.local, model, 1)
    with pytest.raises(TooMany):
        train_model(studio, studio.local, models[2], 1)
    assert state(studio, models[2]) == "pending"


def test_train_model_refuses_unknown_voices_and_voices_without_recordings(studio, other):
    with pytest.raises(WrongState):
        train_model(studio, studio.local, "kathleen", 1)
    with pytest.raises(NotFound):
        train_model(studio, studio.local, "nobody", 1)


# ---- deleted


def test_delete_model_removes_everything_but_refuses_during_training(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 1)
    for refused in (delete_model, refuse_undeletable):
        with pytest.raises(WrongState, match="is being trained: wait until it has finished"):
            refused(studio, studio.local, model)
    cancel_task(studio, studio.local, trainings(studio)[0].id, "", 0.0)
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
    assert state(studio, model) == "pending"
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
    assert {one["id"] for one in models_view(studio, studio.local)["models"]} == {
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
    rest = models_view(studio, studio.local, limit=3, cursor=first["next_cursor"])
    names = [one["id"] for one in first["models"] + rest["models"]]
    assert sorted(names) == ["everett", "goekhan", "kathleen", "kerstin", "koguchi", "safiye"]
    assert rest["next_cursor"] is None
    assert all(set(one) == PUBLISHED for one in first["models"])
