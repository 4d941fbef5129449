from pathlib import Path

import numpy as np
import pytest
import torch

from engine.analysis.envelope import LOW_BANDS, measure_envelope
from engine.analysis.pitch import detect_pitch
from engine.audio.files import Audio, read_audio
from engine.conversion.articulation import warp_bands
from engine.research.demonstrations.perturbation_trial import FACTORS, try_perturbation, warp_voice
from engine.units import SAMPLE_RATE

SPEECH = Path(__file__).parents[4] / "engine" / "samples" / "speech.flac"


@pytest.fixture(scope="module")
def speech() -> Audio:
    audio = read_audio(SPEECH)
    return Audio(audio.samples[:, : 3 * audio.rate], audio.rate)


def test_try_perturbation_finds_warped_moments_better_by_content_than_by_mel(speech):
    trial = try_perturbation(speech)
    assert trial.factors == FACTORS
    middle, ends = FACTORS.index(1.0), [0, -1]
    # the synthesizer gives nearly every moment back as it was
    assert trial.found_by_mel[middle] > 0.95
    assert trial.found_by_content[middle] > 0.95
    assert (trial.found_by_content[ends] > 0.9).all()
    assert (trial.found_by_mel[ends] < 0.85).all()
    # warped it is far away, and what is decoded from that is back where it came from
    assert trial.warped_nepers[middle] < 1e-3
    assert (trial.warped_nepers[ends] > 0.8).all()
    assert (trial.decoded_nepers[ends] < trial.warped_nepers[ends] - 0.1).all()
    assert trial.decoded_nepers.max() < 1.3 * trial.decoded_nepers[middle]
    assert trial.spectra.shape == (3, LOW_BANDS)


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_warp_voice_moves_the_resonances_and_keeps_the_pitch(speech, factor):
    warped = warp_voice(speech, factor)
    assert warped.rate == SAMPLE_RATE
    assert warped.duration_s == pytest.approx(speech.duration_s)
    before, after = (detect_pitch(one.mono(), one.rate) for one in (warp_voice(speech, 1.0), warped))
    both = before.voiced & after.voiced
    assert np.abs(before.semitones - after.semitones)[both].mean() < 0.3
    measured = measure_envelope(warped.mono(), before)
    plain = torch.from_numpy(measure_envelope(warp_voice(speech, 1.0).mono(), before))
    loud = before.voiced & after.voiced

    def distance(moved_by: float) -> float:
        expected = warp_bands(plain[None], torch.tensor([moved_by]))[0].numpy()
        return float(np.abs(measured - expected)[loud][:, :LOW_BANDS].mean())

    assert distance(factor) < 0.7 * distance(1.0)


def test_try_perturbation_of_silence_finds_nothing_and_stays_finite():
    trial = try_perturbation(Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE), factors=(0.8, 1.0))
    assert trial.found_by_mel.tolist() == [0.0, 0.0]
    assert np.isfinite(trial.warped_nepers).all()
