"""Work side by side: every section in its turn, on as many threads as there are, and its errors where they are waited
for."""

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from engine.errors import Cancelled
from engine.workers import Stopped, Turn, Work, Workers, use_one_thread


@pytest.fixture(autouse=True)
def enough_memory(monkeypatch) -> None:
    monkeypatch.setattr("engine.workers.free_memory", lambda: None)


def in_a_thread(function: Callable[[], int]) -> int:
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(function()))
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_in_order_runs_each_section_in_its_turn(threads):
    """Those in order after those of the item before, those in any order between their own."""
    events: list[tuple[int, str]] = []

    def work(number: int) -> Work[int]:
        events.append((number, "first"))
        yield Turn.IN_ORDER
        events.append((number, "planned"))
        yield Turn.ANY_ORDER
        events.append((number, "second"))
        yield Turn.IN_ORDER
        events.append((number, "joined"))
        return number**2

    with Workers(threads) as workers:
        assert list(workers.in_order(work(number) for number in range(20))) == [number**2 for number in range(20)]
    for name in ("planned", "joined"):
        assert [number for number, event in events if event == name] == list(range(20))
    for number in range(20):
        assert [event for own, event in events if own == number] == ["first", "planned", "second", "joined"]


def test_in_order_works_on_as_many_at_once_as_there_are_threads():
    """Three wait for each other, which fewer than three threads never would; a fourth is not under way with them."""
    meeting, most, now = threading.Barrier(3, timeout=60.0), [0], []

    def work() -> Work[None]:
        now.append(1)
        most[0] = max(most[0], len(now))
        meeting.wait()
        now.pop()
        yield Turn.IN_ORDER

    with Workers(3) as workers:
        assert list(workers.in_order(work() for _ in range(9))) == [None] * 9
    assert most == [3]


def test_in_order_takes_items_only_as_they_are_needed():
    taken: list[int] = []

    def items() -> Iterator[Work[int]]:
        for number in range(100):
            taken.append(number)
            yield work(number)

    def work(number: int) -> Work[int]:
        return number
        yield Turn.IN_ORDER

    with Workers(2) as workers:
        results = workers.in_order(items())
        assert [next(results) for _ in range(3)] == [0, 1, 2]
        assert len(taken) <= 6


def test_in_order_asks_again_how_many_threads_there_are():
    counts = iter([1, 1, 4, 2])
    with Workers(lambda: next(counts, 1)) as workers:
        assert list(workers.in_order(iter_of(number) for number in range(5))) == [0, 1, 2, 3, 4]
    assert next(counts, None) is None


def iter_of(number: int) -> Work[int]:
    yield Turn.IN_ORDER
    yield Turn.ANY_ORDER
    return number


@pytest.mark.parametrize("threads", [1, 3])
def test_in_order_raises_the_error_of_the_first_that_fails(threads):
    def work(number: int) -> Work[int]:
        if number == 2:
            raise ValueError(f"window {number}")
        yield Turn.IN_ORDER
        return number

    with Workers(threads) as workers, pytest.raises(ValueError, match="window 2"):
        list(workers.in_order(work(number) for number in range(6)))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_beside_returns_results_in_order_also_within_a_work(threads):
    def work(number: int) -> Work[list[int]]:
        found = workers.beside(*(lambda part=part: 10 * number + part for part in range(3)))
        yield Turn.IN_ORDER
        return found

    with Workers(threads) as workers:
        found = list(workers.in_order(work(number) for number in range(8)))
    assert found == [tuple(10 * number + part for part in range(3)) for number in range(8)]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_beside_raises_when_all_have_ended(failing):
    ended = []

    def piece(number: int) -> None:
        if number == failing:
            raise ValueError(str(number))
        ended.append(number)

    with Workers(3) as workers, pytest.raises(ValueError, match=str(failing)):
        workers.beside(*(lambda number=number: piece(number) for number in range(3)))
    assert set(ended) <= {0, 1, 2} - {failing}


def test_say_calls_in_the_thread_of_the_conversion_and_ends_the_others_when_that_raises():
    heard, own = [], threading.get_ident()
    going_on = threading.Event()

    def cancel() -> None:
        heard.append(threading.get_ident())
        raise Cancelled

    def work() -> Work[None]:
        workers.say(cancel)
        going_on.wait(60.0)
        with pytest.raises(Stopped):
            workers.say(cancel)
        heard.append("stopped")
        yield Turn.IN_ORDER

    with Workers(2) as workers:
        with pytest.raises(Cancelled):
            list(workers.in_order([work()]))
        workers._stopped = True  # as leaving does, but for the waiting
        going_on.set()
    assert heard == [own, "stopped"]


@pytest.mark.usefixtures("torch_threads")
def test_torch_works_on_one_thread_inside_and_as_before_outside():
    torch.set_num_threads(3)
    with Workers(2) as workers:
        inside = workers.beside(torch.get_num_threads, torch.get_num_threads, torch.get_num_threads)
        assert inside == (1, 1, 1)
    assert (torch.get_num_threads(), in_a_thread(torch.get_num_threads)) == (3, 3)


@pytest.mark.usefixtures("torch_threads")
def test_workers_are_as_many_as_torch_has_threads():
    torch.set_num_threads(1)
    assert Workers().threads == 1
    assert (Workers(5).threads, Workers(lambda: 0).threads) == (5, 1)


def test_workers_are_fewer_where_memory_is_short(monkeypatch):
    monkeypatch.setattr("engine.workers.free_memory", lambda: 600 << 20)
    assert Workers(8).threads == 2
    monkeypatch.setattr("engine.workers.free_memory", lambda: 1 << 20)
    assert Workers(8).threads == 1
    monkeypatch.setattr("engine.workers.free_memory", lambda: None)
    assert Workers(8).threads == 8


def test_threads_have_the_settings_of_the_conversion(recwarn):
    with np.errstate(divide="ignore"), Workers(2) as workers:
        workers.beside(lambda: None, lambda: np.float32(1.0) / np.zeros(1, np.float32))
    assert not recwarn.list


def test_use_one_thread_changes_no_other_thread():
    before = torch.get_num_threads()

    def inside() -> int:
        use_one_thread()
        return torch.get_num_threads()

    assert in_a_thread(inside) == 1
    assert (torch.get_num_threads(), in_a_thread(torch.get_num_threads)) == (before, before)
