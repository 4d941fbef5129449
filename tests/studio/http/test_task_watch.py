"""Watching tasks in the name of calls: one look for all, at once where something has changed."""

import asyncio

import pytest

from studio.errors import TooMany, Unavailable
from studio.http import task_watch
from studio.http.task_watch import MOST_OF_ACCOUNT, TaskWatch
from studio.store.task_status import TaskSigns

QUEUED, HALF, DONE = TaskSigns("queued", 0.0, ""), TaskSigns("running", 0.5, "x"), TaskSigns("completed", 1.0, "")


class Sequel:
    """What each look at the database finds, the last of them for ever."""

    def __init__(self, monkeypatch, *looks):
        self.looks, self.asked = list(looks), []
        monkeypatch.setattr(task_watch, "read_soon", self.read)

    async def read(self, database, action, given, wanted):
        self.asked.append(set(wanted))
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(found, Exception):
            raise found
        return found


def watch(ends=lambda: False) -> TaskWatch:
    return TaskWatch(None, ends, lambda: asyncio.sleep(0))


def test_changed_returns_the_first_signs_at_once_and_the_next_when_they_differ(monkeypatch):
    Sequel(monkeypatch, {"a": QUEUED}, {"a": QUEUED}, {"a": QUEUED}, {"a": HALF})

    async def follow():
        looking = watch()
        first = await looking.changed("a", None)
        return first, await looking.changed("a", first)

    assert asyncio.run(follow()) == (QUEUED, HALF)


def test_changed_asks_for_all_waiting_tasks_in_one_look(monkeypatch):
    first = {"a": QUEUED, "b": QUEUED, "c": QUEUED}
    sequel = Sequel(monkeypatch, first, first, first, {"a": HALF, "b": DONE})

    async def follow():
        looking = watch()
        return await asyncio.gather(*(looking.changed(one, QUEUED) for one in "abc"))

    assert asyncio.run(follow()) == [HALF, DONE, None]  # c has been deleted
    assert sequel.asked == [{"a"}, {"b"}, {"c"}, {"a", "b", "c"}]


def test_changed_goes_on_after_a_busy_database(monkeypatch):
    Sequel(monkeypatch, Unavailable("busy", 1.0), {"a": DONE})
    assert asyncio.run(watch().changed("a", None)) == DONE


def test_changed_raises_what_is_a_fault_and_works_again_afterwards(monkeypatch):
    Sequel(monkeypatch, {"a": QUEUED}, ZeroDivisionError("bug"), {"a": DONE})

    async def follow():
        looking = watch()
        with pytest.raises(ZeroDivisionError):
            await looking.changed("a", QUEUED)
        await asyncio.sleep(0)
        return await looking.changed("a", QUEUED)

    assert asyncio.run(follow()) == DONE


def test_ended_waits_for_the_end_and_stops_with_the_server(monkeypatch):
    Sequel(monkeypatch, {"a": QUEUED}, {"a": HALF}, {"a": DONE})
    assert asyncio.run(watch().ended("a"))
    Sequel(monkeypatch, {"a": HALF})
    assert not asyncio.run(watch(ends=lambda: True).ended("a"))
    Sequel(monkeypatch, {})
    assert asyncio.run(watch().ended("a"))  # deleted


def test_place_limits_the_waiting_calls_of_an_account_not_those_of_others():
    looking = watch()
    places = [looking.place("mia") for _ in range(MOST_OF_ACCOUNT)]
    for place in places:
        place.__enter__()
    with pytest.raises(TooMany), looking.place("mia"):
        pass
    with looking.place("leo"):
        pass
    places[0].__exit__(None, None, None)
    with looking.place("mia"):
        pass
