"""Recordings above full scale are lowered as a whole; a moment above it is not."""

import numpy as np
import pytest

from engine.audio.files import Audio
from engine.audio.headroom import Headroom, Lowered, Metered
from engine.units import SAMPLE_RATE

FULL = np.sin(2 * np.pi * 220 * np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE).astype(np.float32)


def headroom(*channels: np.ndarray, rate: int = SAMPLE_RATE, block: int | None = None) -> Headroom:
    metered = Metered(Audio(np.stack(channels), rate))
    for _ in metered.blocks(block):
        pass
    return metered.headroom


@pytest.mark.parametrize(("above_db", "lowered_db"), [(6.0, 14.0), (24.0, 32.0), (1.5, 9.5), (0.9, 0.0), (-20.0, 0.0)])
def test_headroom_lowers_what_stays_above_full_scale(above_db, lowered_db):
    found = headroom(FULL * np.float32(10 ** (above_db / 20)))
    assert found.lowered_db == pytest.approx(lowered_db, abs=0.11)
    assert (found.warning is not None) == (lowered_db > 0.0)
    if found.warning:
        assert f"{found.lowered_db:.1f} dB softer" in found.warning


@pytest.mark.parametrize("seconds", [0.00002, 0.03, 0.1])
def test_headroom_leaves_a_click_and_a_bump_to_the_limiter_and_says_so(seconds):
    samples = 0.5 * FULL
    samples[70_000 : 70_000 + round(seconds * SAMPLE_RATE) + 1] = 10.0
    found = headroom(samples)
    assert found.lowered_db == 0.0
    assert found.peak_db == pytest.approx(20.0)
    assert "at 1.58 s" in str(found.warning)


def test_headroom_of_a_phrase_above_full_scale_is_that_of_the_phrase():
    samples = 0.1 * FULL
    samples[SAMPLE_RATE : 2 * SAMPLE_RATE] *= 40.0
    assert headroom(samples).lowered_db == pytest.approx(12.04 + 8.0, abs=0.1)


def test_headroom_is_that_of_the_loudest_channel_and_of_any_blocks():
    assert headroom(0.1 * FULL, 2.0 * FULL).lowered_db == headroom(2.0 * FULL).lowered_db
    assert headroom(2.0 * FULL, block=1000).lowered_db == headroom(2.0 * FULL).lowered_db


def test_headroom_of_nothing_of_silence_and_of_a_moment():
    assert headroom(FULL[:0]).lowered_db == headroom(0 * FULL).lowered_db == 0.0
    assert headroom(8.0 * FULL[:2000]).lowered_db == pytest.approx(26.0, abs=0.2)


def test_lowered_scales_all_channels_alike_and_zero_changes_nothing():
    source = Audio(np.stack([FULL, 0.5 * FULL]), SAMPLE_RATE)
    [block] = Lowered(source, 20.0).blocks(len(FULL))
    np.testing.assert_allclose(block, 0.1 * source.samples, rtol=1e-6)
    [same] = Lowered(source, 0.0).blocks(len(FULL))
    np.testing.assert_array_equal(same, source.samples)
