import numpy as np
import pytest
import torch

from engine.audio import Audio, resample
from engine.base import load_base
from engine.clips import analyse_clip
from engine.content import CONTENT, content_input
from engine.envelope import BANDS, LOW_BANDS
from engine.features import KINDS, features_of, measure_features
from engine.frames import SAMPLE_RATE, frame_count


def test_both_views_are_of_the_same_frames(sing):
    features = measure_features(Audio(sing(1.0)[None], SAMPLE_RATE))
    frames = frame_count(SAMPLE_RATE)
    assert features.mel.shape == (frames, LOW_BANDS)
    assert features.content.shape == (frames, CONTENT)
    assert 0 < features.active.sum() < frames
    assert [features.of(kind).shape[1] for kind in KINDS] == [LOW_BANDS, CONTENT]


def test_the_level_does_not_matter(sing):
    loud, quiet = (measure_features(Audio(gain * sing(1.0)[None], SAMPLE_RATE)) for gain in (1.0, 0.2))
    np.testing.assert_array_equal(loud.active, quiet.active)
    for kind in KINDS:
        assert np.abs(loud.of(kind) - quiet.of(kind))[loud.active].mean() < 0.02


def test_content_is_heard_as_a_conversion_hears_it(sing):
    """Relative to the colour of the whole recording, also where that is stored at 8 kHz and has no highest bands."""
    audio = Audio(resample(sing(2.0), SAMPLE_RATE, 8000)[None], 8000)
    clip = analyse_clip(audio)
    heard = content_input(
        torch.from_numpy(clip.envelope.astype(np.float32))[None], 0.0, torch.from_numpy(clip.level.mean)
    )
    with torch.inference_mode():
        expected = load_base().content(heard)[0].numpy()
    np.testing.assert_array_equal(measure_features(audio).content, expected)


def test_silence_is_not_active():
    for features in (
        features_of(torch.full((20, BANDS), -14.0), torch.zeros(BANDS)),
        measure_features(Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE)),
    ):
        assert not features.active.any()
        assert np.isfinite(features.content).all()
    assert features_of(torch.full((20, BANDS), -14.0), torch.zeros(BANDS)).mel.min() == pytest.approx(-8.0)
