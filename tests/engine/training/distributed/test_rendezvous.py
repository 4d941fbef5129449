"""How a team meets, with threads in the places of its processes."""

import threading
import time
from datetime import timedelta

import pytest

from engine.errors import TeamLost
from engine.training.distributed.rendezvous import (
    LOOPBACK,
    begin_team,
    join_team,
    store_of_first,
    store_of_others,
    store_on_disk,
)

SECRET = "a word"


class Other(threading.Thread):
    """One who comes to a meeting."""

    def __init__(self, store) -> None:
        super().__init__(daemon=True)
        self.store, self.team, self.lost = store, "has not met", False
        self.start()

    def run(self) -> None:
        try:
            self.team = join_team(self.store)
        except TeamLost:
            self.lost = True

    def met(self):
        self.join(60)
        return self.team


def test_a_team_begins_when_all_have_come(tmp_path):
    others = [Other(store_on_disk(tmp_path / "meeting")) for _ in range(2)]
    first = begin_team(store_on_disk(tmp_path / "meeting"), lambda: 2, 60.0)
    places = sorted(other.met().place for other in others)
    assert (first.place, places) == (0, [1, 2])
    assert {first.size, *(other.team.size for other in others)} == {3}


def test_it_begins_with_those_who_are_there_and_who_is_late_goes_away(tmp_path):
    started = time.monotonic()
    came = Other(store_on_disk(tmp_path / "meeting"))
    first = begin_team(store_on_disk(tmp_path / "meeting"), lambda: 2, 3.0)
    assert 2.5 < time.monotonic() - started < 30
    assert (first.size, came.met().size) == (2, 2)
    assert Other(store_on_disk(tmp_path / "meeting")).met() is None


def test_nobody_is_waited_for_who_will_not_come(tmp_path):
    living = iter([2, 1, 0])
    started = time.monotonic()
    first = begin_team(store_on_disk(tmp_path / "meeting"), lambda: next(living), 60.0)
    assert time.monotonic() - started < 5
    assert first.size == 1  # and so it learns alone
    assert not first.leads


def test_machines_meet_at_the_first_of_them_with_its_word():
    store, port = store_of_first(LOOPBACK, SECRET)
    store.set("told", "here")
    found = store_of_others(LOOPBACK, port, SECRET)
    assert found.get("told") == b"here"
    other = Other(found)
    assert begin_team(store, lambda: 1, 60.0).size == 2
    assert other.met().place == 1


def test_without_the_word_nothing_is_found():
    store, port = store_of_first(LOOPBACK, SECRET)
    store.set("told", "here")
    assert not store_of_others(LOOPBACK, port, "another").check(["told"])


def test_a_first_that_is_gone_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("engine.training.distributed.rendezvous._REACHED_WITHIN", timedelta(seconds=1))
    store, port = store_of_first(LOOPBACK, SECRET)
    del store
    assert store_of_others(LOOPBACK, port, SECRET) is None


def test_who_came_and_died_is_missed_with_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.training.distributed.team._MEETING", timedelta(seconds=1))
    store = store_on_disk(tmp_path / "meeting")
    store.add("came", 1)  # and never joins
    with pytest.raises(TeamLost, match="goes on where it was"):
        begin_team(store_on_disk(tmp_path / "meeting"), lambda: 1, 60.0)
