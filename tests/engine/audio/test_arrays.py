"""Arrays as other libraries give them: scaled where their numbers say how, refused where they do not."""

import numpy as np
import pytest
import torch

from engine.audio.arrays import rate_of, refuse_unscaled, samples_of
from engine.errors import AudioError

HALF = 0.5


@pytest.mark.parametrize(
    "values",
    [
        *(np.full(4, HALF), np.full((1, 4), HALF, np.float32), np.full(4, HALF, np.float16), [HALF] * 4),
        *(np.full(4, 2**14, np.int16), np.full((1, 4), 2**30, np.int32), np.full(4, 2**6, np.int8)),
        *(np.full(4, 192, np.uint8), np.full(4, 2**14, ">i2"), torch.full((4,), HALF), torch.full((1, 4), HALF)),
    ],
    ids=lambda values: f"{type(values).__name__} {getattr(values, 'dtype', '')}",
)
def test_samples_of_scales_every_kind_of_number_to_full_scale(values):
    samples = samples_of(values)
    assert (samples.shape, samples.dtype) == ((1, 4), np.float32)
    assert (samples == HALF).all()


@pytest.mark.parametrize(("kind", "lowest"), [(np.int16, -(2**15)), (np.int32, -(2**31)), (np.uint8, 0)])
def test_samples_of_keeps_the_lowest_integer_at_full_scale(kind, lowest):
    assert samples_of(np.array([lowest], kind)).tolist() == [[-1.0]]


def test_samples_of_keeps_channels_and_copies_no_samples_that_are_right():
    right = np.zeros((8, 3), np.float32)
    assert samples_of(right) is right
    assert samples_of(np.zeros((2, 0))).shape == (2, 0)


@pytest.mark.parametrize("shape", [(3000, 2), (9, 1), (44_100, 8)])
def test_samples_of_asks_for_the_transpose_of_samples_by_channels(shape):
    with pytest.raises(AudioError, match=rf"{shape[0]} channels: did you mean samples\.T\?$"):
        samples_of(np.zeros(shape))


@pytest.mark.parametrize(
    ("values", "match"),
    [
        *((np.zeros((0, 10)), "1 to 8 channels"), (np.zeros((9, 9)), "9 channels: give others")),
        *((np.zeros((1, 2, 3)), "one recording at a time"), (0.5, "one recording at a time")),
        *((np.zeros(3, complex), "complex128"), (np.zeros(3, bool), "bool"), (np.zeros(3, int), "int64")),
        *((np.zeros(3, np.uint16), "uint16"), (["a"], "<U1"), ([[0.0], [0.0, 0.0]], "array of numbers")),
        *((torch.zeros(3, requires_grad=True), "array of numbers"), ([None], "object")),
    ],
)
def test_samples_of_refuses_what_is_no_recording_in_a_sentence(values, match):
    with pytest.raises(AudioError, match=match) as refused:
        samples_of(values)
    assert str(refused.value)[-1] in ".?"
    assert len(str(refused.value)) < 250


@pytest.mark.parametrize("rate", [44_100, 44_100.0, np.int64(44_100), np.float32(44_100), torch.tensor(44_100)])
def test_rate_of_returns_a_whole_number(rate):
    assert rate_of(rate) == 44_100
    assert type(rate_of(rate)) is int


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), 44_100.5, "fast", None, np.zeros(2)])
def test_rate_of_refuses_anything_else(rate):
    with pytest.raises(AudioError, match=r"^The rate must be a .*number"):
        rate_of(rate)


@pytest.mark.parametrize(
    ("peak", "meant"),
    [
        *((9.0, "samples / 32768"), (32767.0, "samples / 32768"), (2.0**22, "samples / 8388608")),
        *((2.0**30, "/ 2147483648"), (1e12, "give floats from -1 to 1")),
    ],
)
def test_refuse_unscaled_names_the_scale_that_was_left_out(peak, meant):
    with pytest.raises(AudioError, match=meant):
        refuse_unscaled(np.array([[0.0, -peak]], np.float32))


@pytest.mark.parametrize("peak", [0.0, 1.0, 8.0, np.inf, np.nan])
def test_refuse_unscaled_leaves_loud_recordings_and_what_others_refuse(peak):
    refuse_unscaled(np.array([[peak]], np.float32))
    refuse_unscaled(np.zeros((1, 0), np.float32))
