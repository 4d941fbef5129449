import numpy as np
import pytest
import torch

from engine.audio import Audio
from engine.content import CONTENT
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


def test_silence_is_not_active():
    for features in (
        features_of(torch.full((20, BANDS), -14.0), np.zeros(20, np.float32)),
        measure_features(Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE)),
    ):
        assert not features.active.any()
        assert np.isfinite(features.content).all()
    assert features_of(torch.full((20, BANDS), -14.0), np.zeros(20, np.float32)).mel.min() == pytest.approx(-8.0)
