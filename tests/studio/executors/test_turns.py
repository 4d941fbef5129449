"""Whose work is next: threads that wait until the test lets them go on."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import structlog

from studio.errors import TooMany, Unavailable
from studio.executors.turns import Turns
from tests.waiting import PATIENCE_S, wait_until


class Held:
    """Works that note that they have begun, and wait until they are let go."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.let_go = threading.Event()

    def work(self, name: str):
        def wait() -> str:
            self.begun.append(name)
            assert self.let_go.wait(PATIENCE_S)
            return name

        return wait


@pytest.fixture
def held() -> Iterator[Held]:
    works = Held()
    yield works
    works.let_go.set()


def test_turns_serve_accounts_in_turn(held):
    turns = Turns(1, 100)
    first = turns.submit("anna", held.work("first"))
    wait_until(lambda: held.begun)
    order: list[str] = []
    asked = [turns.submit("anna", lambda n=n: order.append(f"anna {n}")) for n in range(24)]
    asked += [turns.submit(who, lambda who=who: order.append(who)) for who in ("bert", "carla")]
    held.let_go.set()
    for one in [first, *asked]:
        one.result(PATIENCE_S)
    assert order[:4] == ["anna 0", "bert", "carla", "anna 1"]
    assert order[4:] == [f"anna {n}" for n in range(2, 24)]


def test_turns_leave_threads_to_others_than_the_busiest_account(held):
    turns = Turns(4, 100)
    for number in range(24):
        turns.submit("anna", held.work(f"anna {number}"))
    wait_until(lambda: len(held.begun) == 2)
    assert turns.submit("bert", lambda: "done").result(PATIENCE_S) == "done"
    assert held.begun == ["anna 0", "anna 1"]


def test_turns_refuse_more_than_an_account_may_have_waiting(held):
    turns = Turns(1, 2)
    turns.submit("anna", held.work("first"))
    wait_until(lambda: held.begun)
    with pytest.raises(TooMany) as caught:
        turns.submit("anna", held.work("one"), at_most=1)
    assert caught.value.code == "too_many_calls"
    for name in ("one", "two"):
        turns.submit("anna", held.work(name), at_most=3)
    with pytest.raises(TooMany):
        turns.submit("anna", held.work("three"))
    turns.submit("bert", held.work("three"))


def test_turns_pass_on_errors_and_skip_cancelled_works(held):
    turns = Turns(1, 100)
    turns.submit("anna", held.work("first"))
    wait_until(lambda: held.begun)
    broken, unwanted = turns.submit("anna", lambda: 1 / 0), turns.submit("anna", held.work("unwanted"))
    assert unwanted.cancel()
    held.let_go.set()
    with pytest.raises(ZeroDivisionError):
        broken.result(PATIENCE_S)
    assert turns.submit("anna", lambda: held.begun).result(PATIENCE_S) == ["first"]


def test_turns_keep_the_context_of_whoever_asks():
    with structlog.contextvars.bound_contextvars(request_id="mine"):
        asked = Turns(1, 1).submit("anna", structlog.contextvars.get_contextvars)
    assert asked.result(PATIENCE_S) == {"request_id": "mine"}


def test_turns_put_down_what_an_idle_thread_works_with_and_take_it_up_again():
    events: list[str] = []

    @contextmanager
    def around():
        events.append("taken up")
        yield
        events.append("put down")

    turns = Turns(1, 100, around, idle_s=0.0)
    for times in (1, 2):
        assert turns.submit("anna", lambda: "done").result(PATIENCE_S) == "done"
        wait_until(lambda times=times: events == ["taken up", "put down"] * times)


def test_turns_end_what_waits_when_they_close(held):
    turns = Turns(1, 100)
    turns.submit("anna", held.work("first"))
    wait_until(lambda: held.begun)
    waiting = turns.submit("anna", held.work("waiting"))
    turns.close()
    with pytest.raises(Unavailable) as caught:
        waiting.result(PATIENCE_S)
    assert caught.value.code == "shutting_down"
    with pytest.raises(Unavailable):
        turns.submit("anna", held.work("late"))
    assert held.begun == ["first"]


def test_turns_let_short_works_pass_those_that_take_long(held):
    """Two accounts' imports held both processes, and a third's check of a file waited 114 s for them."""
    turns = Turns(2, 100, long_s=0.05)
    long = [turns.submit(who, held.work(who)) for who in ("anna", "anna", "bert", "bert")]
    wait_until(lambda: len(turns._long) == 2)
    assert sorted(held.begun) == ["anna", "bert"]  # of each one at a time
    for who in ("carla", "dora", "carla"):
        assert turns.submit(who, lambda: "done").result(PATIENCE_S) == "done"
    held.let_go.set()
    assert [one.result(PATIENCE_S) for one in long] == ["anna", "anna", "bert", "bert"]


def test_turns_keep_a_place_for_short_works_from_accounts_whose_works_take_very_long(held):
    """Also where there are more of them than places for long works; one of them alone is not kept from its own."""
    turns = Turns(2, 100, long_s=0.01)
    for who in ("anna", "bert"):
        turns.submit(who, held.work(who))
    wait_until(lambda: len(turns._long) == 2)
    for who in ("carla", "dora"):
        turns.submit(who, lambda: time.sleep(0.2)).result(PATIENCE_S)
    wait_until(lambda: {"carla", "dora"} <= turns._slow)
    again = {who: turns.submit(who, held.work(f"{who} again")) for who in ("carla", "dora")}
    wait_until(lambda: "carla again" in held.begun)
    for number in range(5):
        assert turns.submit(f"emil {number}", lambda: "done").result(PATIENCE_S) == "done"
    assert not again["dora"].running()
    held.let_go.set()
    assert [one.result(PATIENCE_S) for one in again.values()] == ["carla again", "dora again"]
    turns.submit("carla", lambda: None).result(PATIENCE_S)
    wait_until(lambda: "carla" not in turns._slow)


def test_turns_end_the_threads_that_came_in_the_place_of_long_works(held):
    turns = Turns(2, 100, long_s=0.05)
    for who in ("anna", "bert"):
        turns.submit(who, held.work(who))
    wait_until(lambda: len(turns._long) == 2)
    short = threading.Event()
    for who in ("carla", "dora"):
        turns.submit(who, lambda: short.wait(PATIENCE_S))
    wait_until(lambda: len(turns._threads) == 4)
    held.let_go.set()
    short.set()
    wait_until(lambda: len(turns._threads) == 2)
    assert turns.submit("anna", lambda: "done").result(PATIENCE_S) == "done"
