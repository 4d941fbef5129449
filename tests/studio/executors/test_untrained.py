"""Voices before they are trained, in the hands of a worker: real ones, as short as they can be."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import soundfile

from engine.datasets.dataset import create_dataset
from engine.voices.card import DEMO_VOICES, load_card
from studio.errors import NotFound
from studio.executors import untrained
from studio.executors.work import run_task
from studio.store import tasks
from studio.store.catalogue import find_model, remove_model, set_keys
from studio.store.folder_import import import_folders
from studio.store.tables import tasks as rows

pytestmark = pytest.mark.system


@pytest.fixture(scope="module")
def fifteen_seconds(tmp_path_factory, vocal) -> Path:
    """The folder of a dataset."""
    folder = tmp_path_factory.mktemp("recordings")
    soundfile.write(folder / "one.wav", vocal(15.0, 200.0), 44_100)
    return create_dataset([folder / "one.wav"], folder / "dataset", {"name": "Mia"}).folder


@pytest.fixture
def mia(installation, fifteen_seconds):
    """A voice that is still to be trained."""
    return installation.create_voice(fifteen_seconds)


def examine(installation, model) -> str:
    with installation.database.write() as connection:
        return tasks.submit(connection, installation.account.id, "report", {}, model_id=model.id)


def convert(installation, model, is_asked_for: bool = True) -> str:
    """Queue a conversion with a voice that may be untrained."""
    task_id = installation.submit_conversion(1.0, model=model.id)
    if is_asked_for:
        with installation.database.write() as connection:
            changed = installation.task(task_id).parameters | {"untrained": True}
            connection.execute(rows.update().where(rows.c.id == task_id).values(parameters=changed))
    return task_id


def home(installation, model) -> Path:
    return installation.settings.datasets / model.id / "untrained"


def test_run_task_makes_an_untrained_voice_for_a_conversion(installation, mia):
    task_id = convert(installation, mia)
    assert run_task(installation.context(), installation.claim("conversion")) == "completed"
    task = installation.task(task_id)
    assert task.result["untrained"]
    assert task.result["output_settings"].items() > {"model": "mia", "vocal_style": "melodic"}.items()
    assert load_card(home(installation, mia)).is_untrained
    assert installation.model("mia").state == "pending"
    assert not (home(installation, mia).parent / "training").exists()


def test_run_task_makes_an_untrained_voice_with_the_report(installation, mia, monkeypatch):
    examine(installation, mia)
    assert run_task(installation.context(), installation.claim("report")) == "completed"
    assert installation.model("mia").data_report["usable_s"] > 10
    assert load_card(home(installation, mia)).name == "Mia"
    monkeypatch.setattr("engine.training.untrained.untrained_voice", lambda *given: pytest.fail("it is there already"))
    convert(installation, mia)
    assert run_task(installation.context(), installation.claim("conversion")) == "completed"


def test_run_task_refuses_an_untrained_voice_unless_requested(installation, mia):
    task_id = convert(installation, mia, is_asked_for=False)
    assert run_task(installation.context(), installation.claim("conversion")) == "failed"
    assert "not trained yet" in installation.task(task_id).error
    assert not home(installation, mia).exists()


def test_run_task_converts_with_a_voice_trained_meanwhile(installation, mia):
    task_id = convert(installation, mia)
    shutil.copytree(DEMO_VOICES / "kathleen", installation.settings.voices / "mia")
    import_folders(installation.database, installation.storage, installation.account)
    assert run_task(installation.context(), installation.claim("conversion")) == "completed"
    assert not installation.task(task_id).result["untrained"]
    assert not home(installation, mia).exists()


def test_run_task_makes_a_report_but_no_voice_from_too_little_sound(installation, tmp_path, vocal):
    soundfile.write(tmp_path / "one.wav", vocal(5.0, 200.0), 44_100)
    short = installation.create_voice(create_dataset([tmp_path / "one.wav"], tmp_path / "d", {"name": "Mia"}).folder)
    task_id = convert(installation, short)
    assert run_task(installation.context(), installation.claim("conversion")) == "failed"
    assert "less than 10 s do not contain every sound" in installation.task(task_id).error
    report = examine(installation, short)
    assert run_task(installation.context(), installation.claim("report")) == "completed"
    assert installation.task(report).state == "completed"
    assert "too_little" in {one["code"] for one in installation.model("mia").data_report["findings"]}
    assert not home(installation, short).exists()


def test_run_task_deletes_an_untrained_voice_whose_model_was_deleted_meanwhile(installation, mia, monkeypatch):
    real = untrained.untrained_folder

    def made_late(storage, account, model, report, device):
        folder = real(storage, account, model, report, device)
        kept = folder.rename(folder.parent.parent / "aside")
        with storage.deleting() as take_away, installation.database.write() as connection:
            remove_model(connection, take_away, account, model)
        folder.parent.mkdir()
        return kept.rename(folder)

    monkeypatch.setattr(untrained, "untrained_folder", made_late)
    task_id = convert(installation, mia)
    assert run_task(installation.context(), installation.claim("conversion")) == "failed"
    assert "There is no voice" in installation.task(task_id).error
    assert not home(installation, mia).exists()
    with pytest.raises(NotFound):
        find_model(installation.database, installation.account, "mia")


def test_run_task_keeps_an_untrained_voice_in_s3_storage(installation, s3_storage, fifteen_seconds, tmp_path):
    there = replace(installation, storage=s3_storage)
    mia = there.create_voice(fifteen_seconds)
    s3_storage.push_folder(shutil.copytree(fifteen_seconds, tmp_path / "again"), "datasets/elsewhere")
    with there.database.write() as connection:
        set_keys(connection, mia, dataset_key="datasets/elsewhere")
    examine(there, mia)
    assert run_task(there.context(), there.claim("report")) == "completed"
    assert s3_storage.head("datasets/elsewhere/untrained/weights.safetensors") is not None
    task_id = convert(there, mia)
    assert run_task(there.context(), there.claim("conversion")) == "completed"
    assert there.task(task_id).result["untrained"]


def test_run_task_replaces_the_untrained_voice_after_training(installation, mia, short_trainings):
    examine(installation, mia)
    assert run_task(installation.context(), installation.claim("report")) == "completed"
    assert home(installation, mia).is_dir()
    installation.submit_training("mia", 1, batch=8, foreign=1)
    assert run_task(installation.context(), installation.claim("training")) == "completed"
    assert installation.model("mia").state == "completed"
    assert not home(installation, mia).exists()
    assert not load_card(installation.settings.voices / "mia").is_untrained
