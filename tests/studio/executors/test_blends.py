"""Blends in the hands of a worker: real ones, of the demo voices."""

import pytest

from engine.voices.card import PREVIEW_FILE, load_card
from studio.errors import LeaseLost
from studio.executors.heartbeat import Stopping
from studio.executors.work import run_task
from studio.store import tasks
from studio.store.catalogue import all_models
from studio.store.kinds import BLEND
from studio.store.voice_folders import voice_folder

pytestmark = pytest.mark.system


@pytest.fixture
def asked(installation):
    """Queues a blend of two demo voices, of which the first that are named are asked for."""

    def ask(**parameters):
        given = {"first": "kathleen", "second": "koguchi", "share": 0.25, "name": "Käthe"} | parameters
        with installation.database.write() as connection:
            return tasks.submit(connection, installation.account.id, BLEND, given)

    return ask


def own(installation):
    found = all_models(installation.database, installation.account)
    return [model for model in found if not model.is_demo]


def test_blend_becomes_its_own_voice_with_consent_and_preview(installation, asked):
    task_id = asked()
    assert run_task(installation.context(), installation.claim(BLEND)) == "completed"
    assert installation.task(task_id).result == {"model_id": "kathe"}
    (model,) = own(installation)
    assert (model.id, model.name, model.state) == ("kathe", "Käthe", "completed")
    assert set(model.card.consent) >= {"statement"}
    folder = voice_folder(installation.storage, model)
    assert (load_card(folder).id, load_card(folder).training["blend"]["share"]) == ("kathe", 0.25)
    assert (folder / PREVIEW_FILE).stat().st_size > 100_000


def test_blends_of_the_same_name_become_two_voices(installation, asked):
    context = installation.context()
    for _ in range(2):
        asked()
        assert run_task(context, installation.claim(BLEND)) == "completed"
    assert sorted(model.id for model in own(installation)) == ["kathe", "kathe-2"]


def test_blend_leaves_no_voice_after_a_failure(installation, asked):
    task_id = asked(second="nobody")
    assert run_task(installation.context(), installation.claim(BLEND)) == "failed"
    assert "There is no voice" in installation.task(task_id).error
    task_id = asked()
    installation.service.__dict__["models_per_account"] = 0
    assert run_task(installation.context(), installation.claim(BLEND)) == "failed"
    assert "delete one" in installation.task(task_id).error
    assert not own(installation)
    assert not list((installation.settings.data / "voices").glob("*"))


def test_blend_leaves_no_voice_if_the_lease_is_lost(installation, asked, monkeypatch):
    asked()
    task = installation.claim(BLEND)

    def lose(*arguments):
        raise LeaseLost

    monkeypatch.setattr("studio.executors.job.tasks.complete", lose)
    assert run_task(installation.context(), task) == "lost"
    assert not own(installation)
    assert not list((installation.settings.data / "voices").glob("*"))


def test_blend_returns_to_the_queue_when_stopped(installation, asked, monkeypatch):
    task_id = asked()
    stopping = Stopping(0.0)
    stopping.ask()
    assert run_task(installation.context(stopping=stopping), installation.claim(BLEND)) == "given back"
    assert installation.task(task_id).state == "queued"
