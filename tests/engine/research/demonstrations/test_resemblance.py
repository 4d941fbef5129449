from pathlib import Path

import numpy as np
import pytest

from engine.audio.files import Audio, read_audio
from engine.research.demonstrations.frame_features import KINDS, Features, measure_features
from engine.research.demonstrations.perturbation_trial import warp_voice
from engine.research.demonstrations.resemblance import found_again, similarity
from engine.units import SAMPLE_RATE

SPEECH = Path(__file__).parents[4] / "engine" / "samples" / "speech.flac"


@pytest.fixture(scope="module")
def speech() -> Audio:
    audio = read_audio(SPEECH)
    return Audio(audio.samples[:, : 3 * audio.rate], audio.rate)


@pytest.fixture(scope="module")
def features(speech) -> Features:
    return measure_features(speech)


@pytest.mark.parametrize("kind", KINDS)
def test_found_again_of_a_recording_in_itself_is_one(features, kind):
    assert found_again(features, features, kind) == 1.0
    cosine = similarity(features, features, kind)
    assert cosine.shape == (len(features.active),) * 2
    np.testing.assert_allclose(np.diag(cosine)[features.active], 1.0, atol=1e-4)
    assert np.abs(cosine).max() <= 1.0 + 1e-5


def test_found_again_is_higher_by_content_than_by_mel_for_another_voice(speech, features):
    other = measure_features(warp_voice(speech, 0.78))
    assert found_again(features, other, "content") > 0.9
    assert found_again(features, other, "content") > found_again(features, other, "mel") + 0.1


def test_found_again_is_low_for_a_copy_shifted_by_a_second(speech, features):
    late = measure_features(Audio(np.roll(speech.samples, speech.rate, axis=1), speech.rate))
    assert found_again(features, late, "content") < 0.2


def test_found_again_of_silence_is_zero(features):
    silence = measure_features(Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE))
    assert found_again(features, silence, "mel") == 0.0
