import numpy as np
import pytest

from engine.analysis.envelope import BANDS
from engine.audio.files import Audio
from engine.errors import AudioError
from engine.evaluation.take_difference import (
    TakeDifference,
    mean_difference,
    mel_cepstral_distortion,
    pairwise_difference,
)
from engine.units import SAMPLE_RATE


def audio(samples: np.ndarray) -> Audio:
    return Audio(samples[None].astype(np.float32), SAMPLE_RATE)


def test_pairwise_difference_is_zero_for_identical_takes(sing):
    take = audio(sing(1.5))
    assert pairwise_difference([take, take]) == TakeDifference(0.0, 0.0, 0.0)


def test_pairwise_difference_reports_pitch_in_cents(sing):
    difference = pairwise_difference([audio(sing(2.0, hertz=200.0)), audio(sing(2.0, hertz=200.0 * 2 ** (30 / 1200)))])
    assert difference.pitch_cents == pytest.approx(30, abs=2)


def test_pairwise_difference_reports_level_in_decibels_and_not_as_colour(sing):
    take = sing(1.5)
    difference = pairwise_difference([audio(take), audio(take * 0.5)])
    assert difference.loudness_db == pytest.approx(6.02, abs=0.05)
    assert difference.colour_db == pytest.approx(0, abs=0.05)
    assert difference.pitch_cents == pytest.approx(0, abs=0.5)


def test_pairwise_difference_averages_over_all_pairs(sing):
    take = sing(1.5)
    difference = pairwise_difference([audio(take), audio(take * 0.5), audio(take * 0.25)])
    assert difference.loudness_db == pytest.approx((6.02 + 6.02 + 12.04) / 3, abs=0.1)


@pytest.mark.parametrize("decibels", [1.0, 6.0])
def test_mel_cepstral_distortion_is_the_rms_of_a_ripple_and_ignores_level(decibels):
    ripple = np.cos(np.pi * 3 * (np.arange(BANDS) + 0.5) / BANDS) * decibels * np.log(10) / 20
    flat = np.zeros((4, BANDS))
    assert mel_cepstral_distortion(flat, flat + ripple) == pytest.approx(np.full(4, decibels / np.sqrt(2)), rel=1e-6)
    assert mel_cepstral_distortion(flat, flat + 1.0) == pytest.approx(np.zeros(4), abs=1e-9)


def test_pairwise_difference_has_no_pitch_for_silence():
    silence = audio(np.zeros(SAMPLE_RATE))
    difference = pairwise_difference([silence, silence])
    assert difference.pitch_cents is None


def test_mean_difference_leaves_out_missing_measures():
    means = mean_difference([TakeDifference(1.0, None, 2.0), TakeDifference(3.0, 5.0, 4.0)])
    assert means == TakeDifference(2.0, 5.0, 3.0)


def test_pairwise_difference_refuses_a_single_take(sing):
    with pytest.raises(AudioError, match="needs at least two"):
        pairwise_difference([audio(sing(1.0))])
