"""Teachings in the hands of a worker, with small random networks."""

import shutil
from dataclasses import asdict

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio, write_audio
from engine.datasets.dataset import load_dataset
from engine.datasets.teaching import TeachingSource
from engine.rvc import contentvec
from engine.training.checkpoint_audition import FOREIGN
from engine.voices.card import load_card
from studio.actions.voices.voice import taught_by
from studio.executors.heartbeat import Stopping
from studio.executors.work import run_task
from studio.store import tasks
from studio.store.catalogue import add_model, all_models, set_keys
from studio.store.records.codec import plain
from studio.store.voice_folders import voice_prefix
from tests.cards import update_card
from tests.engine.rvc.models import import_small, use_small_contentvec, write_small_contentvec

pytestmark = pytest.mark.system

OWNER = {"statement": "I agree.", "by": "Mia Muster"}


@pytest.fixture
def ask(installation, tmp_path, monkeypatch, short_auditions, short_foreign):
    """Queues a teaching by an imported voice that sings one recording of the user's and one that is bundled."""
    monkeypatch.setenv("TIMBRE_STUDIO_HOME", str(tmp_path / "data"))
    monkeypatch.setattr(
        "engine.datasets.teaching.bundled_sources", lambda: [TeachingSource(short_foreign / "speech-high.flac")]
    )
    write_small_contentvec(tmp_path / "data")
    use_small_contentvec(monkeypatch)
    contentvec._loaded.cache_clear()
    imported = tmp_path / "imported"
    folder = imported / import_small(imported, "v1").id
    card = update_card(folder, consent=OWNER, licence="CC BY 4.0")
    with installation.database.write() as connection:
        model = add_model(connection, installation.storage, installation.account, asdict(card), "completed")
        installation.storage.push_folder(folder, key := voice_prefix(installation.account, model.id))
        set_keys(connection, model, voice_key=key)
    singing = [read_audio(path) for path in (FOREIGN.parent / "singing.flac", FOREIGN / "singing-high.flac")]
    write_audio(tmp_path / "own.flac", Audio(np.concatenate([one.samples for one in 2 * singing], 1), singing[0].rate))

    def asked(own=True, **parameters):
        key = f"tasks/{'a' * 24}/source-001/own.flac"
        if own:
            installation.storage.put_file(shutil.copy(tmp_path / "own.flac", tmp_path / "copy.flac"), key)
        given = {"teacher": model.id, "name": "Mia II", "epochs": 0, "sources": [key] if own else []} | parameters
        with installation.database.write() as connection:
            return tasks.submit(
                connection, installation.account.id, "teaching", given, model_id=model.id, task_id="a" * 24
            )

    yield asked
    contentvec._loaded.cache_clear()


def made(installation):
    return [one for one in all_models(installation.database, installation.account) if one.name == "Mia II"]


def test_teaching_creates_a_voice_with_recordings_origin_consent_and_training(installation, ask):
    left_out = {"name": "words.txt", "reason": "This file is left out, since it is not audio."}
    task_id = ask(epochs=3, left_out=[left_out])
    assert run_task(installation.context(), installation.claim("teaching")) == "completed"
    assert installation.task(task_id).result == {"model_id": "mia-ii"}
    (model,) = made(installation)
    assert (model.id, model.state, model.voice_key) == ("mia-ii", "training", None)
    assert (model.card.consent, model.card.licence) == (OWNER, "CC BY 4.0")
    assert model.card.source == "taught by Mia, imported from Mia.pth"
    assert model.data_report["usable_s"] > 10
    assert model.data_report["left_out"] == [left_out]
    training = installation.claim("training")
    assert (training.model_id, training.parameters) == ("mia-ii", {"epochs": 3})
    dataset = load_dataset(installation.storage.folder(model.dataset_key))
    assert [path.name for path in dataset.recordings] == ["01-own.flac", "02-speech-high.flac"]
    taught = taught_by(installation, model)
    assert (taught.name, taught.file, len(taught.sha256)) == ("Mia", "Mia.pth", 64)
    assert set(plain(taught.scores)) == {"likeness", "content", "score"}
    assert not list(installation.storage.list_keys("tasks/"))


def test_failed_and_stopped_teachings_leave_no_voice(installation, ask):
    task_id = ask(own=False)
    assert run_task(installation.context(), installation.claim("teaching")) == "failed"
    assert "usable voice" in installation.task(task_id).error
    tasks.remove(installation.database, installation.account.id, task_id, lambda connection, task: None)
    weights = installation.settings.data / "models" / "contentvec.safetensors"
    weights.rename(weights.with_suffix(".away"))
    contentvec._loaded.cache_clear()
    task_id = ask()
    assert run_task(installation.context(), installation.claim("teaching")) == "failed"
    assert "needs ContentVec" in installation.task(task_id).error
    assert not list(installation.storage.list_keys("tasks/"))
    stopping = Stopping(0.0)
    stopping.ask()
    with installation.database.write() as connection:
        again = installation.task(task_id).parameters | {"sources": []}
        tasks.submit(connection, installation.account.id, "teaching", again, model_id="mia", task_id="b" * 24)
    assert run_task(installation.context(stopping=stopping), installation.claim("teaching")) == "given back"
    assert not made(installation)
    assert not list((installation.settings.data / "datasets").glob("*"))
    assert load_card(installation.settings.data / "voices" / "mia").is_imported
