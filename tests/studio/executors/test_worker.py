"""A worker process by itself: what it is told, and how it ends."""

import signal
import time
from pathlib import Path

import pytest

from studio.executors.worker import DISTURBED, Order, read_order
from studio.settings.service import ServiceSettings
from tests.waiting import PATIENCE_S


def test_read_order_restores_a_written_order():
    service = ServiceSettings(database_url="postgresql://user:secret@host/db")
    order = Order("/data", service, "trainings", "me", 2)
    assert read_order(order.as_line()) == order
    assert order.as_line().count("\n") == 1


@pytest.mark.parametrize("line", ["", "no json", "[]", "{}", '{"data": 1}'])
def test_read_order_refuses_invalid_lines(line):
    with pytest.raises((ValueError, TypeError, KeyError)):
        read_order(line)


@pytest.mark.system
def test_worker_exits_when_its_server_is_gone_during_startup(installation):
    with installation.worker() as worker:
        worker.stdin.close()
        assert worker.wait(PATIENCE_S) in (0, DISTURBED)  # where loading takes longer than it is waited for


def test_worker_arguments_do_not_contain_the_database_url(installation):
    with installation.worker(database_url=f"sqlite:///{installation.settings.data}/studio.sqlite") as worker:
        assert "sqlite" not in Path(f"/proc/{worker.pid}/cmdline").read_text()


@pytest.mark.system
def test_worker_starts_at_once_when_woken_and_exits_disturbed_after_an_error(installation):
    program = installation.program("""
        import engine.conversion.convert
        import studio.executors.worker as worker
        worker._POLL_S = 3600.0
        real = engine.conversion.convert.convert_file
        def convert_file(source, targets, *given):
            if len(targets) == 2:
                raise KeyError("a mistake")
            return real(source, targets, *given)
        engine.conversion.convert.convert_file = convert_file
    """)
    first = installation.submit_conversion()
    with installation.worker(command=program) as worker:
        installation.wait_for(first, "completed")  # the worker looks before it waits
        time.sleep(0.2)
        second = installation.submit_conversion()
        worker.stdin.write(b"wake\n")
        installation.wait_for(second, "completed")
        third = installation.submit_conversion(takes=2)
        worker.stdin.write(b"wake\n")
        assert worker.wait(PATIENCE_S) == DISTURBED
        assert installation.task(third).state == "queued"


@pytest.mark.system
def test_worker_that_hangs_exits_after_a_stop_request(installation):
    program = installation.program("""
        import time
        import engine.conversion.convert
        import studio.executors.worker as worker
        worker.OVERDUE_S = 1.0
        engine.conversion.convert.convert_file = lambda *given: time.sleep(600)
    """)
    task_id = installation.submit_conversion()
    with installation.worker(command=program, grace_s=0.0) as worker:
        installation.wait_for(task_id, "running")
        worker.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        worker.stdin.write(b"stop\n")
        assert worker.wait(PATIENCE_S) == DISTURBED
