"""Attendants: they do what is due, whatever else fails, until they are stopped."""

import structlog
from structlog.testing import capture_logs

from studio.errors import Unavailable
from studio.executors import attendant
from studio.executors.attendant import Attendant
from tests.waiting import wait_until


def test_look_does_what_is_due_and_survives_failures():
    due = [lambda: 2, lambda: 0, lambda: 1 / 0, lambda: (_ for _ in ()).throw(Unavailable("busy", 1.0)), lambda: 1]
    watching = Attendant("tests", lambda: due.pop(0)(), structlog.get_logger("test"))
    with capture_logs() as said:
        for _ in range(5):
            watching.look()
    assert due == []
    events = [(one["event"], one.get("number")) for one in said]
    assert events == [("attended", 2), ("attendant_failed", None), ("attendant_waits", None), ("attended", 1)]


def test_thread_looks_until_it_is_stopped(monkeypatch):
    monkeypatch.setattr(attendant, "_LOOK_S", 0.01)
    looks = []
    watching = Attendant("tests", lambda: looks.append(1) or 0, structlog.get_logger("test"))
    watching.start()
    wait_until(lambda: len(looks) > 2)
    watching.stop()
    assert not watching._thread.is_alive()
