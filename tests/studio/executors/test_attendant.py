"""What a server looks after for later: deadlines, whatever else fails."""

from dataclasses import replace

import structlog
from sqlalchemy import update
from structlog.testing import capture_logs

from studio.executors import attendant
from studio.executors.attendant import Attendant
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.deadlines import set_deadline
from studio.store.studio import open_studio
from studio.store.tables import deadlines
from studio.store.tasks import find, submit
from tests.waiting import wait_until


def test_look_cancels_what_is_overdue_and_survives_failures(tmp_path, monkeypatch):
    studio = open_studio(Settings(tmp_path), ServiceSettings())
    watching = Attendant(studio, structlog.get_logger("test"))
    with studio.database.write() as connection:
        task_id = submit(connection, studio.local.id, "conversion", {})
    set_deadline(studio.database, studio.local.id, task_id, 60)
    watching.look()
    assert find(studio.database, studio.local.id, task_id).state == "queued"
    with studio.database.write() as connection:
        connection.execute(update(deadlines).values(at=deadlines.c.at - 61))
    with monkeypatch.context() as broken, capture_logs() as said:
        broken.setattr(attendant, "cancel_overdue", None)
        watching.look()
    assert said[0]["event"] == "attendant_failed"
    watching.look()
    assert find(studio.database, studio.local.id, task_id).state == "cancelled"
    studio.close()


def test_thread_looks_until_it_is_stopped(tmp_path, monkeypatch):
    studio = open_studio(Settings(tmp_path), ServiceSettings())
    monkeypatch.setattr(attendant, "_LOOK_S", 0.01)
    looks = []
    monkeypatch.setattr(attendant, "cancel_overdue", lambda database, also: looks.append(database) or 0)
    watching = Attendant(replace(studio), structlog.get_logger("test"))
    watching.start()
    wait_until(lambda: len(looks) > 2)
    watching.stop()
    assert not watching._thread.is_alive()
    studio.close()
