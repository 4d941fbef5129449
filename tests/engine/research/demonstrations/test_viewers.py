import pytest

from engine.audio.files import Audio
from engine.research.demonstrations.frame_features import measure_features
from engine.research.demonstrations.source_filter import take_apart
from engine.research.demonstrations.viewers import similar_moments, source_filter_viewer
from engine.units import SAMPLE_RATE


def picture(box) -> bytes:
    return bytes(box.children[-1].value)


def test_source_filter_viewer_redraws_for_a_new_window_and_moment(sing):
    parts = take_apart(Audio(sing(1.0)[None], SAMPLE_RATE))
    whole, moment = source_filter_viewer(parts, 0.4).children
    pictures = {picture(whole), picture(moment)}
    whole.children[0].value = (0.2, 0.6)
    moment.children[0].value = 0.8
    pictures |= {picture(whole), picture(moment)}
    assert len(pictures) == 4


def test_similar_moments_redraws_for_a_new_window(sing):
    features = measure_features(Audio(sing(1.0)[None], SAMPLE_RATE))
    box = similar_moments(features, features)
    assert box.children[0].value == pytest.approx((0.0, 1.01))
    before = picture(box)
    box.children[0].value = (0.2, 0.5)
    assert picture(box) != before
