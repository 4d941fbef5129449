"""`train` as a user and a script see it; the training itself is the engine's, and stands in for here."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace

import pytest
import soundfile

import engine.training.train
from engine.devices import choose_device
from engine.errors import Cancelled, TrainingError
from engine.training.history import TRAINING_FORMAT, Estimate
from engine.training.plan import TrainingPlan
from engine.voices.card import DEMO_VOICES, load_card
from engine.voices.voice import load_voice
from studio.actions.trainings.training import start_training
from studio.commands.failures import STOPPED
from studio.commands.in_process import local_studio
from studio.executors.worker_ids import owner_of
from studio.store.catalogue import find_model
from studio.store.tasks import claim, list_tasks, request_cancel
from studio.store.workspaces import LOCK_FILE
from tests.command_line import run


@pytest.fixture
def recordings(home):
    folder = home / "datasets" / "anna"
    (folder / "audio").mkdir(parents=True)
    (folder / "model.json").write_text('{"name": "Anna"}')
    soundfile.write(folder / "audio" / "1.wav", [0.0] * 100, 44_100)
    return folder


@pytest.fixture
def computed_on() -> list[str]:
    """The device of each training."""
    return []


@pytest.fixture
def trainings(recordings, monkeypatch, computed_on):
    """What the engine was asked to train; each succeeds at once, its best epoch being 8 of 10."""
    asked = []

    def train_dataset(dataset, plan, report, device):
        asked.append((dataset, plan))
        computed_on.append(device)
        report(0.5, "epoch 5 of 10")
        history = (
            {"state": "completed", "ceiling": plan.epochs, "epochs": [{"epoch": 10}], "format": TRAINING_FORMAT}
            | {"evaluations": [{"epoch": 8, "likeness": 0.81, "pitch_error_cents": 12.0, "score": 1.0, "folder": "8"}]}
            | {"events": [{"epoch": 9, "text": "Nothing has improved since epoch 8."}]}
        )
        (dataset.folder / "training").mkdir(exist_ok=True)
        (dataset.folder / "training" / "history.json").write_text(json.dumps(history))
        voice = load_voice("kathleen")
        return replace(voice, card=replace(voice.card, id="something", name=dataset.profile.name))

    monkeypatch.setattr(engine.training.train, "train_dataset", train_dataset)
    return asked


def test_train_saves_the_voice_under_the_id_of_its_recordings(home, recordings, trainings):
    result = run("train", "anna", "--epochs", 10, "--learning-rate", "1e-4")
    assert (result.exit_code, result.stdout) == (0, "anna\n"), result.stderr
    [(dataset, plan)] = trainings
    assert dataset.folder == recordings
    assert plan == TrainingPlan(epochs=10, learning_rate=1e-4)
    card = load_card(home / "voices" / "anna")
    assert (card.id, card.name) == ("anna", "Anna")
    assert load_voice("anna", home / "voices").preview is not None
    assert "Nothing has improved since epoch 8." in result.stderr
    assert "kept: epoch 8, likeness 0.810, pitch error 12 cents" in result.stderr
    assert "ready" in next(line for line in run("voices").stdout.splitlines() if "anna" in line)


def test_train_passes_the_device_on(home, trainings, computed_on, monkeypatch):
    asked = []

    def working_device(name):
        asked.append(name)
        return choose_device("cpu")

    monkeypatch.setattr("engine.devices.working_device", working_device)
    assert run("train", "anna").exit_code == 0
    assert run("train", "anna", "--epochs", 200, "--device", "cuda").exit_code == 0
    assert set(asked) == {"auto", "cuda"}
    assert computed_on == ["cpu", "cpu"]


def test_train_replaces_the_voice_when_run_again(home, trainings):
    assert run("train", "anna").exit_code == 0
    assert run("train", "anna", "--epochs", 200).exit_code == 0
    assert [plan.epochs for _, plan in trainings] == [100, 200]
    assert [path.name for path in (home / "voices").iterdir()] == ["anna"]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--epochs", "0"), "epochs"),
        (("--epochs", "100001"), "epochs"),
        (("--epochs", "many"), "epochs"),
        (("--learning-rate", "nan"), "learning-rate"),
        (("--batch", "0.5"), "batch"),
    ],
)
def test_train_refuses_an_invalid_setting_and_names_it(home, trainings, options, named):
    result = run("train", "anna", *options)
    assert result.exit_code == 1
    [sentence] = result.stderr.splitlines()
    assert named in sentence
    assert not trainings
    assert not (home / "voices").exists()


def test_train_help_lists_every_setting_of_the_training_plan():
    text = run("train", "--help").stdout
    assert all("--" + field.name.replace("_", "-") in text for field in fields(TrainingPlan))
    assert "preset" not in text


@pytest.mark.parametrize(
    ("voice", "remedy"), [("nobody", "no voice"), ("../anna", "no voice"), ("kathleen", "is a demo voice")]
)
def test_train_refuses_unknown_and_demo_voices(trainings, voice, remedy):
    result = run("train", voice)
    assert result.exit_code == 1
    [sentence] = result.stderr.splitlines()
    assert remedy in sentence
    assert sentence.endswith(".")


@pytest.mark.parametrize("stop", [Cancelled, KeyboardInterrupt])
def test_train_names_the_command_to_continue_after_a_stop(home, recordings, monkeypatch, stop):
    def train_dataset(dataset, plan, report, device):
        raise stop

    monkeypatch.setattr(engine.training.train, "train_dataset", train_dataset)
    result = run("train", "anna")
    assert result.exit_code == STOPPED
    assert result.stderr == "Stopped; continue with python -m studio train anna.\n"
    assert not (home / "voices").exists()
    with local_studio() as studio:
        [task] = list_tasks(studio.database, studio.local.id)[0]
        assert task.state == "cancelled"
        assert find_model(studio.database, studio.local, "anna").state == "pending"


def test_train_estimate_prints_the_time_without_training(home, recordings, trainings, monkeypatch):
    monkeypatch.setattr(engine.training.train, "usable_clips", lambda dataset, report: ["clip"])
    monkeypatch.setattr(
        engine.training.train, "estimate_training", lambda clips, plan, device: Estimate(30.0, 5.0, 31.0 * plan.epochs)
    )
    result = run("train", "anna", "--estimate", "--epochs", 1000)
    assert result.stdout == "8 h 37 min for 1000 epochs: 30.0 s for each epoch, 5.0 s for each evaluation.\n"
    assert "52 min for 100 epochs" in run("train", "anna", "--estimate").stdout
    told = json.loads(run("train", "anna", "--estimate", "--json").stdout)
    assert (told["epochs"], told["epoch_s"], told["total_s"]) == (100, 30.0, 3100.0)
    assert not trainings


def test_train_afresh_deletes_only_the_earlier_training(home, recordings, trainings):
    (recordings / "training").mkdir()
    (recordings / "training" / "curves.png.old").write_bytes(b"old")
    assert run("train", "anna").exit_code == 0
    assert (recordings / "training" / "curves.png.old").exists()
    assert run("train", "anna", "--afresh").exit_code == 0
    assert not (recordings / "training" / "curves.png.old").exists()
    assert (recordings / "training" / "history.json").exists()  # of the new one
    assert (recordings / "audio" / "1.wav").exists()
    assert load_card(home / "voices" / "anna")
    assert sorted(path.name for path in recordings.iterdir()) == [LOCK_FILE, "audio", "model.json", "training"]


def test_train_replaces_the_untrained_voice(recordings, trainings, tmp_path):
    shutil.copytree(DEMO_VOICES / "koguchi", recordings / "untrained")
    assert run("train", "anna").exit_code == 0
    assert not (recordings / "untrained").exists()
    soundfile.write(tmp_path / "vocal.wav", [0.0, 0.1] * 22_050, 44_100)
    result = run("convert", tmp_path / "vocal.wav", "--voice", "anna", "-o", tmp_path)
    assert result.exit_code == 0, result.stderr
    assert "untrained" not in result.stderr
    assert not (recordings / "untrained").exists()


# ---- the same tables as the page and the service


@pytest.fixture
def queue(recordings):
    """The tasks of trainings, newest first."""

    def look():
        with local_studio() as studio:
            return list_tasks(studio.database, studio.local.id, kind="training")[0]

    return look


def ask_on_the_page(epochs: int) -> None:
    with local_studio() as studio:
        start_training(studio, studio.local, "anna", epochs)


def claimed_by(owner: str) -> None:
    with local_studio() as studio:
        assert claim(studio.database, owner, ["training"], 60.0)


def test_train_records_a_completed_task_and_the_model_state(trainings, queue):
    assert run("train", "anna", "--epochs", 10).exit_code == 0
    [task] = queue()
    assert (task.state, task.parameters, task.attempt) == ("completed", {"epochs": 10}, 1)
    with local_studio() as studio:
        model = find_model(studio.database, studio.local, "anna")
    assert (model.state, model.voice_key, model.epoch, model.epochs) == ("completed", "voices/anna", 10, 10)


def test_train_keeps_its_task_from_workers_and_says_why_it_failed(home, recordings, monkeypatch, queue):
    def train_dataset(dataset, plan, report, device):
        with local_studio() as studio:
            assert claim(studio.database, "a worker", ["training"], 60.0) is None
        raise TrainingError("It cannot go on.")

    monkeypatch.setattr(engine.training.train, "train_dataset", train_dataset)
    result = run("train", "anna")
    assert (result.exit_code, result.stderr) == (1, "It cannot go on.\n")
    assert not (home / "voices").exists()
    assert [(task.state, task.error) for task in queue()] == [("failed", "It cannot go on.")]
    assert "training failed" in next(line for line in run("voices").stdout.splitlines() if "anna" in line)


def test_train_refuses_a_voice_already_in_training(trainings, queue):
    ask_on_the_page(20)
    claimed_by(owner_of(os.getpid()))
    for options in ([], ["--afresh"]):
        result = run("train", "anna", *options)
        assert (result.exit_code, result.stdout) == (1, "")
        assert "already being trained" in result.stderr
    assert not trainings
    assert [task.state for task in queue()] == ["running"]


def test_train_cancels_a_queued_training_and_runs_its_own(trainings, queue):
    ask_on_the_page(20)
    assert run("train", "anna", "--epochs", 30).exit_code == 0
    assert [(task.state, task.parameters["epochs"]) for task in queue()] == [("completed", 30), ("cancelled", 20)]


def test_train_cancels_the_task_of_a_dead_process_and_runs_its_own(trainings, queue):
    ask_on_the_page(20)
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        claimed_by(owner_of(process.pid))
        process.kill()
    assert run("train", "anna", "--epochs", 20).exit_code == 0
    assert [task.state for task in queue()] == ["completed", "cancelled"]


def trains_on(monkeypatch, once: Callable[[], None]) -> None:
    """A training that does something at its beginning, and never ends by itself."""

    def train_dataset(dataset, plan, report, device):
        once()
        while True:
            report(0.1, "epoch 1 of 10")
            time.sleep(0.05)

    monkeypatch.setattr(engine.training.train, "train_dataset", train_dataset)


def test_train_stops_if_its_task_is_cancelled_on_the_page(recordings, monkeypatch, queue):
    def cancel():
        with local_studio() as studio:
            [task] = list_tasks(studio.database, studio.local.id, kind="training")[0]
            request_cancel(studio.database, studio.local.id, task.id)

    trains_on(monkeypatch, cancel)
    result = run("train", "anna")
    assert (result.exit_code, result.stdout) == (STOPPED, "")
    assert [task.state for task in queue()] == ["cancelled"]


def test_train_cancels_its_task_on_control_c(recordings, monkeypatch, queue):
    trains_on(monkeypatch, lambda: signal.raise_signal(signal.SIGINT))
    result = run("train", "anna")
    assert (result.exit_code, result.stderr) == (STOPPED, "Stopped; continue with python -m studio train anna.\n")
    assert [task.state for task in queue()] == ["cancelled"]
    with local_studio() as studio:
        assert find_model(studio.database, studio.local, "anna").state == "pending"
