import numpy as np
import pytest

from engine.analysis.pitch import detect_pitch
from engine.audio.files import Audio
from engine.networks.base import load_base
from engine.networks.synthesizer import Synthesizer
from engine.research.copies import copy_synthesis
from engine.units import SAMPLE_RATE


@pytest.mark.parametrize(("samples", "rate"), [(1, 44_100), (1000, 44_100), (12_345, 16_000), (30_000, 96_000)])
def test_copy_synthesis_keeps_the_exact_duration_at_any_rate(samples, rate):
    audio = Audio(np.random.default_rng(0).normal(0, 0.1, (2, samples)).astype(np.float32), rate)
    copied = copy_synthesis(audio, Synthesizer().eval())
    assert copied.rate == SAMPLE_RATE
    assert copied.samples.shape == (1, round(samples * SAMPLE_RATE / rate))


def test_copy_synthesis_with_the_base_keeps_pitch_and_level(sing):
    sung = sing(2.0)
    copied = copy_synthesis(Audio(sung[None], SAMPLE_RATE), load_base().synthesizer).samples[0]
    before, after = detect_pitch(sung, SAMPLE_RATE), detect_pitch(copied, SAMPLE_RATE)
    both = before.voiced & after.voiced
    assert both.sum() > 0.9 * before.voiced.sum()
    assert np.median(np.abs(before.semitones - after.semitones)[both]) < 0.2
    assert 20 * np.log10(copied.std() / sung.std()) == pytest.approx(0, abs=3)
