"""Which input is converted, and what is said of inputs that are silent."""

import numpy as np
import pytest

from engine.errors import EngineError
from engine.live.inputs import Inputs

RATE, PIECE = 48_000, 480


def vowel(seconds: float, level_db: float) -> np.ndarray:
    """A sine of a mean level."""
    return np.sin(np.arange(round(seconds * RATE)) * 0.03) * np.sqrt(2) * 10 ** (level_db / 20)


def sung(number: int | None, *channels: np.ndarray) -> tuple[Inputs, np.ndarray]:
    """Inputs that have taken channels piece by piece, and what they took."""
    inputs, given = Inputs(len(channels), number, RATE), np.stack(channels).astype(np.float32)
    taken = [inputs.take(given[:, first : first + PIECE]) for first in range(0, given.shape[1], PIECE)]
    return inputs, np.concatenate(taken)


def test_inputs_take_one_or_the_mean_of_all():
    left, right = vowel(0.5, -20.0).astype(np.float32), vowel(0.5, -30.0).astype(np.float32)
    np.testing.assert_array_equal(sung(1, left, right)[1], left)
    np.testing.assert_array_equal(sung(2, left, right)[1], right)
    np.testing.assert_allclose(sung(None, left, right)[1], (left + right) / 2, atol=1e-7)
    np.testing.assert_array_equal(sung(None, left)[1], left)


@pytest.mark.parametrize("noise_db", [-200.0, -80.0, -60.0])
def test_inputs_name_the_input_that_sounds(noise_db):
    noise, voice = vowel(3.0, noise_db), vowel(3.0, -25.0)
    assert sung(1, noise, voice)[0].complaint == "Input 1 is silent; your microphone is in input 2: choose Input 2."
    assert "in input 1, and the mix with the silent inputs" in str(sung(None, voice, noise, noise)[0].complaint)
    assert sung(2, noise, voice)[0].complaint is None


def test_inputs_say_nothing_of_two_microphones_of_silence_and_of_the_first_moment():
    voice = vowel(3.0, -25.0)
    for number in (None, 1, 2):
        assert sung(number, voice, 0.1 * voice)[0].complaint is None  # the second of two in a room
        assert sung(number, 0 * voice, vowel(3.0, -55.0))[0].complaint is None  # nobody sings
    assert sung(1, 0 * voice, voice)[0].complaint is not None
    assert sung(1, (0 * voice)[: RATE // 2], voice[: RATE // 2])[0].complaint is None
    assert sung(None, voice)[0].complaint is None


def test_inputs_notice_a_cable_that_is_put_into_another_input():
    voice, pause = vowel(20.0, -25.0), vowel(20.0, -200.0)
    assert sung(1, np.concatenate([pause, voice]), np.concatenate([voice, pause]))[0].complaint is None
    other = sung(1, np.concatenate([voice, pause]), np.concatenate([pause, voice]))[0]
    assert str(other.complaint).startswith("Input 1 is silent")


def test_inputs_refuse_an_input_that_is_not_there():
    with pytest.raises(EngineError, match="There is no input 3: the microphone or recording has 2"):
        Inputs(2, 3, RATE)
