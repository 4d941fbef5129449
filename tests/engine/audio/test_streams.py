"""Consecutive blocks, read in pieces of any length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.audio.files import Audio
from engine.audio.streams import Reader, at_engine_rate, stretch_of
from engine.units import SAMPLE_RATE


def blocks_of(samples, size):
    return [samples[:, start : start + size] for start in range(0, samples.shape[1], size)]


@given(st.integers(0, 300), st.integers(1, 50), st.lists(st.integers(1, 80), min_size=1, max_size=20))
def test_reader_gives_the_samples_in_pieces_of_the_lengths_asked(count, size, lengths):
    samples = np.arange(2 * count, dtype=np.float32).reshape(2, count)
    reader = Reader(blocks_of(samples, size), 2)
    for length in lengths:
        before = reader.position
        np.testing.assert_array_equal(reader.read(length), samples[:, before : before + length])
        assert reader.position == min(count, before + length)


def test_reader_skips_forward_alone():
    reader = Reader(blocks_of(np.arange(100.0)[None], 7), 1)
    reader.skip_to(50)
    assert reader.read(1)[0, 0] == 50
    reader.skip_to(10)
    assert reader.read(1)[0, 0] == 51
    reader.skip_to(200)
    assert (reader.position, reader.read(1).shape) == (100, (1, 0))


@pytest.mark.parametrize(("first", "stop"), [(0, 10), (5, 40), (30, None), (99, 200), (100, None)])
def test_stretch_of_yields_the_samples_between(first, stop):
    samples = np.arange(100.0)[None]
    kept = [*stretch_of(blocks_of(samples, 8), first, stop)]
    np.testing.assert_array_equal(np.concatenate([samples[:, :0], *kept], 1), samples[:, first:stop])


def test_at_engine_rate_keeps_the_length():
    source = Audio(np.zeros((2, 16_000), np.float32), 16_000)
    assert sum(block.shape[1] for block in at_engine_rate(source)) == SAMPLE_RATE
