import numpy as np
import pytest

from engine.audio.cross_fades import cross_fade, rise


@pytest.mark.parametrize("samples", [1, 2, 441, 1323])
def test_rise_is_the_same_read_backwards_so_that_both_shares_add_up_to_one(samples):
    share = rise(samples)
    assert share.dtype == np.float32
    np.testing.assert_allclose(share + share[::-1], 1.0, atol=1e-7)


def test_rise_can_begin_with_the_sound_before_alone():
    assert rise(4, 0.0).tolist() == [0.0, 0.25, 0.5, 0.75]


def test_cross_fade_keeps_equal_sounds_and_goes_from_one_to_the_other():
    before, after = np.full((2, 100), 1.0, np.float32), np.full((2, 100), -1.0, np.float32)
    faded = cross_fade(before, after, rise(100))
    assert faded.dtype == np.float32
    assert faded[0, 0] == pytest.approx(0.99)
    assert faded[1, -1] == pytest.approx(-0.99)
    assert (np.diff(faded) < 0).all()
    np.testing.assert_allclose(cross_fade(before, before, rise(100)), before, atol=1e-7)


def test_cross_fade_of_a_sound_that_ends_early_is_as_long_as_that():
    assert cross_fade(np.ones((1, 100)), np.zeros((1, 30)), rise(100)).shape == (1, 30)
