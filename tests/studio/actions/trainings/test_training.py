"""What one sees of a training before, while and after it goes on; no worker is here: its files are written by hand."""

import json
import shutil
from dataclasses import replace

import pytest

from engine.errors import SettingsError
from engine.training.history import Estimate, TrainingHistory, write_history
from engine.voices.card import CARD_FILE, DEMO_VOICES, card_text, load_card
from engine.voices.card_rules import FORMAT
from studio.actions.tasks import cancel_task
from studio.actions.trainings.auditions import auditions_view
from studio.actions.trainings.estimates import seconds_left, start_estimate
from studio.actions.trainings.training import (
    forget_training,
    queue_view,
    start_training,
    train_model,
    trainable_view,
    training_view,
)
from studio.actions.voices.datasets import create_model
from studio.actions.voices.voice import delete_model, model_view, models_view
from studio.errors import NotFound, TooMany, WrongState
from studio.executors.recovery import end_training
from studio.store.catalogue import find_model, training_completed, training_reached
from studio.store.records.codec import plain
from studio.store.tasks import claim, complete, fail, find, list_tasks
from studio.store.voice_folders import voice_prefix
from studio.store.workspaces import alone_in_training

TIMED = {"epoch_s": 2.0, "evaluation_s": 5.0, "total_s": 0.0, "epochs_apart": 10, "setup_s": 0.0}


@pytest.fixture
def voice(studio, package) -> str:
    return create_model(studio, studio.local, package())


def view(studio, voice):
    return training_view(studio, studio.local, voice, "", 0.0)


def trained_so_far(studio, voice, epochs=4):
    """What a worker leaves in the folder of a training."""
    folder = studio.settings.datasets / voice / "training"
    lines = [{"epoch": epoch, "steps": 2, "seconds": 3.0, "envelope": 1.0 / epoch} for epoch in range(1, epochs + 1)]
    evaluations = [
        {"epoch": epoch, "folder": f"{epoch:06d}", "score": score, "likeness": score, "seconds": 4.0}
        for epoch, score in ((0, 0.5), (2, 0.9), (4, 0.8))
    ]
    for place in ("originals", *(f"evaluations/{line['folder']}" for line in evaluations)):
        (folder / place).mkdir(parents=True)
        for part in ("speech-high", "held-out-1"):
            (folder / place / f"{part}.flac").write_bytes(b"sound")
    (folder / "evaluations" / "000002" / "weights.safetensors").write_bytes(b"weights")
    write_history(TrainingHistory("training", 10, lines, evaluations, [], Estimate(9.0, 9.0, 9.0, 2)), folder)
    row = find_model(studio.database, studio.local, voice)
    with studio.database.write() as connection:
        training_reached(connection, row, epochs)
    return folder


def test_trainable_view_lists_voices_with_recordings(studio, voice):
    assert plain(trainable_view(studio, studio.local)) == [
        {"id": "mia", "name": "Mia", "state": "pending", "epoch": 0, "epochs": 0}
    ]
    with pytest.raises(WrongState):
        training_view(studio, studio.local, "kathleen", "", 0.0)


def test_training_view_is_empty_before_the_first_training(studio, voice):
    seen = view(studio, voice)
    assert (seen.begun, seen.task, seen.timed, seen.estimating) == (False, None, None, None)
    assert (seen.parts, seen.evaluations) == ([], [])
    assert seconds_left(seen, 100) is None


def test_start_estimate_queues_one_estimate_for_any_number_of_epochs(studio, voice):
    task_id = start_estimate(studio, studio.local, voice, {"batch": 4})
    assert start_estimate(studio, studio.local, voice) == task_id
    assert view(studio, voice).estimating.state == "queued"
    task = claim(studio.database, "worker", ["estimate"], 60)
    assert task.parameters == {"settings": {"batch": 4}}
    with studio.database.write() as connection:
        complete(connection, task, TIMED)
    seen = view(studio, voice)
    assert seen.timed == Estimate(**TIMED)
    assert seconds_left(seen, 10) == 10 * 2.0 + 2 * 5.0
    assert seconds_left(seen, 100) > 200


def test_training_view_shows_the_error_of_a_failed_estimate(studio, voice):
    start_estimate(studio, studio.local, voice)
    task = claim(studio.database, "worker", ["estimate"], 60)
    with studio.database.write() as connection:
        fail(connection, task, "There is too little voice.", "dataset_error")
    seen = view(studio, voice)
    assert (seen.estimating.state, seen.estimating.error) == ("failed", "There is too little voice.")
    assert seen.timed is None


def test_training_view_ignores_the_estimate_of_an_earlier_voice_of_the_same_name(studio, voice, package):
    start_estimate(studio, studio.local, voice)
    task = claim(studio.database, "worker", ["estimate"], 60)
    with studio.database.write() as connection:
        complete(connection, task, TIMED)
    delete_model(studio, studio.local, voice)
    assert create_model(studio, studio.local, package()) == voice
    assert view(studio, voice).timed is None


def test_seconds_left_follows_from_the_measured_epochs(studio, voice):
    trained_so_far(studio, voice)
    seen = view(studio, voice)
    assert seen.timed == Estimate(epoch_s=3.0, evaluation_s=4.0, total_s=0.0, epochs_apart=2)
    assert seconds_left(seen, 10) == 6 * 3.0 + 3 * 4.0
    assert seconds_left(seen, 4) == 0


def test_training_view_shows_evaluations_with_sounds_and_marks_the_kept_one(studio, voice):
    trained_so_far(studio, voice)
    seen = view(studio, voice)
    assert {part.name for part in seen.parts} == {"speech-high", "held-out-1"}
    assert [line["kept"] for line in seen.evaluations] == [False, True, False]
    assert [line["complete"] for line in seen.evaluations] == [False, True, False]
    for line in seen.evaluations:
        assert set(line["sounds"]) == {"speech-high", "held-out-1"}
        assert f"/evaluations/{line['epoch']:06d}/" in line["sounds"]["speech-high"]
    assert seen.evaluations == auditions_view(studio, studio.local, voice, "", 0.0).evaluations
    json.dumps(plain(seen))


def test_queue_view_shows_the_place_of_each_waiting_training(studio, package):
    voices = [create_model(studio, studio.local, package(name=name)) for name in ("Ada", "Bea")]
    for voice in voices:
        start_training(studio, studio.local, voice, 3)
    assert [(task.model, task.place) for task in queue_view(studio, studio.local, "", 0.0)] == [("ada", 1), ("bea", 2)]
    claim(studio.database, "worker", ["training"], 60)
    assert [(task.model, task.place) for task in queue_view(studio, studio.local, "", 0.0)] == [
        ("ada", None),
        ("bea", 1),
    ]
    assert view(studio, "bea").task.place == 1


def test_start_training_uses_the_given_settings_and_restarts_after_a_failure(studio, voice):
    start_training(studio, studio.local, voice, 3, {"batch": 4, "patience": 0})
    task = claim(studio.database, "worker", ["training"], 60)
    assert task.parameters == {"epochs": 3, "batch": 4, "patience": 0}
    with studio.database.write() as connection:
        end_training(connection, fail(connection, task, "It came to nothing.", "reason"))
    assert view(studio, voice).error == "It came to nothing."
    assert start_training(studio, studio.local, voice, 3)["status"] == "training"


@pytest.mark.parametrize("settings", [{"batch": 0}, {"loudness": 1}, {"learning_rate": "fast"}])
def test_start_training_and_start_estimate_refuse_invalid_settings(studio, voice, settings):
    for act in (
        lambda: start_training(studio, studio.local, voice, 3, settings),
        lambda: start_estimate(studio, studio.local, voice, settings),
    ):
        with pytest.raises(SettingsError):
            act()
    assert view(studio, voice).task is None


def test_forget_training_deletes_the_training_and_keeps_the_voice(studio, voice):
    folder = trained_so_far(studio, voice)
    start_training(studio, studio.local, voice, 9)
    with pytest.raises(WrongState, match="stop the training first"):
        forget_training(studio, studio.local, voice)
    cancel_task(studio, studio.local, view(studio, voice).task.id, "", 0.0)
    with alone_in_training(studio.settings.datasets / voice), pytest.raises(WrongState, match="command line"):
        forget_training(studio, studio.local, voice)
    assert folder.exists()
    forget_training(studio, studio.local, voice)
    assert not folder.exists()
    model = find_model(studio.database, studio.local, voice)
    assert (model.state, model.epoch, model.epochs) == ("pending", 0, 0)
    assert (studio.settings.datasets / voice / "audio").exists()
    assert not view(studio, voice).begun


def test_training_actions_hide_trainings_of_other_accounts(studio, other, voice):
    start_training(studio, studio.local, voice, 3)
    assert queue_view(studio, other, "", 0.0) == []
    assert trainable_view(studio, other) == []
    for act in (
        lambda: training_view(studio, other, voice, "", 0.0),
        lambda: start_training(studio, other, voice, 3),
        lambda: start_estimate(studio, other, voice),
        lambda: forget_training(studio, other, voice),
        lambda: auditions_view(studio, other, voice, "", 0.0),
        lambda: find(studio.database, other.id, view(studio, voice).task.id),
    ):
        with pytest.raises(NotFound):
            act()


def test_training_view_ignores_a_history_of_an_earlier_version(studio, voice):
    folder = trained_so_far(studio, voice)
    assert view(studio, voice).begun
    history = json.loads((folder / "history.json").read_text())
    (folder / "history.json").write_text(json.dumps({key: value for key, value in history.items() if key != "format"}))
    seen = view(studio, voice)
    assert (seen.history, seen.begun) == (None, False)


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
    row = find_model(studio.database, studio.local, model)
    with studio.database.write() as connection:
        complete(connection, task, {})
        card = replace(load_card(DEMO_VOICES / "kathleen"), **changes)
        key = voice_prefix(studio.local, model)
        shutil.copytree(DEMO_VOICES / "kathleen", studio.storage.folder(key), dirs_exist_ok=True)
        (studio.storage.folder(key) / CARD_FILE).write_text(card_text(card), encoding="utf-8")
        training_completed(connection, row, card, key, epochs, epochs)


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
    assert model not in {one.id for one in models_view(studio, studio.local).models}
    view = model_view(studio, studio.local, model)
    assert (view.state, view.training.current_epoch, view.training.history) == ("pending", 0, None)
    assert "made with an earlier version" in view.error
    again = train_model(studio, studio.local, model, 3)
    assert (again["status"], again["current_epoch"]) == ("training", 0)
    assert model_view(studio, studio.local, model).training.current_epoch == 0
    assert len(trainings(studio)) == 2


def test_cancel_task_leaves_a_voice_of_an_earlier_base_pending(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)
    finish_training(studio, model, 3, format=FORMAT - 1)
    train_model(studio, studio.local, model, 9)
    row = find_model(studio.database, studio.local, model)
    with studio.database.write() as connection:
        training_reached(connection, row, 2)
    cancel_task(studio, studio.local, trainings(studio)[0].id, "", 0.0)
    view = model_view(studio, studio.local, model)
    assert (view.state, view.training.current_epoch) == ("pending", 2)
    for status in ("failed", "training"):  # that it was cancelled is told once
        assert train_model(studio, studio.local, model, 9)["status"] == status
    finish_training(studio, model, 9)
    assert state(studio, model) == "completed"
    assert model in {one.id for one in models_view(studio, studio.local).models}


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

    monkeypatch.setattr("studio.actions.trainings.training.find_model", find_and_be_late)
    answer = train_model(studio, studio.local, model, 3)
    assert answer == {"status": "completed", "model_id": model, "current_epoch": 3}
    assert len(trainings(studio)) == 1


def test_train_model_refuses_a_voice_deleted_during_the_call(studio, other, package, monkeypatch):
    model = create_model(studio, other, package())

    def find_and_be_late(*names):
        found = find_model(*names)
        with monkeypatch.context() as undone:
            undone.setattr("studio.actions.trainings.training.find_model", find_model)
            delete_model(studio, other, model)
        return found

    monkeypatch.setattr("studio.actions.trainings.training.find_model", find_and_be_late)
    with pytest.raises(NotFound):
        train_model(studio, other, model, 3)
    assert not [task for task in list_tasks(studio.database, other.id)[0] if task.kind == "training"]


def test_train_model_returns_a_failure_once_and_then_continues(studio, package):
    model = create_model(studio, studio.local, package())
    train_model(studio, studio.local, model, 3)
    fail_training(studio)
    assert model_view(studio, studio.local, model).error == "It came to nothing."
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
