"""Rights that end while a call goes on: one look for all calls, none for those that are quick."""

import asyncio
from types import SimpleNamespace

import pytest

from studio.errors import Unauthorised, Unavailable
from studio.http import rights
from studio.http.rights import Right, RightsWatch


class World:
    """Which holders are valid at each look, the last for ever; a look happens when somebody pauses."""

    def __init__(self, monkeypatch, *looks):
        self.looks, self.asked = list(looks), []
        monkeypatch.setattr(rights, "valid_among", self.valid)
        self.watch = RightsWatch(SimpleNamespace(is_sqlite=True), lambda: asyncio.sleep(0))

    def valid(self, database, holders):
        self.asked.append(set(holders))
        found = self.looks.pop(0) if len(self.looks) > 1 else self.looks[0]
        if isinstance(found, Exception):
            raise found
        return found


async def looks(number):
    for _ in range(2 * number):
        await asyncio.sleep(0)


def test_one_look_asks_for_all_calls_and_none_for_one_that_is_new(monkeypatch):
    world = World(monkeypatch, {"a", "b"})

    async def calls():
        with world.watch.granted("a"), world.watch.granted("a"), world.watch.granted("b"):
            await looks(1)
            assert world.asked == []
            await looks(2)
            assert world.asked[0] == {"a", "b"}
        with world.watch.granted():  # without a token
            pass
        await looks(3)
        assert world.watch._looking is None  # nobody is there

    asyncio.run(calls())


def test_right_ends_with_any_of_its_holders_and_cuts_off_what_waits(monkeypatch):
    world = World(monkeypatch, {"token", "account"}, {"token"})

    async def call():
        with world.watch.granted("token", "account") as mine, world.watch.granted("token") as other:
            with mine.while_it_lasts():
                await asyncio.Event().wait()
            assert mine.has_ended
            assert not other.has_ended
            with pytest.raises(Unauthorised):
                mine.refuse_ended()
            other.refuse_ended()
            with mine.while_it_lasts():
                await asyncio.sleep(0)
                pytest.fail("it has ended before")

    asyncio.run(call())


def test_watch_goes_on_after_a_busy_database(monkeypatch):
    world = World(monkeypatch, Unavailable("busy", 1.0), set())

    async def call():
        with world.watch.granted("a") as mine, mine.while_it_lasts():
            await asyncio.Event().wait()

    asyncio.run(call())


def test_at_end_acts_at_once_where_the_right_has_ended_and_not_behind_its_block():
    mine, acted = Right("a"), []
    with mine.at_end(lambda: acted.append("never")):
        pass
    mine.end()
    with mine.at_end(lambda: acted.append("at once")):
        pass
    assert acted == ["at once"]
