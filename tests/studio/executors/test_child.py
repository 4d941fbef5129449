import os
import time

import pytest

from studio.executors.child import Child
from tests.waiting import PATIENCE_S

LONG_S = 1000.0


def serve(pipe, greeting):
    """Greet who says a name, hang for a number and die of None."""
    while True:
        match pipe.recv():
            case str(name):
                pipe.send(f"{greeting} {name}")
            case None:
                os._exit(3)
            case _:
                time.sleep(LONG_S)


@pytest.fixture
def child():
    child = Child("greeter", serve, "hello")
    yield child
    child.end(0.0)


def test_child_answers_one_question_after_another_in_a_process_of_its_own(child):
    assert [child.ask(name, PATIENCE_S) for name in ("Ann", "Bo")] == ["hello Ann", "hello Bo"]
    assert child.pid != os.getpid()


def test_child_that_takes_too_long_or_dies_is_an_error(child):
    with pytest.raises(TimeoutError):
        child.ask(1, 0.0)
    child.end(0.0)
    with pytest.raises(OSError, match="closed"):
        child.ask("Ann", PATIENCE_S)
    dying = Child("greeter", serve, "hello")
    with pytest.raises(EOFError):
        dying.ask(None, PATIENCE_S)
    dying.end(0.0)
