import gc
import os
import threading

import numpy as np
import pytest

from engine.live.delay_measurement import chirps, find_delays
from engine.live.pipe import DevicePipe, real_time, short_searches
from tests.waiting import PATIENCE_S, OwnClock, wait_until


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """The clock of pipes: a conversion takes no time but what it is kept waiting for."""
    own = OwnClock()
    monkeypatch.setattr("engine.live.pipe.time", own)
    return own


class Echo:
    """Returns each block as it is, once it may."""

    rate, block = 1000, 100

    def __init__(self):
        self.may = threading.Semaphore(0)

    def convert(self, block):
        self.may.acquire(timeout=PATIENCE_S)
        if block[0] < 0:
            raise OSError("gone")
        return block


def blocks(count):
    return [np.full(100, 1.0 + number, np.float32) for number in range(count)]


def passed(pipe, block, done):
    """Exchange a block, and wait until so many are converted."""
    found = pipe.exchange(block)
    wait_for(pipe, done)
    return found


def wait_for(pipe, done):
    wait_until(lambda: pipe.report.converted >= done)


def test_exchange_delays_sound_by_a_block_and_the_reserve_for_any_piece_size():
    echo = Echo()
    sung = np.arange(1, 1001, dtype=np.float32)
    with DevicePipe(echo, 50) as pipe:
        found, first = [], 0
        for size in (30, 70, 100, 1, 99, 100, 100, 50, 50, 100, 100, 100, 100):
            ready = (first + size) // 100 - first // 100
            for _ in range(ready):
                echo.may.release()
            found.append(passed(pipe, sung[first : first + size], (first + size) // 100))
            first += size
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate([np.zeros(150), sung[:850]]))
    assert pipe.report.glitches == 0


def test_exchange_fades_out_in_a_stall_and_adds_at_most_a_block_of_delay():
    echo = Echo()
    with DevicePipe(echo, 50) as pipe:
        found = [pipe.exchange(block) for block in blocks(4)]  # nothing is converted
        assert not np.concatenate(found).any()
        assert pipe.report.glitches >= 1
        for _ in range(20):
            echo.may.release()
        stalled = pipe.report.glitches + 2  # with the block that did not fit, and the gap until the next one
        wait_for(pipe, 3)
        before = pipe.report.converted
        after = [passed(pipe, block, before + number) for number, block in enumerate(blocks(14)[4:], 1)]
    steps = np.abs(np.diff(np.concatenate([*found, *after])))
    assert steps.max() <= 1.5  # fades, and blocks that differ by 1
    newest = after[-1][-1]
    assert 14 - newest <= 2.5 + 1  # blocks: one, the reserve, the growth
    assert pipe.report.glitches <= stalled


def exchange_with_a_late_conversion(pipe, echo, block, number):
    """Exchange a block in two pieces; the conversion of the block before ends after 60 of its 100 samples."""
    pipe.exchange(block[:60])
    if number:
        echo.may.release()
        wait_for(pipe, number)
    return pipe.exchange(block[60:])


def test_exchange_lengthens_its_delay_once_for_conversions_slower_than_the_reserve():
    echo = Echo()
    with DevicePipe(echo, 50) as pipe:
        for number, block in enumerate(blocks(12)):
            last = exchange_with_a_late_conversion(pipe, echo, block, number)
    assert pipe.report.glitches == 1
    assert last.all()


@pytest.mark.parametrize(("level", "delay"), [(1e-4, 150), (0.5, 160)])
def test_exchange_shortens_its_delay_in_quiet_but_not_during_sound(level, delay):
    echo = Echo()
    sound = np.full(8000, level, np.float32)
    sound[7600:] = 1.0
    with DevicePipe(echo, 50) as pipe:
        for number in range(2):
            exchange_with_a_late_conversion(pipe, echo, sound[number * 100 :][:100], number)
        echo.may.release(100)
        wait_for(pipe, 2)
        found = [passed(pipe, sound[number * 100 :][:100], number + 1) for number in range(2, 80)]
    assert pipe.report.glitches == 1
    assert np.argmax(np.concatenate(found) > 0.9) - 7400 == delay


def test_exchange_fades_out_and_then_raises_the_error_of_the_conversion():
    echo = Echo()
    with DevicePipe(echo, 50) as pipe:
        echo.may.release()
        passed(pipe, blocks(1)[0], 1)
        echo.may.release()
        heard = [pipe.exchange(np.full(100, -1.0, np.float32))]
        pipe._thread.join(PATIENCE_S)
        assert isinstance(pipe.failure, OSError)
        heard.append(pipe.exchange(blocks(1)[0]))
        with pytest.raises(OSError, match="gone"):
            pipe.exchange(blocks(1)[0])
    sound = np.concatenate(heard)
    assert sound.max() == 1.0
    assert np.abs(np.diff(sound[150:])).max() < 0.5  # 5 ms at 1,000 samples a second
    assert sound[-1] == 0.0


def test_find_delays_measures_delayed_chirps_and_finds_none_in_silence():
    samples, places = chirps(48_000, 4.0)
    late = np.concatenate([np.zeros(4_800, np.float32), 0.5 * samples])
    found = find_delays(late, places, 48_000)
    np.testing.assert_allclose(found, 0.1, atol=0.003)
    assert np.isnan(find_delays(np.zeros(300_000), places, 48_000)).all()


@pytest.mark.skipif(not hasattr(os, "sched_setscheduler"), reason="only Linux lets a thread ask")
def test_real_time_restores_the_scheduler_and_ignores_a_refusal(monkeypatch):
    before = os.sched_getscheduler(0)
    with real_time():
        asked = os.sched_getscheduler(0)
    assert os.sched_getscheduler(0) == before
    assert asked in (before, os.SCHED_RR | os.SCHED_RESET_ON_FORK)  # by what this machine lets its users do

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    with real_time():
        assert os.sched_getscheduler(0) == before


@pytest.fixture
def thawed():
    """As in a program that has left nothing out of the searches for garbage."""
    gc.unfreeze()
    yield
    gc.freeze()  # as all tests have it


def searched():
    """How many objects a search for garbage goes through."""
    return len(gc.get_objects())


def test_pipe_leaves_what_was_there_before_out_of_searches_for_garbage_until_it_ends(thawed):
    before = searched()
    with DevicePipe(Echo(), 50):
        assert searched() < before / 100
    assert searched() > before / 2


def test_searches_stay_short_where_somebody_else_has_made_them_so(thawed):
    gc.freeze()
    with short_searches():
        pass
    assert gc.get_freeze_count() > 0
