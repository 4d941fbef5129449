import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis import envelope as module
from engine.analysis.envelope import (
    BANDS,
    FLOOR,
    LOW_BANDS,
    band_centres,
    band_widths,
    bands_below,
    frame_loudness,
    loudness_of,
    measure_envelope,
    measure_level,
)
from engine.analysis.pitch import Pitch
from engine.networks.excitation import pulse_train
from engine.units import HOP, SAMPLE_RATE, frame_count
from tests.engine.pretended_gpu import pretended_gpu

INNER = slice(4, -4)  # frames whose window lies wholly inside


def constant_pitch(hertz: float, frames: int, voicing: float = 1.0) -> Pitch:
    return Pitch(np.full(frames, hertz, np.float32), np.full(frames, voicing, np.float32))


def pulses(hertz: float, frames: int = 101) -> tuple[np.ndarray, Pitch]:
    pitch = constant_pitch(hertz, frames)
    return pulse_train(torch.from_numpy(pitch.hertz)[None])[0][0].numpy(), pitch


def noise(seconds: float = 1.0) -> tuple[np.ndarray, Pitch]:
    samples = np.random.default_rng(1).standard_normal(round(seconds * SAMPLE_RATE)).astype(np.float32)
    return samples, constant_pitch(150.0, frame_count(len(samples)), voicing=0.0)


def test_bands_end_at_8_khz_for_low_bands_and_near_20_khz_for_the_last():
    centres, widths = band_centres(), band_widths()
    assert centres.shape == widths.shape == (BANDS,)
    assert (np.diff(centres) > 0).all()
    assert centres[LOW_BANDS - 1] + widths[LOW_BANDS - 1] / 2 == pytest.approx(8000.0, rel=0.005)
    assert 19_000 < centres[-1] < SAMPLE_RATE / 2


def test_bands_below_counts_only_bands_wholly_below_the_bandwidth():
    assert bands_below(22_050.0) == BANDS
    assert bands_below(0.0) == 0
    counts = [bands_below(hertz) for hertz in range(0, 22_050, 500)]
    assert counts == sorted(counts)
    assert LOW_BANDS - 2 <= bands_below(8000.0) <= LOW_BANDS


@pytest.mark.parametrize("hertz", [80.0, 110.0, 200.0, 330.0, 500.0])
def test_measure_envelope_is_flat_at_zero_for_unit_pulses_at_every_pitch(hertz):
    samples, pitch = pulses(hertz)
    envelope = measure_envelope(samples, pitch)[INNER]
    np.testing.assert_allclose(envelope[:, :-6].mean(0), 0.0, atol=0.08)


def test_measure_envelope_shows_no_harmonics_of_a_glide():
    hertz = np.geomspace(120.0, 240.0, 101).astype(np.float32)
    samples = pulse_train(torch.from_numpy(hertz)[None])[0][0].numpy()
    envelope = measure_envelope(samples, Pitch(hertz, np.ones(101, np.float32)))[INNER, :60]
    assert np.abs(envelope.mean(0)).max() < 0.1
    assert envelope.std() < 0.15


def test_measure_envelope_of_unit_variance_noise_has_unit_density():
    samples, pitch = noise()
    power = np.exp(2 * measure_envelope(samples, pitch)[INNER]).mean(0)
    np.testing.assert_allclose(power[10:], 1.0, atol=0.25)
    assert power.mean() == pytest.approx(1.0, abs=0.03)


@given(st.floats(0.001, 10.0))
@settings(max_examples=10)
def test_measure_envelope_shifts_by_the_logarithm_of_a_gain(gain):
    samples, pitch = noise(0.2)
    moved = measure_envelope((gain * samples).astype(np.float32), pitch) - measure_envelope(samples, pitch)
    np.testing.assert_allclose(moved, np.log(gain), atol=0.01)


def test_measure_envelope_shows_a_resonance_at_its_frequency_at_every_pitch():
    from scipy.signal import lfilter

    radius, angle = 0.97, 2 * np.pi * 1500.0 / SAMPLE_RATE
    peaks = []
    for hertz in (100.0, 190.0, 310.0):
        samples, pitch = pulses(hertz)
        coloured = lfilter([1.0], [1.0, -2 * radius * np.cos(angle), radius**2], samples).astype(np.float32)
        peaks.append(band_centres()[measure_envelope(coloured, pitch)[INNER].mean(0).argmax()])
    np.testing.assert_allclose(peaks, 1500.0, rtol=0.08)


@pytest.mark.parametrize("samples", [0, 1, 441, 10_000])
def test_measure_envelope_is_the_floor_for_silence_of_any_length(samples):
    frames = frame_count(samples)
    envelope = measure_envelope(np.zeros(samples, np.float32), constant_pitch(150.0, frames, 0.0))
    assert envelope.shape == (frames, BANDS)
    assert envelope.dtype == np.float32
    np.testing.assert_allclose(envelope, FLOOR, atol=1e-3)


def test_measure_envelope_centres_each_frame_on_its_hop():
    samples = np.zeros(SAMPLE_RATE // 2, np.float32)
    samples[20 * HOP] = 1.0
    loudness = frame_loudness(measure_envelope(samples, constant_pitch(150.0, frame_count(len(samples)), 0.0)))
    assert loudness.argmax() == 20
    assert loudness[19] == pytest.approx(loudness[21], abs=0.02)


@pytest.mark.parametrize("voicing", [0.0, 1.0])
def test_measure_envelope_shows_a_sharp_noise_onset_only_in_unvoiced_frames(voicing):
    """Its window is 10 ms there, and 30 ms where there is a voice, three of whose periods are to lie within."""
    samples = 0.001 * np.random.default_rng(2).standard_normal(SAMPLE_RATE // 2).astype(np.float32)
    samples[20 * HOP :] *= 1000.0
    loudness = frame_loudness(measure_envelope(samples, constant_pitch(150.0, frame_count(len(samples)), voicing)))
    quiet, loud = np.median(loudness[2:17]), np.median(loudness[23:-2])
    assert loud - quiet == pytest.approx(np.log(1000), abs=0.1)
    assert loudness[20] == pytest.approx(loud - np.log(2) / 2, abs=0.5)  # half of its window
    before = loudness[19] - quiet  # 10 ms before the onset
    assert before < 0.5 if voicing == 0.0 else before > 3.0
    assert loudness[18] - quiet < 0.5


def test_measure_envelope_blends_its_windows_by_voicing():
    samples, _ = pulses(150.0)
    frames = frame_count(len(samples))
    envelopes = [measure_envelope(samples, constant_pitch(150.0, frames, v)) for v in (0.0, 0.3, 0.5, 0.7, 1.0)]
    away = [float(np.abs(envelope - envelopes[-1])[INNER].mean()) for envelope in envelopes]
    assert away == sorted(away, reverse=True)
    assert away[0] > 0.1


def test_measure_envelope_in_blocks_matches_the_whole(monkeypatch):
    samples, pitch = noise(0.5)
    whole = measure_envelope(samples, pitch)
    monkeypatch.setattr(module, "_BLOCK_FRAMES", 7)
    np.testing.assert_allclose(measure_envelope(samples, pitch), whole, atol=1e-4)


def test_measure_envelope_refuses_a_pitch_of_another_length():
    with pytest.raises(ValueError, match="pitch has 3 frames, the audio 2"):
        measure_envelope(np.zeros(441, np.float32), constant_pitch(100.0, 3))


def test_frame_loudness_of_a_flat_envelope_is_its_share_below_8_khz():
    share = band_widths()[:LOW_BANDS].sum() / (SAMPLE_RATE / 2)
    flat = np.full((5, BANDS), -1.0, np.float32)
    np.testing.assert_allclose(frame_loudness(flat), -1.0 + 0.5 * np.log(share), atol=1e-4)
    assert loudness_of(torch.from_numpy(flat)[None]).shape == (1, 5)


def test_measure_level_ignores_silence_and_a_single_burst():
    envelope = np.full((100, BANDS), FLOOR, np.float32)
    envelope[:60] = np.linspace(-1.0, -3.0, BANDS)
    assert measure_level(envelope).nepers == pytest.approx(float(frame_loudness(envelope)[0]), abs=1e-4)
    envelope[3] = 2.0  # one frame that bursts
    assert measure_level(envelope).nepers == pytest.approx(float(frame_loudness(envelope)[0]), abs=1e-4)


def test_measure_level_shifts_with_a_gain():
    envelope = np.random.default_rng(0).normal(-2, 1, (50, BANDS)).astype(np.float32)
    assert measure_level(envelope).nepers - measure_level(envelope - 2).nepers == pytest.approx(2.0, abs=1e-3)


def sounding(seconds: float = 0.7) -> tuple[np.ndarray, Pitch]:
    """Noise and pulses that are more or less voiced, at a moving pitch."""
    samples, pitch = noise(seconds)
    hertz = np.geomspace(80.0, 900.0, len(pitch)).astype(np.float32)
    return samples, Pitch(hertz, np.linspace(0.0, 1.0, len(pitch), dtype=np.float32))


@pytest.mark.parametrize("measured", [measure_envelope, lambda *given: frame_loudness(measure_envelope(*given))])
def test_measure_envelope_gives_the_same_bytes_for_any_number_of_threads(measured, by_threads):
    assert len(by_threads(lambda: measured(*sounding()).tobytes())) == 1


def test_measure_envelope_measures_on_the_device_it_is_given():
    here = measure_envelope(*sounding())
    with pretended_gpu() as device:
        there = measure_envelope(*sounding(), device)
    module._scale.cache_clear()
    np.testing.assert_allclose(there, here, atol=1e-4)  # in one block instead of several


def test_measure_envelope_needs_no_floats_of_64_bits(monkeypatch):
    """As on Apple's GPUs: the soft bands of a frame 80 dB below its loud ones are as exact in whole numbers."""
    from scipy.signal import butter, sosfilt

    samples, pitch = sounding()
    low = sosfilt(butter(8, 3000.0, fs=SAMPLE_RATE, output="sos"), samples).astype(np.float32)
    loud = low + 1e-4 * samples
    wanted = measure_envelope(loud, pitch)[INNER]
    assert wanted[:, 90:].max() < wanted[:, 20:40].min() - 4.0
    monkeypatch.setattr(module, "_exact", lambda device: torch.int64)
    np.testing.assert_allclose(measure_envelope(loud, pitch)[INNER], wanted, atol=1e-3)
    monkeypatch.setattr(module, "_exact", lambda device: torch.float32)
    assert np.abs(measure_envelope(loud, pitch)[INNER] - wanted).max() > 1e-2
