import numpy as np
import pytest

from engine.analysis.envelope import LOW_BANDS
from engine.audio.files import Audio
from engine.audio.resampling import resample
from engine.features.clips import analyse_clip
from engine.networks.content_encoder import CONTENT
from engine.research.demonstrations.frame_features import KINDS, measure_features
from engine.units import SAMPLE_RATE, frame_count


def test_measure_features_returns_mel_and_content_of_the_same_frames(sing):
    features = measure_features(Audio(sing(1.0)[None], SAMPLE_RATE))
    frames = frame_count(SAMPLE_RATE)
    assert features.mel.shape == (frames, LOW_BANDS)
    assert features.content.shape == (frames, CONTENT)
    assert features.mel.dtype == features.content.dtype == np.float32
    assert 0 < features.active.sum() < frames
    assert [features.of(kind).shape[1] for kind in KINDS] == [LOW_BANDS, CONTENT]


def test_measure_features_hardly_depends_on_the_level(sing):
    loud, quiet = (measure_features(Audio(gain * sing(1.0)[None], SAMPLE_RATE)) for gain in (1.0, 0.2))
    np.testing.assert_array_equal(loud.active, quiet.active)
    assert np.abs(loud.mel - quiet.mel)[loud.active].mean() < 0.02
    alike = (loud.content * quiet.content).mean(1)[loud.active]  # of unit variance: their correlation
    assert np.median(alike) > 0.9


def test_measure_features_returns_the_same_content_as_analyse_clip(sing):
    """Also where the recording is stored at 8 kHz and has no highest bands."""
    audio = Audio(resample(sing(2.0), SAMPLE_RATE, 8000)[None], 8000)
    expected = analyse_clip(audio).content[0]
    np.testing.assert_array_equal(measure_features(audio).content, expected.astype(np.float32))


def test_measure_features_marks_silence_inactive():
    features = measure_features(Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE))
    assert not features.active.any()
    assert np.isfinite(features.content).all()
    assert np.isfinite(features.mel).all()


def test_measure_features_clips_frames_far_below_the_level_and_marks_them_inactive(sing):
    samples = np.concatenate([sing(1.0), np.zeros(SAMPLE_RATE, np.float32)])
    features = measure_features(Audio(samples[None], SAMPLE_RATE))
    assert features.mel[-50:].max() == pytest.approx(-8.0)
    assert not features.active[-50:].any()
