import numpy as np
import pytest

from engine.audio.files import Audio, open_audio, write_audio
from engine.audio.own_channels import OneChannel, channel_of_one_voice

RATE = 16_000


def talk(seconds: float, seed: int) -> np.ndarray:
    """Bursts of a voice's band, with pauses."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    sound = np.sin(2 * np.pi * (300 + 50 * seed) * time_s) + np.sin(2 * np.pi * (900 + 70 * seed) * time_s)
    return 0.2 * sound * (np.sin(2 * np.pi * 1.5 * time_s) > -0.5)


def written(tmp_path, channels: np.ndarray):
    path = tmp_path / "talk.wav"
    write_audio(path, Audio(channels.astype(np.float32), RATE))
    return path


def in_turn(gain: float = 0.0) -> np.ndarray:
    """Two people, a microphone each, which takes the other up at this gain; the second talks longer."""
    noise = 1e-4 * np.random.default_rng(0).standard_normal((2, 21 * RATE))
    noise[0, : 8 * RATE] += talk(8, 1)
    noise[1, 9 * RATE :] += talk(12, 2)
    return noise + gain * noise[::-1]


@pytest.mark.parametrize("gain", [0.0, 0.2])
def test_channel_of_one_voice_chooses_the_one_who_says_most(tmp_path, gain):
    path = written(tmp_path, in_turn(gain))
    assert channel_of_one_voice(path) == 1
    assert channel_of_one_voice(written(tmp_path, in_turn(gain)[::-1])) == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda voice, noise: np.stack([voice]),
        lambda voice, noise: np.stack([voice, voice]),
        lambda voice, noise: np.stack([voice, 0.1 * np.roll(voice, 80)]),  # panned
        lambda voice, noise: np.stack([voice, noise]),  # a second input with nothing but hiss
        lambda voice, noise: np.stack([0 * voice, 0 * voice]),
        lambda voice, noise: np.stack([voice, 20 * noise]),
    ],
)
def test_channel_of_one_voice_is_none_where_one_voice_is_heard(tmp_path, make):
    noise = 0.01 * np.random.default_rng(1).standard_normal(20 * RATE)
    assert channel_of_one_voice(written(tmp_path, make(talk(20, 1), noise))) is None


def test_one_channel_yields_that_channel_alone(tmp_path):
    path = written(tmp_path, in_turn())
    with open_audio(path) as recording:
        found = np.concatenate(list(OneChannel(recording, 1).blocks()), axis=1)
    assert found.shape == (1, 21 * RATE)
    np.testing.assert_allclose(found[0], in_turn()[1], atol=1e-4)
