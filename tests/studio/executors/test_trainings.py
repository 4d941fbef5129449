"""Trainings and data reports in the hands of a worker: real ones, as short as they can be."""

import json
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest

import engine.training.train
from engine.audio.files import Audio, read_audio, write_audio
from engine.datasets.dataset import create_dataset
from engine.songs import separator_file
from engine.training.history import read_history
from engine.voices.card import load_card
from engine.voices.voice import load_voice
from studio.errors import Unavailable
from studio.executors import trainings
from studio.executors.heartbeat import Stopping
from studio.executors.work import run_task
from studio.store import tasks
from studio.store import trainings as stored_trainings
from studio.store.accounts import local_account
from studio.store.catalogue import describe, remove_model
from studio.store.workspaces import alone_in_training
from tests.engine.songs.conftest import chords, write_network

pytestmark = pytest.mark.system
SAMPLES = Path(__file__).parents[3] / "engine" / "samples"


@pytest.fixture(autouse=True)
def quick(monkeypatch, short_trainings):
    monkeypatch.setattr("studio.executors.heartbeat._BEAT_S", 0.02)


@pytest.fixture
def voice(installation, recordings):
    """One whose training has had an epoch of two steps."""
    return installation.create_voice(recordings)


def history(installation, model):
    return read_history(installation.settings.datasets / model.id / "training")


def stop_after(monkeypatch, calls, act):
    """Do something once, when the engine has said so often how far it is with the steps of a training."""
    real, said = trainings._Course.report, []

    def report(self, fraction, message):
        if message.startswith("epoch"):
            said.append(message)
            if len(said) == calls:
                act()
        real(self, fraction, message)

    monkeypatch.setattr(trainings._Course, "report", report)


def note_steps(monkeypatch) -> list[int]:
    """The numbers of the steps that are learned from now on."""
    steps, real = [], engine.training.train._Training._learn
    monkeypatch.setattr(
        engine.training.train._Training, "_learn", lambda self, pieces: (steps.append(self.step), real(self, pieces))
    )
    return steps


# ---- done


def test_training_makes_a_usable_voice_and_a_second_one_continues_it(installation, voice):
    first = installation.submit_training(voice.id, 1)
    assert run_task(installation.context(), installation.claim()) == "completed"
    model = installation.model(voice.id)
    assert (model.state, model.epoch, model.epochs, model.voice_key) == ("completed", 1, 1, f"voices/{voice.id}")
    assert installation.task(first).result["epochs"] == 1
    assert "scores" in installation.task(first).result
    card = load_card(installation.settings.voices / voice.id)
    assert (card.id, model.card.vocal_range) == (voice.id, card.vocal_range)
    assert load_voice(voice.id, installation.settings.voices).preview is not None

    conversion = installation.submit_conversion(1.0, model=voice.id)
    assert run_task(installation.context(), installation.claim()) == "completed"
    assert installation.task(conversion).result["output_settings"]["model"] == voice.id

    installation.submit_training(voice.id, 2)  # with another plan than it was begun with: it goes on with that one
    assert installation.model(voice.id).state == "training"
    assert run_task(installation.context(), installation.claim()) == "completed"
    assert [line["epoch"] for line in history(installation, voice).epochs] == [1, 2]
    model = installation.model(voice.id)
    assert (model.state, model.epoch, model.epochs) == ("completed", 2, 2)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_training_completes_on_postgresql(installation, database, recordings):
    there = replace(installation, database=database, account=local_account(database))
    voice = there.create_voice(recordings)
    task_id = there.submit_training(voice.id, 1)
    assert run_task(there.context(), there.claim()) == "completed"
    model = there.model(voice.id)
    assert (there.task(task_id).state, model.state, model.epoch) == ("completed", "completed", 1)


def test_training_fails_with_the_reason_for_a_different_batch_size(installation, voice):
    task_id = installation.submit_training(voice.id, 2, batch=4)
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert "batch 8" in installation.task(task_id).error


def test_report_task_stores_the_data_report_of_the_recordings(installation, voice):
    with installation.database.write() as connection:
        task_id = tasks.submit(connection, installation.account.id, "report", {}, model_id=voice.id)
    assert run_task(installation.context(), installation.claim()) == "completed"
    model = installation.model(voice.id)
    assert model.state == "pending"
    assert len(model.data_report["recordings"]) == 2
    assert installation.task(task_id).state == "completed"
    json.dumps(model.data_report, allow_nan=False)


# ---- on the way


def test_training_updates_the_epoch_and_resets_the_attempt_at_checkpoints(installation, voice, monkeypatch):
    seen = set()
    real = trainings._Course.report

    def report(self, fraction, message):
        real(self, fraction, message)
        seen.add(installation.model(voice.id).epoch)
        seen.add(("attempt", installation.task(task_id).attempt))

    task_id = installation.submit_training(voice.id, 3, save_s=0.0)  # two more
    with installation.database.write() as connection:
        connection.exec_driver_sql("UPDATE tasks SET attempt = 1")
    monkeypatch.setattr(trainings._Course, "report", report)
    assert run_task(installation.context(), installation.claim()) == "completed"
    assert {1, 2} <= seen
    assert ("attempt", 1) in seen  # it was claimed as the second


def test_training_is_saved_and_continued_when_its_worker_stops(installation, voice, monkeypatch):
    stopping = Stopping(60.0)  # which is not used for a training: it loses nothing by stopping at once
    stop_after(monkeypatch, 2, stopping.ask)  # which is said after each step
    task_id = installation.submit_training(voice.id, 3, save_s=3600.0)
    assert run_task(installation.context(stopping=stopping), installation.claim()) == "given back"
    task = installation.task(task_id)
    assert (task.state, task.attempt) == ("queued", 0)
    assert installation.model(voice.id).state == "training"
    steps = note_steps(monkeypatch)
    assert run_task(installation.context(), installation.claim()) == "completed"
    assert steps == [4, 5]
    assert installation.model(voice.id).epoch == 3


def test_cancelled_training_leaves_the_voice_pending_and_keeps_its_checkpoint(installation, voice, monkeypatch):
    task_id = installation.submit_training(voice.id, 50, save_s=3600.0)
    stop_after(monkeypatch, 2, lambda: tasks.request_cancel(installation.database, installation.account.id, task_id))
    assert run_task(installation.context(), installation.claim()) == "cancelled"
    assert installation.task(task_id).state == "cancelled"
    model = installation.model(voice.id)
    assert (model.state, model.voice_key) == ("pending", None)
    assert (installation.settings.datasets / voice.id / "training" / "checkpoint.pt").exists()


# ---- cannot be done


def test_training_on_too_little_voice_reports_the_reason_on_task_and_voice(installation, new_recordings, tmp_path):
    shutil.copytree(new_recordings / "audio", tmp_path / "little" / "audio")
    shutil.copyfile(new_recordings / "model.json", tmp_path / "little" / "model.json")
    next((tmp_path / "little" / "audio").iterdir()).unlink()
    voice = installation.create_voice(tmp_path / "little")
    task_id = installation.submit_training(voice.id, 1)
    assert run_task(installation.context(), installation.claim()) == "failed"
    task, model = installation.task(task_id), installation.model(voice.id)
    assert task.error_code == "dataset_error"
    assert (model.state, model.error) == ("failed", task.error)


def test_training_fails_for_a_voice_without_recordings(installation):
    task_id = installation.submit_training("kathleen", 1)
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert installation.task(task_id).error_code == "no_dataset"


def test_training_fails_without_changes_while_another_worker_uses_the_folder(installation, voice, monkeypatch):
    training = installation.settings.datasets / voice.id / "training"
    before = sorted(training.rglob("*"))
    monkeypatch.setattr("studio.store.trainings.stored_training.__wrapped__.__defaults__", (0.1,))
    task_id = installation.submit_training(voice.id, 1)
    service = replace(installation.service, attempts=1)
    with alone_in_training(installation.settings.datasets / voice.id):
        assert run_task(installation.context(service=service), installation.claim()) == "failed"
    assert installation.task(task_id).error_code == "training_busy"
    assert sorted(training.rglob("*")) == before


def test_training_does_not_restore_a_voice_deleted_during_it(installation, recordings, voice, monkeypatch):
    def delete():
        with installation.storage.deleting() as take_away, installation.database.write() as connection:
            remove_model(connection, take_away, installation.account, voice)

    stop_after(monkeypatch, 2, delete)
    installation.submit_training(voice.id, 2)
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert not (installation.settings.voices / voice.id).exists()
    assert not (installation.settings.datasets / voice.id).exists()
    assert installation.create_voice(recordings).id == voice.id


def test_training_does_not_restore_a_voice_deleted_just_before_its_end(installation, voice, monkeypatch):
    real = stored_trainings.keep_voice

    def keep_voice(*given):
        key = real(*given)
        with installation.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM models")
        shutil.rmtree(installation.settings.datasets / voice.id)
        return key

    monkeypatch.setattr(stored_trainings, "keep_voice", keep_voice)
    installation.submit_training(voice.id, 1)
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert not (installation.settings.voices / voice.id).exists()


# ---- between two writes


def test_training_completes_after_a_crash_between_voice_and_database_row(installation, voice, monkeypatch):
    class Death(BaseException):
        """Ends the work as a crash would: nothing is written after it."""

    def die(self, *given):
        raise Death

    task_id = installation.submit_training(voice.id, 1)
    with monkeypatch.context() as patch:
        patch.setattr("studio.executors.job.Job.publish", die)
        with pytest.raises(Death):
            run_task(installation.context(), installation.claim())
    assert (installation.settings.voices / voice.id).exists()
    assert installation.model(voice.id).state == "training"
    tasks.recover(installation.database, 3, ["this test"])
    assert run_task(installation.context(), installation.claim()) == "completed"
    assert installation.task(task_id).fence == 2
    assert installation.model(voice.id).state == "completed"


def test_training_changes_nothing_after_its_lease_is_lost(installation, voice, monkeypatch):
    task_id = installation.submit_training(voice.id, 2)
    first = installation.claim()
    stop_after(monkeypatch, 1, lambda: tasks.recover(installation.database, 3, ["this test"]))
    assert run_task(installation.context(), first) == "lost"
    assert installation.task(task_id).state == "queued"
    assert installation.model(voice.id).state == "training"
    assert not (installation.settings.voices / voice.id).exists()
    assert run_task(installation.context(), installation.claim()) == "completed"


# ---- a storage that is no folder


@pytest.fixture
def elsewhere(installation, tmp_path, monkeypatch):
    """The same installation with a storage that is no folder of this machine: all is brought there and back."""
    from obstore.store import LocalStore

    from studio.store.storage import ObjectStorage

    monkeypatch.setattr(trainings, "_SAVED_APART_S", 0.0)
    (tmp_path / "elsewhere").mkdir()
    return replace(installation, storage=ObjectStorage(LocalStore(tmp_path / "elsewhere"), installation.settings.data))


def test_training_in_remote_storage_continues_from_the_last_stored_checkpoint(elsewhere, new_recordings, monkeypatch):
    voice = elsewhere.create_voice(new_recordings)
    task_id = elsewhere.submit_training(voice.id, 2, save_s=0.0, batch=8, foreign=1)
    stop_after(monkeypatch, 4, lambda: tasks.recover(elsewhere.database, 3, ["this test"]))  # one evaluation, 3 steps
    assert run_task(elsewhere.context(), elsewhere.claim()) == "lost"
    assert elsewhere.model(voice.id).training_key is not None
    steps = note_steps(monkeypatch)
    assert run_task(elsewhere.context(), elsewhere.claim()) == "completed"
    assert steps[0] in (1, 2, 3)
    assert steps[-1] == 3
    model = elsewhere.model(voice.id)
    assert (model.state, model.epoch) == ("completed", 2)
    keys = list(elsewhere.storage.list_keys(f"voices/{voice.id}"))
    assert {key.rpartition("/")[0] for key in keys} == {model.voice_key}
    elsewhere.submit_conversion(1.0, model=voice.id)
    assert run_task(elsewhere.context(), elsewhere.claim()) == "completed"
    assert elsewhere.task(task_id).fence == 2


@pytest.mark.slow
def test_training_survives_a_short_storage_outage(elsewhere, recordings, monkeypatch):
    voice = elsewhere.create_voice(recordings)
    monkeypatch.setattr(trainings, "SHORT_PATIENCE_S", 0.05)
    real, failed = elsewhere.storage.put_bytes, []

    def put_bytes(data, key):
        if len(failed) < 2 and key.startswith("trainings"):
            failed.append(key)
            raise Unavailable("The storage is out of reach.", 2.0, "storage_unreachable")
        return real(data, key)

    monkeypatch.setattr(elsewhere.storage, "put_bytes", put_bytes)
    elsewhere.submit_training(voice.id, 2, save_s=0.0)
    assert run_task(elsewhere.context(), elsewhere.claim()) == "completed"
    assert len(failed) == 2


def test_training_keeps_profile_changes_made_after_its_submission(installation, voice):
    """The best moment may be from before that."""
    installation.submit_training(voice.id, 1)
    said = {"id": voice.id, "name": "Nina", "genre": "jazz", "consent": {"by": "Nina"}}
    with installation.database.write() as connection:
        describe(connection, installation.account.id, voice.id, said)
    assert run_task(installation.context(), installation.claim("training")) == "completed"
    model = installation.model(voice.id)
    card = load_card(installation.settings.voices / voice.id)
    for known in (card.name, model.name):
        assert known == "Nina"
    assert (card.genre, card.consent) == ("jazz", {"by": "Nina"})
    assert card.vocal_range == model.card.vocal_range  # which nobody has stated
    assert card.vocal_range["min"]


# ---- music removed


@pytest.fixture
def singer(installation, tmp_path, monkeypatch):
    """A voice of the bundled recordings, of which one has music at the sides of the stereo field."""
    folder = installation.settings.separators
    folder.mkdir(parents=True)
    content = write_network(folder / separator_file.PINNED[0].file_name).read_bytes()
    pinned = replace(separator_file.PINNED[0], size=len(content), sha256=sha256(content).hexdigest())
    monkeypatch.setattr(separator_file, "PINNED", (pinned,))
    vocal = read_audio(SAMPLES / "singing.flac").samples[0]
    played = 2.0 * chords(len(vocal) / 44_100)[: len(vocal)]
    (tmp_path / "source").mkdir()
    song = Audio(0.5 * np.stack([vocal + played, vocal - played]), 44_100)
    write_audio(tmp_path / "source" / "song.wav", song)
    shutil.copy(SAMPLES / "speech.flac", tmp_path / "source")
    dataset = create_dataset(tmp_path / "source", tmp_path / "dataset", {"name": "Mia"})
    return installation.create_voice(dataset.folder)


def test_report_removes_the_music_where_that_is_asked_for_and_the_card_says_so(installation, singer):
    with installation.database.write() as connection:
        tasks.submit(connection, installation.account.id, "report", {"remove_music": True}, model_id=singer.id)
    assert run_task(installation.context(), installation.claim()) == "completed"
    model, home = installation.model(singer.id), installation.settings.datasets / singer.id
    assert sorted(path.name for path in (home / "audio").iterdir()) == ["song.wav.flac", "speech.flac"]
    assert [path.name for path in (home / "originals").iterdir()] == ["song.wav"]
    assert model.card.source == "music removed from 1 recording with htdemucs_ft vocals"
    assert model.name == "Mia"
    assert [one["name"] for one in model.data_report["recordings"]] == ["song.wav.flac", "speech.flac"]
    assert not any(found["code"] == "accompaniment" for found in model.data_report["findings"])


def test_music_is_not_removed_without_the_separator_and_nothing_changes(installation, singer):
    (installation.settings.separators / separator_file.PINNED[0].file_name).unlink()
    with installation.database.write() as connection:
        asked = {"remove_music": True}
        task_id = tasks.submit(connection, installation.account.id, "report", asked, model_id=singer.id)
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert "timbre-studio separation fetch" in installation.task(task_id).error
    assert [path.name for path in (installation.settings.datasets / singer.id / "audio").glob("song*")] == ["song.wav"]
