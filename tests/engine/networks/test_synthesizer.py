from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS, measure_envelope
from engine.analysis.pitch import Pitch, detect_pitch
from engine.networks.excitation import cycles_per_frame, pulse_train
from engine.networks.spectral_frames import cut_frames, frame_spectra
from engine.networks.synthesizer import Synthesizer, synthesize
from engine.units import HOP, SAMPLE_RATE, hertz_to_semitones


@pytest.fixture(scope="module")
def source_filter() -> Synthesizer:
    """A synthesizer whose network corrects nothing: only the sources and the measured envelope."""
    synthesizer = Synthesizer().eval()
    torch.nn.init.zeros_(synthesizer.leave[1].weight)
    return synthesizer


def curve(value: float, frames: int) -> np.ndarray:
    return np.full(frames, value, np.float32)


def flat(nepers: float, frames: int) -> np.ndarray:
    return np.full((frames, BANDS), nepers, np.float32)


def pulses(hertz: np.ndarray, start: float = 0.0) -> np.ndarray:
    return pulse_train(torch.from_numpy(np.asarray(hertz, np.float32))[None], start)[0][0].numpy()


def power_db(samples: np.ndarray) -> np.ndarray:
    return 10 * np.log10(np.abs(np.fft.rfft(samples) / len(samples)) ** 2 + 1e-20)


# ---- filters


@pytest.mark.parametrize("hertz", [90.0, 220.0, 600.0])
def test_synthesize_renders_pitch_and_level_of_a_flat_envelope(source_filter, hertz):
    frames = 101
    samples = synthesize(source_filter, flat(np.log(0.1), frames), Pitch(curve(hertz, frames), curve(1.0, frames)))
    assert samples.shape == (100 * HOP,)
    assert samples.dtype == np.float32
    inner = samples[5 * HOP : -5 * HOP]
    # a voiced frame keeps a fiftieth of the noise's power
    assert np.square(inner).mean() == pytest.approx(0.01 * 1.02, rel=0.05)
    found = detect_pitch(samples, SAMPLE_RATE)
    assert found.voiced[10:-10].all()
    assert np.median(found.semitones[10:-10]) == pytest.approx(hertz_to_semitones(hertz), abs=0.25)


def test_synthesize_renders_unvoiced_frames_as_noise_at_the_given_level(source_filter):
    frames = 101
    samples = synthesize(source_filter, flat(np.log(0.1), frames), Pitch(curve(150.0, frames), curve(0.0, frames)))
    assert np.square(samples[5 * HOP : -5 * HOP]).mean() == pytest.approx(0.01, rel=0.05)
    assert not detect_pitch(samples, SAMPLE_RATE).voiced[5:-5].any()


def test_synthesize_reproduces_the_given_envelope(source_filter):
    frames = 101
    pitch = Pitch(curve(150.0, frames), curve(1.0, frames))
    wanted = np.tile(np.sin(np.arange(BANDS) / 8).astype(np.float32) - 3, (frames, 1))
    samples = synthesize(source_filter, wanted, pitch)
    found = measure_envelope(samples, pitch)
    np.testing.assert_allclose(found[5:-5, 12:-4].mean(0), wanted[0, 12:-4], atol=0.15)


def test_synthesize_places_sound_at_its_frames(source_filter):
    envelope = flat(-14.0, 101)
    envelope[60:63] = 0.0
    samples = synthesize(source_filter, envelope, Pitch(curve(150.0, 101), curve(0.0, 101)))
    energy = np.square(samples)
    centre = (energy * np.arange(len(samples))).sum() / energy.sum()
    assert centre == pytest.approx(61 * HOP, abs=HOP / 2)


def test_synthesize_is_silent_at_the_envelope_floor(source_filter):
    samples = synthesize(source_filter, flat(-14.0, 51), Pitch(curve(150.0, 51), curve(1.0, 51)))
    assert np.abs(samples).max() < 1e-4


def test_synthesize_in_windows_matches_the_whole(source_filter):
    hertz = np.linspace(150, 200, 61).astype(np.float32)
    pitch, envelope = Pitch(hertz, curve(0.7, 61)), flat(-2.0, 61)
    cycles = cycles_per_frame(pitch.hertz, 0.3)
    whole = synthesize(source_filter, envelope, pitch, 1000 * HOP, 0.3, seed=5)
    part = synthesize(source_filter, envelope[20:], pitch[20:], 1020 * HOP, cycles[20] % 1.0, seed=5)
    margin = 10 * HOP
    np.testing.assert_allclose(part[margin:], whole[20 * HOP + margin :], atol=2e-3)


@pytest.mark.parametrize("frames", [2, 3, 10])
def test_synthesize_returns_one_hop_for_each_frame_but_the_last(source_filter, frames):
    samples = synthesize(source_filter, flat(-3.0, frames), Pitch(curve(200.0, frames), curve(1.0, frames)))
    assert samples.shape == ((frames - 1) * HOP,)


def test_synthesizer_weights_do_not_include_the_tables():
    assert not {"table", "window"} & set(Synthesizer().state_dict())


# ---- the residual


def residual_of(synthesizer, samples, voicing, share=1.0, known=None):
    frames = len(samples) // HOP + 1
    envelope = measure_envelope(samples, Pitch(curve(150.0, frames), curve(voicing, frames)))
    cut, known = cut_frames(samples, frames), torch.ones(BANDS) if known is None else known
    curves = (torch.from_numpy(curve(value, frames)) for value in (voicing, share))
    return synthesizer.residual(cut, torch.from_numpy(envelope), *curves, known), envelope


def flattened(synthesizer, residual) -> torch.Tensor:
    """The spectra of a residual that takes the place of all noise."""
    spectra, whole = frame_spectra(residual.frames), replace(residual, share=torch.ones_like(residual.share))
    return spectra * synthesizer.residual_gains(torch.ones(1), whole, spectra)[0]


def test_residual_of_filtered_noise_has_the_power_of_white_noise(source_filter):
    noise = np.random.default_rng(0).standard_normal(100 * HOP).astype(np.float32)
    found, _ = residual_of(source_filter, 0.1 * np.convolve(noise, [1.0, 0.7])[: len(noise)].astype(np.float32), 0.0)
    kept, of_noise = flattened(source_filter, found), frame_spectra(cut_frames(noise, 101))
    level_db = 10 * torch.log10(kept[5:-5].abs().square().mean() / of_noise[5:-5].abs().square().mean())
    assert float(level_db) == pytest.approx(0.0, abs=0.7)
    assert float(found.share.min()) > 0.95


def test_residual_keeps_the_timing_of_a_burst_between_two_frames(source_filter):
    burst = np.zeros(60 * HOP, np.float32)
    begins = 30 * HOP + HOP // 2
    burst[begins : begins + 60] = 0.3 * np.random.default_rng(1).standard_normal(60)
    found, envelope = residual_of(source_filter, burst, 0.0)
    pitch = Pitch(curve(150.0, 61), curve(0.0, 61))
    kept, smeared = (synthesize(source_filter, envelope, pitch, residual=one) for one in (found, None))
    inside = slice(begins - 20, begins + 80)
    assert np.square(kept[inside]).sum() > 0.9 * np.square(kept).sum()
    assert np.square(smeared[inside]).sum() < 0.5 * np.square(smeared).sum()


def test_residual_leaves_out_voiced_unwanted_and_unknown_parts(source_filter):
    noise = (0.1 * np.random.default_rng(2).standard_normal(20 * HOP)).astype(np.float32)
    voiced, _ = residual_of(source_filter, noise, 1.0)
    unwanted, envelope = residual_of(source_filter, noise, 0.0, share=0.0)
    low, _ = residual_of(source_filter, noise, 0.0, known=(torch.arange(BANDS) < 50).float())
    assert float(voiced.share.max()) < 1e-3
    _, rest = source_filter.residual_gains(torch.ones(1), low, frame_spectra(low.frames))
    assert float(rest[:, -100:].min()) == 1.0  # of the noise, all
    assert float(rest[:, 20:40].max()) < 0.4
    pitch = Pitch(curve(150.0, 21), curve(0.0, 21))
    plain, same = (synthesize(source_filter, envelope, pitch, residual=one) for one in (None, unwanted))
    np.testing.assert_allclose(same, plain, atol=1e-6)


def test_residual_of_silence_and_of_clicks_is_finite_and_limited(source_filter):
    clicks = np.zeros(20 * HOP, np.float32)
    clicks[::2000] = 1.0
    for samples in (np.zeros_like(clicks), clicks):
        found, _ = residual_of(source_filter, samples, 0.0)
        kept = flattened(source_filter, found)
        assert torch.isfinite(torch.view_as_real(kept)).all()
        assert float(kept.abs().max()) <= 6.01 * float(torch.hann_window(2 * HOP).square().sum().sqrt())


# ---- as before


@pytest.mark.parametrize("kind", ["pulses", "recording"])
def test_synthesize_is_what_it_was_within_60_db(source_filter, sing, kind):
    """Stored by 0.18.0, which computed spectra of whole windows, and phases in 64 bits for each sample."""
    frames, samples = 31, sing(0.3, 220.0)
    pitch = Pitch(np.geomspace(218, 224, frames).astype(np.float32), np.linspace(0.2, 1.0, frames, dtype=np.float32))
    envelope, share = measure_envelope(samples, pitch)[:frames], torch.full((frames, BANDS), 0.7)
    kept = ()
    if kind == "recording":
        cut, measured = cut_frames(samples, frames), torch.from_numpy(envelope)
        residual = source_filter.residual(cut, measured, torch.from_numpy(pitch.voicing), share[:, 0], share[0])
        kept, envelope = (residual, source_filter.recorded(cut, measured, pitch, share)), envelope + np.float32(0.4)
    found = synthesize(source_filter, envelope, pitch, 1000, 0.3, 2, *kept)
    stored = np.load(Path(__file__).parent / "data" / "synthesized.npz")[kind].astype(np.float32)
    assert 10 * np.log10(np.square(found - stored).mean() / np.square(stored).mean()) < -60
