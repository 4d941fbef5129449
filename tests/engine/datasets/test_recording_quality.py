from dataclasses import replace

import numpy as np
import pytest
import soxr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import signal

from engine.audio.files import Audio
from engine.datasets.recording_quality import RecordingQuality, audible_frames, measure_quality
from engine.errors import AudioError
from engine.features.clips import analyse_clip
from engine.units import SAMPLE_RATE


def quality(samples: np.ndarray, rate: int = SAMPLE_RATE) -> RecordingQuality:
    audio = Audio(np.atleast_2d(samples).astype(np.float32), rate)
    return measure_quality(audio, analyse_clip(audio, augmentations=0))


def in_a_room(samples: np.ndarray, decay_s: float) -> np.ndarray:
    """The samples in a room whose echoes fall by 60 dB in `decay_s`, the direct sound as loud as all of them."""
    time_s = np.arange(round(1.2 * decay_s * SAMPLE_RATE)) / SAMPLE_RATE
    echoes = np.random.default_rng(1).standard_normal(len(time_s)) * 10 ** (-3 * time_s / decay_s)
    echoes /= np.linalg.norm(echoes)
    echoes[0] = 1.0
    return 0.5 * signal.fftconvolve(samples, echoes)


def hiss(count: int, ends_hertz: float, rate: int = SAMPLE_RATE) -> np.ndarray:
    """Noise that falls by 6 dB per octave and ends at a frequency."""
    hertz = np.fft.rfftfreq(count, 1 / rate)
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal(count)) / np.maximum(hertz / 100, 1.0)
    spectrum[hertz > ends_hertz] = 0.0
    noise = np.fft.irfft(spectrum, count)
    return 0.3 * noise / np.abs(noise).max()


@pytest.fixture(scope="module")
def sung(sing) -> np.ndarray:
    return sing(8.0, hertz=200.0)


@pytest.fixture(scope="module")
def clean(sung) -> RecordingQuality:
    return quality(sung)


def test_measure_quality_finds_no_defects_in_a_clean_recording(clean, sung):
    assert clean.duration_s == pytest.approx(8.0)
    assert 5.0 < clean.voiced_s <= clean.usable_s < 8.0
    assert clean.peak_db == pytest.approx(20 * np.log10(np.abs(sung).max()), abs=0.01)
    assert clean.level_db == pytest.approx(10 * np.log10(np.mean(sung**2)), abs=1.5)
    assert (clean.clipped_runs, clean.clipped_share) == (0, 0.0)
    assert clean.snr_db > 30
    assert clean.reverberation_s is None or clean.reverberation_s < 0.3
    assert 0.1 < clean.silence_share < 0.3


def test_measure_quality_changes_only_levels_with_gain(clean, sung):
    quiet = quality(sung * 0.1)
    assert quiet.level_db == pytest.approx(clean.level_db - 20, abs=0.1)
    assert quiet.peak_db == pytest.approx(clean.peak_db - 20, abs=0.01)
    assert quiet.snr_db == pytest.approx(clean.snr_db, abs=0.5)
    assert quiet.usable_s == pytest.approx(clean.usable_s, abs=0.1)


@pytest.mark.parametrize("ceiling", [1.0, 0.4])
@pytest.mark.parametrize("bits", [15, 23])
def test_measure_quality_finds_clipping_at_and_below_full_scale(sung, ceiling, bits):
    loud = sung * (ceiling / np.quantile(np.abs(sung), 0.98))
    clipped = np.round(np.clip(loud, -ceiling, ceiling) * 2**bits) / 2**bits
    found = quality(clipped)
    assert found.clipped_runs > 100
    assert found.clipped_share > 0.1
    assert found.usable_s < 0.9 * quality(loud * 0.2).usable_s


def test_measure_quality_does_not_count_one_loud_sample_as_clipping(sung):
    hot = sung.copy()
    hot[100_000] = 1.0
    assert quality(hot).clipped_runs == 0


def test_measure_quality_does_not_count_a_constant_signal_as_clipping(sung):
    assert quality(np.concatenate([sung, np.zeros(4 * SAMPLE_RATE)])).clipped_runs == 0


def test_measure_quality_finds_clipping_in_one_of_two_channels(sung):
    one = np.clip(sung * 5, -0.5, 0.5)
    assert quality(np.stack([sung * 0.5, one])).clipped_runs == quality(one).clipped_runs > 100


def test_measure_quality_finds_clipping_in_a_part_below_the_peak(sung):
    half = 4 * SAMPLE_RATE
    both = np.concatenate([np.clip(sung[:half] * 5, -0.3, 0.3), sung[half:] * 2])
    assert quality(both).clipped_runs > 100
    assert quality(both).clipped_share < quality(np.clip(sung * 5, -0.3, 0.3)).clipped_share


def test_measure_quality_adds_up_clipping_across_blocks(sung):
    # blocks of four seconds, and a flat top or two in each of them
    flat = np.concatenate([sung, sung, sung])
    for place in range(40_000, len(flat), 100_000):
        flat[place : place + 5] = 0.9
    assert 8 <= quality(flat).clipped_runs <= 12


@pytest.mark.parametrize("snr_db", [10.0, 20.0, 30.0])
def test_measure_quality_measures_the_snr_of_added_noise(sung, snr_db):
    voiced_db = quality(sung).level_db
    noise = np.random.default_rng(3).standard_normal(len(sung)) * 10 ** ((voiced_db - snr_db) / 20)
    assert quality(sung + noise).snr_db == pytest.approx(snr_db, abs=2.0)


def test_measure_quality_returns_no_snr_or_reverberation_without_pauses():
    time_s = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE
    held = np.sum([np.sin(2 * np.pi * 220 * n * time_s) / n for n in range(1, 12)], axis=0) * 0.1
    found = quality(held)
    assert found.snr_db is None
    assert found.reverberation_s is None


def test_measure_quality_reports_longer_reverberation_in_a_larger_room(sung, clean):
    small, hall = (quality(in_a_room(sung, decay_s)).reverberation_s for decay_s in (0.5, 1.0))
    assert small == pytest.approx(0.5, abs=0.12)
    assert hall > 0.6
    assert (clean.reverberation_s or 0.0) < small < hall


@pytest.mark.parametrize("ends_hertz", [4000.0, 8000.0, 11_000.0, 16_000.0])
def test_measure_quality_finds_the_bandwidth_at_the_end_of_the_spectrum(ends_hertz):
    assert quality(hiss(4 * SAMPLE_RATE, ends_hertz)).bandwidth_hertz == pytest.approx(ends_hertz, abs=300)


@pytest.mark.parametrize("rate", [8000, 16_000, 22_050])
def test_measure_quality_finds_no_extra_bandwidth_after_upsampling(rate):
    low = hiss(3 * rate, rate, rate)
    found = quality(soxr.resample(low, rate, 48_000), 48_000)
    assert 0.43 * rate < found.bandwidth_hertz <= 0.52 * rate


@pytest.mark.parametrize("rate", [16_000, 44_100, 48_000])
def test_measure_quality_reports_full_bandwidth_for_a_sloping_spectrum(rate):
    assert quality(hiss(3 * rate, rate, rate), rate).bandwidth_hertz == rate / 2


def test_measure_quality_reports_only_silence_for_a_silent_recording():
    found = quality(np.zeros((2, SAMPLE_RATE)))
    assert found.silence_share == 1.0
    assert found.usable_s == found.voiced_s == found.clipped_share == 0.0
    assert found.snr_db is None
    assert found.peak_db <= -120


def test_measure_quality_finds_no_voice_in_noise():
    found = quality(0.1 * np.random.default_rng(0).standard_normal(3 * SAMPLE_RATE))
    assert found.voiced_s == found.usable_s == 0.0
    assert found.silence_share < 0.1


def test_measure_quality_counts_long_pauses_as_silence(sung):
    padded = np.concatenate([sung[: 4 * SAMPLE_RATE], np.zeros(12 * SAMPLE_RATE)])
    assert quality(padded).silence_share == pytest.approx(0.8, abs=0.07)


def test_audible_frames_do_not_depend_on_the_level(sung):
    loud, quiet = (analyse_clip(Audio((sung * gain)[None], SAMPLE_RATE), augmentations=0) for gain in (1.0, 0.03))
    assert np.mean(audible_frames(loud) != audible_frames(quiet)) < 0.01


@settings(max_examples=12)
@given(
    count=st.integers(2, 30_000),
    rate=st.sampled_from([8000, 11_025, 44_100, 96_000]),
    channels=st.integers(1, 2),
    gain=st.sampled_from([0.0, 1e-6, 0.1, 4.0]),
)
def test_measure_quality_is_finite_at_any_length_rate_and_level(count, rate, channels, gain):
    samples = gain * np.random.default_rng(count).standard_normal((channels, count))
    found = quality(samples, rate)
    values = [value for value in vars(found).values() if value is not None]
    assert np.isfinite(values).all()
    assert found.duration_s == pytest.approx(count / rate)
    assert 0 <= found.silence_share <= 1
    assert 0 < found.bandwidth_hertz <= rate / 2
    assert 0 <= found.usable_s <= found.duration_s + 0.01


def test_measure_quality_refuses_nan_samples(sung):
    clip = analyse_clip(Audio(sung[None], SAMPLE_RATE), augmentations=0)
    broken = sung.copy()
    broken[5] = np.nan
    with pytest.raises(AudioError, match="invalid samples"):
        measure_quality(Audio(broken[None], SAMPLE_RATE), clip)


def test_measure_quality_reads_the_recording_in_blocks(sung):
    class Counting(Audio):
        def blocks(self, samples_per_block=None):
            assert samples_per_block is None or samples_per_block <= 4 * SAMPLE_RATE
            return super().blocks(samples_per_block)

    audio = Audio(sung[None], SAMPLE_RATE)
    clip = analyse_clip(audio, augmentations=0)
    found = measure_quality(Counting(audio.samples, audio.rate), clip)
    assert replace(found) == measure_quality(audio, clip)
