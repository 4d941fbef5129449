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


def test_exchange_returns_each_block_after_the_spare_one():
    echo = Echo()
    with DevicePipe(echo) as pipe:
        found = []
        for number, block in enumerate(blocks(4), 1):
            echo.may.release()
            found.append(passed(pipe, block, number))
    assert [float(block[50]) for block in found] == [0.0, 1.0, 2.0, 3.0]
    assert pipe.report.glitches == 0


def test_exchange_fades_out_in_a_stall_and_returns_to_its_delay():
    echo = Echo()
    with DevicePipe(echo) as pipe:
        echo.may.release()
        passed(pipe, blocks(1)[0], 1)
        found = [pipe.exchange(block) for block in blocks(8)[1:5]]  # nothing is converted: a stall of four blocks
        assert float(found[0][50]) == 1.0
        assert found[1][0] == 1.0  # from where the sound was
        assert not found[1][10:].any()
        assert not np.concatenate(found[2:]).any()
        for _ in range(8):
            echo.may.release()
        after = [passed(pipe, block, 1 + 3 + number) for number, block in enumerate(blocks(12)[8:11], 1)]
    assert pipe.report.glitches >= 3
    assert len(pipe._outgoing) <= 2  # not the whole stall is queued
    assert all(np.abs(np.diff(block)).max() < 4.0 for block in after)


def test_exchange_raises_what_ended_the_conversion():
    echo = Echo()
    with DevicePipe(echo) as pipe:
        echo.may.release()
        pipe.exchange(np.full(100, -1.0, np.float32))
        pipe._thread.join(5)
        with pytest.raises(OSError, match="gone"):
            pipe.exchange(blocks(1)[0])


def test_find_delays_of_chirps_that_come_later():
    samples, places = chirps(48_000, 4.0)
    late = np.concatenate([np.zeros(4_800, np.float32), 0.5 * samples])
    found = find_delays(late, places, 48_000)
    np.testing.assert_allclose(found, 0.1, atol=0.003)
    assert np.isnan(find_delays(np.zeros(300_000), places, 48_000)).all()
