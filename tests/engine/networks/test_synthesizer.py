import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import freqz

from engine.analysis.envelope import BANDS, measure_envelope
from engine.analysis.pitch import Pitch, detect_pitch
from engine.audio.files import Audio
from engine.networks.base import load_base
from engine.networks.excitation import cycles_per_frame, noise_at, pulse_train
from engine.networks.spectral_frames import cut_frames, minimum_phase
from engine.networks.synthesizer import Synthesizer, copy_synthesis, synthesize
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


# ---- pulses


@pytest.mark.parametrize("hertz", [47.0, 100.0, 261.63, 700.0, 1400.0])
def test_pulse_train_has_unit_power_at_every_pitch(hertz):
    assert np.square(pulses(curve(hertz, 101))).mean() == pytest.approx(1.0, abs=0.04)


def test_pulse_train_spaces_pulses_by_the_pitch_period():
    samples = pulses(curve(100.0, 101))  # a whole number of samples apart
    np.testing.assert_array_equal(np.diff(np.flatnonzero(samples > samples.max() / 2)), 441)


def test_pulse_train_is_band_limited():
    # 70.5 samples to a cycle: what was folded down from above half the rate would lie between the harmonics
    cycle = 70.5
    harmonics = round(2 * cycle) // 4  # whole ones below half the rate
    spectrum = power_db(pulses(curve(SAMPLE_RATE / cycle, 64))[1000 : 1000 + 141 * 100])
    on, between = spectrum[200::200], spectrum[100::200]
    assert np.ptp(on[: harmonics - 1]) < 0.1
    assert on[: harmonics - 1].mean() - between[: harmonics - 1].max() > 60


def test_pulse_train_of_a_glide_matches_a_sum_of_cosines_with_the_highest_faded():
    hertz = np.geomspace(300.0, 330.0, 11)
    frequency = np.exp2(np.interp(np.arange(10 * HOP) / HOP, np.arange(11), np.log2(hertz)))
    cycles = np.cumsum(frequency) / SAMPLE_RATE
    number = np.arange(1, 80)[:, None]
    amplitude = (SAMPLE_RATE / 2 / frequency - number + 1).clip(0, 1)  # from one to nothing over one pitch: no clicks
    wanted = (amplitude * np.cos(2 * np.pi * number * cycles)).sum(0) * np.sqrt(4 * frequency / SAMPLE_RATE)
    np.testing.assert_allclose(pulses(hertz), wanted, atol=0.02)


@given(st.integers(1, 19), st.floats(0, 1), st.integers(0, 1000))
@settings(max_examples=25)
def test_pulse_train_continues_across_a_split_with_carried_cycles(split, start, seed):
    hertz = torch.from_numpy(np.random.default_rng(seed).uniform(60, 900, (1, 21)).astype(np.float32))
    whole, end = pulse_train(hertz, start)
    first, carried = pulse_train(hertz[:, : split + 1], start)
    second, second_end = pulse_train(hertz[:, split:], carried)
    joined = torch.cat([first, second], 1)
    assert whole.shape == (1, 20 * HOP)
    torch.testing.assert_close(joined, whole, atol=0.02 * float(whole.abs().max()), rtol=0)
    torch.testing.assert_close((second_end - end + 0.5) % 1.0, torch.full((1,), 0.5, dtype=torch.float64))


@given(st.floats(0, 1), st.integers(0, 1000))
@settings(max_examples=10)
def test_cycles_per_frame_matches_the_cycles_of_pulse_train(start, seed):
    hertz = np.random.default_rng(seed).uniform(60, 900, 12).astype(np.float32)
    cycles = cycles_per_frame(hertz, start)
    assert cycles.shape == (12,)
    assert cycles[0] == start
    for frame in (1, 5, 11):
        _, end = pulse_train(torch.from_numpy(hertz[: frame + 1])[None], start)
        assert (cycles[frame] - float(end) + 0.5) % 1.0 == pytest.approx(0.5, abs=1e-6)


def test_pulse_train_starts_each_row_of_a_batch_at_its_own_cycle():
    hertz = torch.full((2, 5), 200.0)
    both, _ = pulse_train(hertz, torch.tensor([0.0, 0.25]))
    torch.testing.assert_close(both[1], pulse_train(hertz[:1], 0.25)[0][0])
    assert (both[0] - both[1]).abs().max() > 1


# ---- noise


@given(st.integers(0, 200_000), st.integers(0, 3000), st.integers(0, 2**31 + 8), st.data())
@settings(max_examples=25)
def test_noise_at_depends_only_on_seed_and_position(first, count, seed, data):
    whole = noise_at(first, count, seed)
    assert whole.shape == (count,)
    assert whole.dtype == np.float32
    split = data.draw(st.integers(0, count))
    joined = np.concatenate([noise_at(first, split, seed), noise_at(first + split, count - split, seed)])
    np.testing.assert_array_equal(joined, whole)


def test_noise_at_reads_across_blocks_and_blocks_are_uncorrelated():
    np.testing.assert_array_equal(noise_at(0, 140_000, 3)[65_000:67_000], noise_at(65_000, 2000, 3))
    assert np.abs(np.corrcoef(noise_at(0, 65_536, 3), noise_at(65_536, 65_536, 3))[0, 1]) < 0.02


def test_noise_at_has_unit_variance_and_differs_between_seeds():
    one, other = noise_at(0, 100_000, 0), noise_at(0, 100_000, 1)
    assert one.var() == pytest.approx(1.0, abs=0.02)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02


# ---- filters


def test_minimum_phase_matches_a_one_pole_filter():
    transform = 1536
    _, response = freqz([1.0], [1.0, -0.8], worN=transform // 2 + 1, include_nyquist=True)
    phase = minimum_phase(torch.from_numpy(np.log(np.abs(response))).float())
    np.testing.assert_allclose(phase.numpy(), np.angle(response), atol=1e-3)


def test_minimum_phase_is_zero_for_a_flat_gain():
    torch.testing.assert_close(minimum_phase(torch.full((2, 769), 1.3)), torch.zeros(2, 769), atol=1e-5, rtol=0)


@pytest.mark.parametrize("hertz", [90.0, 220.0, 600.0])
def test_synthesize_renders_pitch_and_level_of_a_flat_envelope(source_filter, hertz):
    frames = 101
    samples, _ = synthesize(source_filter, flat(np.log(0.1), frames), Pitch(curve(hertz, frames), curve(1.0, frames)))
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
    samples, _ = synthesize(source_filter, flat(np.log(0.1), frames), Pitch(curve(150.0, frames), curve(0.0, frames)))
    assert np.square(samples[5 * HOP : -5 * HOP]).mean() == pytest.approx(0.01, rel=0.05)
    assert not detect_pitch(samples, SAMPLE_RATE).voiced[5:-5].any()


def test_synthesize_reproduces_the_given_envelope(source_filter):
    frames = 101
    pitch = Pitch(curve(150.0, frames), curve(1.0, frames))
    wanted = np.tile(np.sin(np.arange(BANDS) / 8).astype(np.float32) - 3, (frames, 1))
    samples, _ = synthesize(source_filter, wanted, pitch)
    found = measure_envelope(samples, pitch)
    np.testing.assert_allclose(found[5:-5, 12:-4].mean(0), wanted[0, 12:-4], atol=0.15)


def test_synthesize_places_sound_at_its_frames(source_filter):
    envelope = flat(-14.0, 101)
    envelope[60:63] = 0.0
    samples, _ = synthesize(source_filter, envelope, Pitch(curve(150.0, 101), curve(0.0, 101)))
    energy = np.square(samples)
    centre = (energy * np.arange(len(samples))).sum() / energy.sum()
    assert centre == pytest.approx(61 * HOP, abs=HOP / 2)


def test_synthesize_is_silent_at_the_envelope_floor(source_filter):
    samples, _ = synthesize(source_filter, flat(-14.0, 51), Pitch(curve(150.0, 51), curve(1.0, 51)))
    assert np.abs(samples).max() < 1e-4


def test_synthesize_in_windows_matches_the_whole(source_filter):
    hertz = np.linspace(150, 200, 61).astype(np.float32)
    pitch, envelope = Pitch(hertz, curve(0.7, 61)), flat(-2.0, 61)
    whole, cycles = synthesize(source_filter, envelope, pitch, 1000 * HOP, 0.3, seed=5)
    part, _ = synthesize(source_filter, envelope[20:], pitch[20:], 1020 * HOP, cycles[20] % 1.0, seed=5)
    margin = 10 * HOP
    np.testing.assert_allclose(part[margin:], whole[20 * HOP + margin :], atol=2e-3)


@pytest.mark.parametrize("frames", [2, 3, 10])
def test_synthesize_returns_one_hop_for_each_frame_but_the_last(source_filter, frames):
    samples, cycles = synthesize(source_filter, flat(-3.0, frames), Pitch(curve(200.0, frames), curve(1.0, frames)))
    assert samples.shape == ((frames - 1) * HOP,)
    assert cycles.shape == (frames,)


def test_synthesizer_weights_do_not_include_the_tables():
    assert not {"bands_to_bins", "window"} & set(Synthesizer().state_dict())


# ---- the residual


def residual_of(synthesizer, samples, voicing, share=1.0, known=None):
    frames = len(samples) // HOP + 1
    envelope = measure_envelope(samples, Pitch(curve(150.0, frames), curve(voicing, frames)))
    cut, known = cut_frames(samples, frames), torch.ones(BANDS) if known is None else known
    curves = (torch.from_numpy(curve(value, frames)) for value in (voicing, share))
    return synthesizer.residual(cut, torch.from_numpy(envelope), *curves, known), envelope


def test_residual_of_filtered_noise_has_the_power_of_white_noise(source_filter):
    noise = np.random.default_rng(0).standard_normal(100 * HOP).astype(np.float32)
    found, _ = residual_of(source_filter, 0.1 * np.convolve(noise, [1.0, 0.7])[: len(noise)].astype(np.float32), 0.0)
    of_noise = torch.fft.rfft(cut_frames(noise, 101) * source_filter.window, 1536)
    level_db = 10 * torch.log10(found.spectra[5:-5].abs().square().mean() / of_noise[5:-5].abs().square().mean())
    assert float(level_db) == pytest.approx(0.0, abs=0.7)
    assert float(found.share.min()) > 0.95


def test_residual_keeps_the_timing_of_a_burst_between_two_frames(source_filter):
    burst = np.zeros(60 * HOP, np.float32)
    begins = 30 * HOP + HOP // 2
    burst[begins : begins + 60] = 0.3 * np.random.default_rng(1).standard_normal(60)
    found, envelope = residual_of(source_filter, burst, 0.0)
    pitch = Pitch(curve(150.0, 61), curve(0.0, 61))
    kept, smeared = (synthesize(source_filter, envelope, pitch, residual=one)[0] for one in (found, None))
    inside = slice(begins - 20, begins + 80)
    assert np.square(kept[inside]).sum() > 0.9 * np.square(kept).sum()
    assert np.square(smeared[inside]).sum() < 0.5 * np.square(smeared).sum()


def test_residual_leaves_out_voiced_unwanted_and_unknown_parts(source_filter):
    noise = (0.1 * np.random.default_rng(2).standard_normal(20 * HOP)).astype(np.float32)
    voiced, _ = residual_of(source_filter, noise, 1.0)
    unwanted, envelope = residual_of(source_filter, noise, 0.0, share=0.0)
    low, _ = residual_of(source_filter, noise, 0.0, known=(torch.arange(BANDS) < 50).float())
    assert float(voiced.share.max()) < 1e-3
    assert float(low.share[:, -100:].max()) == 0.0
    assert float(low.share[:, 20:40].min()) > 0.9
    pitch = Pitch(curve(150.0, 21), curve(0.0, 21))
    plain, same = (synthesize(source_filter, envelope, pitch, residual=one)[0] for one in (None, unwanted))
    np.testing.assert_allclose(same, plain, atol=1e-6)


def test_residual_of_silence_and_of_clicks_is_finite_and_limited(source_filter):
    clicks = np.zeros(20 * HOP, np.float32)
    clicks[::2000] = 1.0
    for samples in (np.zeros_like(clicks), clicks):
        found, _ = residual_of(source_filter, samples, 0.0)
        assert torch.isfinite(torch.view_as_real(found.spectra)).all()
        assert float(found.spectra.abs().max()) <= 6.01 * float(source_filter.window.square().sum().sqrt())


# ---- copies


@pytest.mark.parametrize(("samples", "rate"), [(1, 44_100), (1000, 44_100), (12_345, 16_000), (30_000, 96_000)])
def test_copy_synthesis_keeps_the_exact_duration_at_any_rate(source_filter, samples, rate):
    audio = Audio(np.random.default_rng(0).normal(0, 0.1, (2, samples)).astype(np.float32), rate)
    copied = copy_synthesis(audio, source_filter)
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
