"""Resampling: exact lengths, and blocks that join to the whole."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.audio.resampling import Resampler, resample, resampled_length
from tests.engine.audio.test_files import RATE, tone


def test_resampled_length_rounds_halves_up() -> None:
    assert resampled_length(1, 16_000, 8_000) == 1
    assert resampled_length(3, 16_000, 8_000) == 2
    assert resampled_length(0, 16_000, 8_000) == 0
    assert resampled_length(44_100 * 7200, 44_100, 16_000) == 16_000 * 7200


@pytest.mark.parametrize(("old", "new"), [(44_100, 16_000), (48_000, 44_100), (8_000, 192_000)])
def test_resample_keeps_a_tone(old: int, new: int) -> None:
    resampled = resample(tone(old, old, 2), old, new)
    assert resampled.shape == (2, new)
    assert np.abs(resampled - tone(new, new, 2))[:, new // 10 : -new // 10].max() < 1e-4


def test_resample_keeps_outer_shape() -> None:
    assert resample(np.zeros(441), RATE, 48_000).shape == (480,)
    assert resample(np.zeros((2, 3, 441)), RATE, 48_000).shape == (2, 3, 480)
    assert resample(np.zeros((2, 0)), RATE, 48_000).shape == (2, 0)
    assert resample(np.zeros((2, 5)), RATE, RATE).dtype == np.float32


RATES = st.one_of(st.sampled_from([8_000, 16_000, 44_100, 48_000, 96_000, 192_000]), st.integers(8_000, 192_000))


@settings(max_examples=60)
@given(old=RATES, new=RATES, sizes=st.lists(st.integers(0, 4000), min_size=1, max_size=6), channels=st.integers(1, 3))
def test_resampler_in_blocks_matches_resample(old: int, new: int, sizes: list[int], channels: int) -> None:
    samples = np.random.default_rng(0).normal(0, 0.1, (channels, sum(sizes))).astype(np.float32)
    resampler = Resampler(old, new, channels)
    edges = np.cumsum([0, *sizes])
    blocks = [
        resampler.push(samples[:, start:stop], last=index == len(sizes) - 1)
        for index, (start, stop) in enumerate(pairwise(edges))
    ]
    streamed = np.concatenate(blocks, axis=1)
    assert streamed.shape == (channels, resampled_length(sum(sizes), old, new))
    assert np.allclose(streamed, resample(samples, old, new), atol=1e-6)
