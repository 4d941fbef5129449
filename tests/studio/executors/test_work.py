"""Every way a task can end, on real conversions; what goes wrong on the way is made to go wrong for real or at the
very call that would."""

import errno
import shutil
import time
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
import soundfile
import torch

import engine.conversion.convert
from engine.devices import Device
from engine.errors import AudioError
from engine.provenance.statement import file_digest
from engine.provenance.verification import verify
from studio.errors import DiskFull, Unavailable
from studio.executors.heartbeat import Stopping
from studio.executors.work import code_of, run_task
from studio.store import tasks
from studio.store.accounts import local_account
from studio.store.database import Database
from studio.store.records.conversion import Rendered

pytestmark = pytest.mark.system


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """What is waited for here does not come."""
    monkeypatch.setattr("studio.executors.job.SHORT_PATIENCE_S", 0.3)
    monkeypatch.setattr("studio.executors.untrained.SHORT_PATIENCE_S", 0.3)
    monkeypatch.setattr("studio.executors.job.LONG_PATIENCE_S", 1.0)
    monkeypatch.setattr("studio.executors.work.LONG_PATIENCE_S", 1.0)


def convert_instead(monkeypatch, stand_in):
    """Let `stand_in` be the engine's conversion; it is given the real one first."""
    real = engine.conversion.convert.convert_file
    monkeypatch.setattr(engine.conversion.convert, "convert_file", lambda *given: stand_in(real, *given))


def nothing_is_left(installation, task_id) -> bool:
    return installation.results(task_id) == [] and not list(installation.settings.work.glob("*-*"))


# ---- done


def test_run_task_signs_takes_with_voice_settings_and_source(installation):
    task_id = installation.submit_conversion(1.0, seed=7)
    context = installation.context()
    assert run_task(context, installation.claim()) == "completed"
    result = installation.task(task_id).result
    found = verify(installation.settings.data / result["outputs"][0], context.installation)
    assert (found.state, result["unsigned"]) == ("made_here", None)
    assert found.statement["voice"]["id"] == "kathleen"
    assert found.statement["settings"]["seed"] == 7
    assert found.statement["source_sha256"] == file_digest(installation.settings.data / f"tasks/{task_id}/input.wav")
    assert found.statement["source_sha256"] == result["statement"]["source_sha256"]


@pytest.mark.parametrize("effects", ["off", "hall"])
def test_run_task_writes_takes_in_the_form_asked_for_and_keeps_what_edits_need(installation, effects):
    form = {"rate": "48000", "bits": "16"}
    task_id = installation.submit_conversion(1.0, effects=effects, form=form, takes=2)
    assert run_task(installation.context(), installation.claim()) == "completed"
    result = installation.task(task_id).result
    for key, dry in zip(result["outputs"], result["dry"], strict=True):
        written, rendered = (soundfile.info(installation.settings.data / one) for one in (key, dry))
        assert (written.samplerate, written.subtype, written.frames) == (48_000, "PCM_16", 48_000)
        assert (rendered.samplerate, rendered.subtype, rendered.frames) == (44_100, "PCM_24", 44_100)
        found = verify(installation.settings.data / key, installation.context().installation)
        assert found.state == "made_here"
        assert ("effects" in found.statement["settings"]) is (effects == "hall")


@pytest.mark.parametrize(
    ("service", "key", "reason"),
    [({}, b"garbled", "cannot be read"), ({"credentials": "off"}, None, "Content credentials are switched off here.")],
)
def test_run_task_keeps_unsigned_takes_and_records_the_reason(installation, service, key, reason):
    task_id = installation.submit_conversion(1.0)
    context = installation.context(service=replace(installation.service, **service))
    if key:
        context.installation.folder.mkdir()
        (context.installation.folder / "identity.pem").write_bytes(key)
    assert run_task(context, installation.claim()) == "completed"
    rendered = installation.task(task_id).result_as(Rendered)
    assert reason in rendered.unsigned
    assert verify(installation.settings.data / rendered.outputs[0], context.installation).state == "no_credentials"


def test_run_task_publishes_a_conversion_with_its_scores(installation):
    task_id = installation.submit_conversion(1.0, takes=2)
    assert run_task(installation.context(), installation.claim()) == "completed"
    task = installation.task(task_id)
    assert (task.state, task.progress, task.error, task.owner) == ("completed", 1.0, None, "this test")
    assert task.result["outputs"] == [f"tasks/{task_id}/1/take-1.wav", f"tasks/{task_id}/1/take-2.wav"]
    assert task.result["output_settings"] == {"model": "kathleen", "transpose": 0, "vocal_style": "melodic"}
    assert [scores["length_error"] for scores in task.result["scores"]] == [0.0, 0.0]
    assert min(scores["pitch_accuracy"] for scores in task.result["scores"]) > 0.8
    assert installation.results(task_id) == installation.named(task)
    for key in task.result["outputs"]:
        assert soundfile.info(installation.settings.data / key).duration == pytest.approx(1.0)
    assert (installation.settings.data / f"tasks/{task_id}/input.wav").exists()
    assert not list(installation.settings.work.iterdir())


def test_run_task_reports_auto_transpose_in_semitones(installation):
    task_id = installation.submit_conversion(1.0, transpose="auto")
    run_task(installation.context(), installation.claim())
    transpose = installation.task(task_id).result["output_settings"]["transpose"]
    assert isinstance(transpose, int)
    assert transpose % 12 == 0  # of singing


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_run_task_works_on_postgresql_as_on_sqlite(installation, database):
    there = replace(installation, database=database, account=local_account(database))
    done, stopped = there.submit_conversion(), there.submit_conversion()
    assert run_task(there.context(), there.claim()) == "completed"
    assert there.results(done) == there.named(there.task(done))
    tasks.request_cancel(database, there.account.id, stopped)
    late = there.submit_conversion()
    task = there.claim()
    tasks.recover(database, 3, ["this test"])
    assert run_task(there.context(), task) == "lost"
    assert (there.task(stopped).state, there.task(late).state) == ("cancelled", "queued")


# ---- cannot be done


def test_run_task_fails_invalid_audio_with_a_sentence_of_the_engine(installation):
    task_id = installation.submit_conversion()
    (installation.settings.data / f"tasks/{task_id}/input.wav").write_bytes(b"RIFF no more")
    assert run_task(installation.context(), installation.claim()) == "failed"
    task = installation.task(task_id)
    assert (task.state, task.error_code) == ("failed", "audio_error")
    assert task.error.startswith('"vocal.wav" ')
    assert task.error.endswith(".")
    assert nothing_is_left(installation, task_id)


def test_run_task_fails_if_the_recording_is_gone(installation):
    task_id = installation.submit_conversion()
    (installation.settings.data / f"tasks/{task_id}/input.wav").unlink()
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert installation.task(task_id).error_code == "recording_gone"


def test_run_task_fails_if_the_voice_is_missing(installation):
    task_id = installation.submit_conversion(model="nobody")
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert installation.task(task_id).error_code == "model_not_found"


def test_run_task_fails_a_too_long_recording_without_a_duration_in_its_header(installation, monkeypatch):
    monkeypatch.setattr("engine.audio.files.AudioSource.duration_s", None)
    task_id = installation.submit_conversion(4.0)
    service = replace(installation.service, longest_audio_minutes=0.05)
    assert run_task(installation.context(service=service), installation.claim()) == "failed"
    assert installation.task(task_id).error_code == "audio_too_long"


def test_run_task_fails_a_too_long_recording_with_a_wrong_duration_in_its_header(installation, tmp_path):
    soundfile.write(tmp_path / "long.mp3", 0.1 * np.sin(np.arange(4 * 44_100) * 0.05), 44_100)
    said = bytearray((tmp_path / "long.mp3").read_bytes())
    at = max(said.find(b"Xing"), said.find(b"Info")) + 8  # the number of frames
    said[at : at + 4] = (20).to_bytes(4, "big")
    task_id = installation.submit_conversion(1.0)
    (installation.settings.data / f"tasks/{task_id}/input.wav").write_bytes(said)
    service = replace(installation.service, longest_audio_minutes=0.05)
    assert run_task(installation.context(service=service), installation.claim()) == "failed"
    assert installation.task(task_id).error_code == "audio_too_long"


@pytest.mark.parametrize("cause", [OSError(errno.ENOSPC, "No space left on device"), DiskFull("The disk is full.")])
def test_run_task_fails_without_a_retry_if_the_disk_is_full(installation, monkeypatch, cause):
    def fill_up(real, source, targets, *rest):
        targets[0].write_bytes(b"half")
        raise cause

    convert_instead(monkeypatch, fill_up)
    task_id = installation.submit_conversion()
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert installation.task(task_id).error_code == "disk_full"
    assert "full" in installation.task(task_id).error
    assert nothing_is_left(installation, task_id)


def test_run_task_fails_with_disk_full_rather_than_use_reserved_space(installation, monkeypatch):
    """An upload of 0.2 MB became takes of 640 MB in the space that is kept free."""
    real, free = shutil.disk_usage, {"bytes": 501e6}
    monkeypatch.setattr(
        "studio.store.free_space.shutil.disk_usage", lambda path: real(path)._replace(free=free["bytes"])
    )
    monkeypatch.setattr("studio.store.storage.FolderStorage.free_bytes", lambda storage: free["bytes"])
    begun = []

    def converting(real, source, targets, voice, settings, report, *_given):
        begun.append(source)
        free["bytes"] = 499e6
        for _ in range(200):
            report(0.5, "converting")
            time.sleep(0.05)
        raise AssertionError("it would have gone on")

    convert_instead(monkeypatch, converting)
    large = installation.submit_conversion(1.0)
    with installation.database.write() as connection:
        connection.exec_driver_sql("UPDATE tasks SET cost = 10.0")  # seconds of takes: 1.3 MB
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert (installation.task(large).error_code, begun) == ("disk_full", [])
    during = installation.submit_conversion(1.0)
    with installation.database.write() as connection:
        connection.exec_driver_sql("UPDATE tasks SET cost = 1.0")
    assert run_task(installation.context(), installation.claim()) == "failed"
    assert (installation.task(during).error_code, len(begun)) == ("disk_full", 1)
    assert nothing_is_left(installation, during)


def test_code_of_returns_the_given_code_or_the_error_class_in_snake_case():
    assert code_of(AudioError("")) == "audio_error"
    assert code_of(Unavailable("", 1.0, "storage_unreachable")) == "storage_unreachable"


# ---- stopped


def test_run_task_ends_a_cancelled_task_and_leaves_no_files(installation, monkeypatch):
    task_id = installation.submit_conversion()
    context = installation.context()

    def cancel_on_the_way(real, *given):
        tasks.request_cancel(installation.database, installation.account.id, task_id)
        report = given[4]
        while True:  # until the heartbeat has heard it
            report(0.1, "converting")

    convert_instead(monkeypatch, cancel_on_the_way)
    assert run_task(context, installation.claim()) == "cancelled"
    assert installation.task(task_id).state == "cancelled"
    assert nothing_is_left(installation, task_id)


def stopped_on_the_way(monkeypatch, grace_s: float) -> Stopping:
    """The worker is asked to stop during its next conversion."""
    stopping = Stopping(grace_s)

    def stop_and_convert(real, *given):
        stopping.ask()
        return real(*given)

    convert_instead(monkeypatch, stop_and_convert)
    return stopping


def test_run_task_requeues_without_an_attempt_if_its_worker_stops(installation, monkeypatch):
    stopping = stopped_on_the_way(monkeypatch, 0.0)
    task_id = installation.submit_conversion()
    assert run_task(installation.context(stopping=stopping), installation.claim()) == "given back"
    task = installation.task(task_id)
    assert (task.state, task.attempt, task.owner) == ("queued", 0, None)
    assert nothing_is_left(installation, task_id)
    monkeypatch.undo()
    assert run_task(installation.context(), installation.claim()) == "completed"


def test_run_task_completes_within_the_grace_period_of_a_stopping_worker(installation, monkeypatch):
    stopping = stopped_on_the_way(monkeypatch, 60.0)
    installation.submit_conversion()
    assert run_task(installation.context(stopping=stopping), installation.claim()) == "completed"


# ---- lost


def test_run_task_refuses_and_removes_a_late_result(installation, monkeypatch):
    """The worker was thought dead; another did the work meanwhile."""
    task_id = installation.submit_conversion()
    first = installation.claim()

    def be_overtaken(real, *given):
        found = real(*given)
        monkeypatch.undo()
        tasks.recover(installation.database, 3, [first.owner])
        assert run_task(installation.context(), installation.claim()) == "completed"
        return found

    convert_instead(monkeypatch, be_overtaken)
    assert run_task(installation.context(), first) == "lost"
    task = installation.task(task_id)
    assert (task.state, task.fence) == ("completed", 2)
    assert installation.results(task_id) == installation.named(task)
    assert task.result["outputs"] == [f"tasks/{task_id}/2/take-1.wav"]


def test_run_task_reports_a_deleted_task_as_lost(installation, monkeypatch):
    task_id = installation.submit_conversion()

    def be_deleted(real, *given):
        found = real(*given)
        with installation.database.write() as connection:
            connection.exec_driver_sql("DELETE FROM tasks")
        return found

    convert_instead(monkeypatch, be_deleted)
    assert run_task(installation.context(), installation.claim()) == "lost"
    assert set(installation.results(task_id)) <= {
        f"tasks/{task_id}/1/{name}" for name in ("groundwork.npz", "take-1.wav")
    }


# ---- database and storage that fail


class Failing:
    """Something whose method fails the first `times` times."""

    def __init__(self, real, method, times, cause=None):
        self._real, self._method, self.left = real, method, times
        self._cause = cause or Unavailable("The storage is out of reach.", 2.0, "storage_unreachable")

    def __getattr__(self, name):
        real = getattr(self._real, name)
        if name != self._method:
            return real

        def perhaps(*given, **named):
            if self.left > 0:
                self.left -= 1
                raise self._cause
            return real(*given, **named)

        return perhaps


@pytest.mark.parametrize("method", ["fetch", "put_file"])
def test_run_task_completes_if_the_storage_fails_once(installation, method):
    task_id = installation.submit_conversion()
    storage = Failing(installation.storage, method, 1)
    assert run_task(installation.context(storage=storage), installation.claim()) == "completed"
    assert storage.left == 0
    assert installation.task(task_id).attempt == 1


def test_run_task_retries_and_then_fails_if_the_storage_stays_unreachable(installation):
    task_id = installation.submit_conversion()
    storage = Failing(installation.storage, "put_file", 1_000)
    for attempt in (1, 2):
        assert run_task(installation.context(storage=storage), installation.claim()) == "given back"
        task = installation.task(task_id)
        assert (task.state, task.attempt) == ("queued", attempt)
        with installation.database.write() as connection:
            connection.exec_driver_sql("UPDATE tasks SET not_before = 0")
    assert run_task(installation.context(storage=storage), installation.claim()) == "failed"
    assert installation.task(task_id).error_code == "storage_unreachable"
    assert nothing_is_left(installation, task_id)


class Forgetful:
    """A database whose connection breaks just after a transaction was written: who wrote it hears only of an error."""

    def __init__(self, real: Database):
        self._real, self.forgets = real, False

    def read(self):
        return self._real.read()

    @contextmanager
    def write(self):
        with self._real.write() as connection:
            yield connection
        if self.forgets:
            self.forgets = False
            raise Unavailable("The database cannot be reached.", 2.0, "database_unreachable")


def test_run_task_keeps_a_result_if_the_commit_confirmation_is_lost(installation, monkeypatch):
    task_id = installation.submit_conversion()
    task = installation.claim()
    database = Forgetful(installation.database)
    real = tasks.complete

    def complete(*given):
        database.forgets = True
        return real(*given)

    monkeypatch.setattr(tasks, "complete", complete)
    assert run_task(installation.context(database=database), task) == "completed"
    now = installation.task(task_id)
    assert (now.state, now.fence) == ("completed", 1)
    assert installation.results(task_id) == installation.named(now)


def test_run_task_loses_only_one_attempt_if_the_database_stays_unreachable(installation, monkeypatch):
    task_id = installation.submit_conversion()
    context = installation.context(database=Failing(installation.database, "write", 1_000))
    assert run_task(context, installation.claim(lease_s=0.5)) == "lost"
    assert installation.task(task_id).state == "running"  # until its lease is found to be over
    tasks.recover(installation.database, 3)
    assert run_task(installation.context(), installation.claim()) == "completed"
    assert installation.task(task_id).fence == 2


# ---- mistakes in the program


def test_run_task_retries_an_internal_error_and_then_fails_without_its_details(installation, monkeypatch):
    def make_a_mistake(real, *given):
        raise KeyError("secret detail")

    convert_instead(monkeypatch, make_a_mistake)
    task_id = installation.submit_conversion()
    for _ in range(installation.service.attempts):
        with installation.database.write() as connection:
            connection.exec_driver_sql("UPDATE tasks SET not_before = 0")
        assert run_task(installation.context(), installation.claim()) == "broken"
    task = installation.task(task_id)
    assert (task.state, task.error_code, task.attempt) == ("failed", "internal", 3)
    assert "secret" not in task.error
    assert nothing_is_left(installation, task_id)


@pytest.mark.parametrize("cause", [MemoryError(), RuntimeError("[enforce fail at alloc_cpu] not enough memory")])
def test_run_task_reports_out_of_memory(installation, monkeypatch, cause):
    def run_out(real, *given):
        raise cause

    convert_instead(monkeypatch, run_out)
    task_id = installation.submit_conversion()
    service = replace(installation.service, attempts=1)
    assert run_task(installation.context(service=service), installation.claim()) == "broken"
    assert installation.task(task_id).error_code == "out_of_memory"


# ---- on a device


def test_run_task_fails_if_the_requested_device_is_missing(installation, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    service = replace(installation.service, device="cuda")
    task_id = installation.submit_conversion(1.0)
    assert run_task(installation.context(service=service), installation.claim()) == "failed"
    task = installation.task(task_id)
    assert task.error.startswith("There is no cuda device here")
    assert task.error_code == "settings_error"
    assert nothing_is_left(installation, task_id)


def test_run_task_assigns_workers_to_gpus_in_turn(installation, monkeypatch):
    gpu = Device("cuda", "GPU", torch.bfloat16)
    monkeypatch.setattr("engine.devices.working_device", lambda wanted: gpu)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda number: f"GPU {number}")
    given = []
    convert_instead(monkeypatch, lambda real, *arguments: (given.append(arguments[5]), real(*arguments[:5]))[1])
    monkeypatch.setattr("engine.conversion.convert.working_device", lambda wanted: Device("cpu", "", torch.bfloat16))
    for number in range(3):
        installation.submit_conversion(1.0)
        assert run_task(installation.context(number=number), installation.claim()) == "completed"
    assert given == ["cuda:0", "cuda:1", "cuda:0"]
