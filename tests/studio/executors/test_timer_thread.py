"""Attendants: they do what is due, whatever else fails, until they are stopped."""

import structlog
from structlog.testing import capture_logs

from studio.errors import Unavailable
from studio.executors import timer_thread
from studio.executors.timer_thread import TimerThread
from tests.waiting import wait_until


def broken():
    raise Unavailable("busy", 1.0)


def test_look_does_what_is_due_and_logs_a_lasting_failure_once():
    due = [lambda: 2, lambda: 0, lambda: 1 / 0, lambda: 1 / 0, broken, lambda: 1]
    watching = TimerThread("tests", lambda: due.pop(0)(), structlog.get_logger("test"))
    with capture_logs() as said:
        for _ in range(6):
            watching.look()
    assert due == []
    assert [(one["event"], one["log_level"]) for one in said] == [
        *(("attended", "info"), ("tests_not_looked_after", "error"), ("tests_not_looked_after", "warning")),
        *(("tests_not_looked_after_over", "info"), ("attended", "info")),
    ]


def test_thread_looks_until_it_is_stopped(monkeypatch):
    monkeypatch.setattr(timer_thread, "_LOOK_S", 0.01)
    looks = []
    watching = TimerThread("tests", lambda: looks.append(1) or 0, structlog.get_logger("test"))
    watching.start()
    wait_until(lambda: len(looks) > 2)
    watching.stop()
    assert not watching._thread.is_alive()
