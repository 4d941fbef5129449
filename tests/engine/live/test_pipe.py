import threading
import time

import numpy as np
import pytest

from engine.live.measuring import chirps, find_delays
from engine.live.pipe import DevicePipe


class Echo:
    """Returns each block as it is, once it may."""

    rate, block = 1000, 100

    def __init__(self):
        self.may = threading.Semaphore(0)

    def convert(self, block):
        self.may.acquire(timeout=5)
        if block[0] < 0:
            raise OSError("gone")
        return block


def blocks(count):
    return [np.full(100, 1.0 + number, np.float32) for number in range(count)]


def passed(pipe, block, done):
    """Exchange a block, and wait until so many are converted."""
    found = pipe.exchange(block)
    deadline = time.monotonic() + 5
    while pipe.report.converted < done and time.monotonic() < deadline:
        time.sleep(0.002)
    time.sleep(0.005)
    return found


def test_exchange_returns_sound_after_a_block_and_the_spare_part_of_one_in_pieces_up_to_a_block():
    echo = Echo()
    sung = np.arange(1, 1001, dtype=np.float32)
    with DevicePipe(echo, 0.5) as pipe:
        found, first = [], 0
        for size in (30, 70, 100, 1, 99, 100, 100, 50, 50, 100, 100, 100, 100):
            ready = (first + size) // 100 - first // 100
            for _ in range(ready):
                echo.may.release()
            found.append(passed(pipe, sung[first : first + size], (first + size) // 100))
            first += size
    np.testing.assert_array_equal(np.concatenate(found), np.concatenate([np.zeros(150), sung[:850]]))
    assert pipe.report.glitches == 0


def test_exchange_fades_out_in_a_stall_and_its_delay_grows_by_no_more_than_a_block():
    echo = Echo()
    with DevicePipe(echo, 0.5) as pipe:
        found = [pipe.exchange(block) for block in blocks(4)]  # nothing is converted
        assert not np.concatenate(found).any()
        assert pipe.report.glitches >= 1
        for _ in range(20):
            echo.may.release()
        stalled = pipe.report.glitches + 2  # with the block that did not fit, and the gap until the next one
        after = [passed(pipe, block, 3 + number) for number, block in enumerate(blocks(14)[4:], 1)]
    steps = np.abs(np.diff(np.concatenate([*found, *after])))
    assert steps.max() <= 1.5  # fades, and blocks that differ by 1
    newest = after[-1][-1]
    assert 14 - newest <= 2.5 + 1  # blocks: one, the spare part, the growth
    assert pipe.report.glitches <= stalled


def test_exchange_lengthens_its_delay_once_for_a_machine_that_takes_longer_than_the_spare_part():
    echo = Echo()
    with DevicePipe(echo, 0.5) as pipe:
        for number, block in enumerate(blocks(12)):
            pipe.exchange(block[:60])  # the conversion of the block before ends in between
            if number:
                echo.may.release()
                while pipe.report.converted < number:
                    time.sleep(0.002)
                time.sleep(0.005)
            last = pipe.exchange(block[60:])
    assert pipe.report.glitches == 1
    assert last.all()


def test_exchange_fades_out_and_then_raises_what_ended_the_conversion():
    echo = Echo()
    with DevicePipe(echo, 0.5) as pipe:
        echo.may.release()
        passed(pipe, blocks(1)[0], 1)
        echo.may.release()
        heard = [pipe.exchange(np.full(100, -1.0, np.float32))]
        pipe._thread.join(5)
        assert isinstance(pipe.failure, OSError)
        heard.append(pipe.exchange(blocks(1)[0]))
        with pytest.raises(OSError, match="gone"):
            pipe.exchange(blocks(1)[0])
    sound = np.concatenate(heard)
    assert sound.max() == 1.0
    assert np.abs(np.diff(sound[150:])).max() < 0.5  # 5 ms at 1,000 samples a second
    assert sound[-1] == 0.0


def test_find_delays_of_chirps_that_come_later():
    samples, places = chirps(48_000, 4.0)
    late = np.concatenate([np.zeros(4_800, np.float32), 0.5 * samples])
    found = find_delays(late, places, 48_000)
    np.testing.assert_allclose(found, 0.1, atol=0.003)
    assert np.isnan(find_delays(np.zeros(300_000), places, 48_000)).all()
