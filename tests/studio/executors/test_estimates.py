"""Estimates and checkups in the hands of a worker."""

import json

import pytest

from engine.training.history import Estimate
from studio.executors.work import run_task
from studio.store import tasks
from studio.store.records.checkup import Checkup

pytestmark = pytest.mark.usefixtures("short_auditions")


def submit(installation, kind, model_id=None, **settings):
    with installation.database.write() as connection:
        return tasks.submit(connection, installation.account.id, kind, {"settings": settings}, model_id=model_id)


@pytest.mark.system
def test_estimate_times_a_training_without_training(installation, new_recordings):
    voice = installation.create_voice(new_recordings)
    task_id = submit(installation, "estimate", voice.id, batch=8, foreign=1)
    assert run_task(installation.context(), installation.claim("estimate")) == "completed"
    estimate = Estimate(**installation.task(task_id).result)
    assert 0 < estimate.epoch_s < estimate.seconds_of(10) < estimate.seconds_of(100)
    assert estimate.epochs_apart > 1
    assert installation.model(voice.id).state == "pending"
    assert not (installation.settings.datasets / voice.id / "training").exists()


def test_estimate_fails_for_a_voice_without_a_dataset(installation):
    task_id = submit(installation, "estimate", "kathleen")
    assert run_task(installation.context(), installation.claim("estimate")) == "failed"
    assert installation.task(task_id).error_code == "no_dataset"


def test_checkup_checks_the_device_and_a_conversion_of_the_worker(installation):
    task_id = submit(installation, "checkup")
    assert run_task(installation.context(), installation.claim("checkup")) == "completed"
    task = installation.task(task_id)
    findings = {one.subject: one for one in task.result_as(Checkup).findings}
    assert findings["device chosen"].detail in ("cpu", "cuda", "mps")
    assert findings["conversion"].works
    json.dumps(task.result, allow_nan=False)
