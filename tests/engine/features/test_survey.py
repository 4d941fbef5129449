from pathlib import Path

import numpy as np
import pytest
import torch

from engine.analysis.envelope import BANDS, LOW_BANDS, band_centres, measure_envelope, measure_level
from engine.analysis.pitch import detect_pitch
from engine.analysis.windows import cut_windows
from engine.audio.files import read_audio
from engine.audio.resampling import resample
from engine.errors import AudioError, Cancelled
from engine.features.feature_mean import measure_feature_mean
from engine.features.survey import bands_with_signal, survey_recording
from engine.networks.base import load_base
from engine.networks.listener import FEATURES, listen
from engine.networks.timbre_encoder import TIMBRE
from engine.units import FRAME_RATE, SAMPLE_RATE

SAMPLES = Path(__file__).parents[3] / "engine" / "samples"


@pytest.fixture(scope="module")
def sung(sing) -> np.ndarray:
    return sing(6.0, hertz=200.0)[None]


def test_survey_recording_measures_the_pitch_range_of_singing(sung):
    survey = survey_recording([sung], load_base())
    assert survey.voiced
    assert survey.timbre.shape == (TIMBRE,)
    assert torch.isfinite(survey.timbre).all()
    assert survey.feature_mean.shape == (FEATURES,)
    # four notes, two semitones apart, on 200 Hz (note 55.4)
    assert survey.pitch.low == pytest.approx(55.4, abs=0.6)
    assert survey.pitch.high == pytest.approx(61.4, abs=0.6)
    assert survey.style in {"melodic", "rhythmic", "spoken"}


def test_survey_recording_gives_the_same_result_for_any_block_size(sung):
    whole = survey_recording([sung], load_base())
    pieces = survey_recording([sung[:, i : i + 10_007] for i in range(0, sung.shape[1], 10_007)], load_base())
    assert (whole.pitch, whole.style, whole.bands) == (pieces.pitch, pieces.style, pieces.bands)
    torch.testing.assert_close(whole.timbre, pieces.timbre)
    torch.testing.assert_close(whole.feature_mean, pieces.feature_mean)


def test_survey_recording_with_a_gain_changes_only_the_level(sung):
    loud, quiet = survey_recording([sung], load_base()), survey_recording([sung * 0.1], load_base())
    assert loud.level.nepers - quiet.level.nepers == pytest.approx(np.log(10), abs=0.01)
    within = load_base().content.within.sqrt()
    assert (
        (loud.feature_mean - quiet.feature_mean).abs() / within
    ).mean() < 0.3  # which the listener hears a little of
    torch.testing.assert_close(loud.timbre, quiet.timbre, atol=0.02, rtol=0.02)


def test_survey_recording_collects_sustained_notes_only_from_singing(sing):
    sung = survey_recording([sing(6.0, hertz=200.0)[None]], load_base())
    assert sung.style == "melodic"
    assert 100 < float(sung.sustained.frames.sum()) <= 600
    speech = read_audio(SAMPLES / "speech.flac")
    spoken = survey_recording([resample(speech.mono(), speech.rate, SAMPLE_RATE)[None]], load_base())
    assert spoken.style == "spoken"
    assert len(spoken.sustained.rows) == 0


def test_survey_recording_feature_mean_equals_measure_feature_mean(sung):
    base, sung = load_base(), np.pad(sung, ((0, 0), (SAMPLE_RATE // 10,) * 2))
    samples = sung[0]
    pitch = detect_pitch(samples, SAMPLE_RATE)
    envelope = measure_envelope(samples, pitch)
    features, level = listen(base.listener, samples), measure_level(envelope)
    expected = measure_feature_mean(base.content, features, envelope, pitch.voicing, level.nepers)
    survey = survey_recording([sung], base)
    torch.testing.assert_close(survey.feature_mean, expected, atol=0.05, rtol=0.05)


@pytest.mark.parametrize("samples", [1, 440, SAMPLE_RATE])
def test_survey_recording_of_silence_is_finite_and_unvoiced(samples):
    survey = survey_recording([np.zeros((2, samples), np.float32)], load_base())
    assert not survey.voiced
    assert torch.isfinite(survey.timbre).all()
    assert torch.isfinite(survey.feature_mean).all()
    assert np.isfinite(survey.level.nepers)


@pytest.mark.parametrize("blocks", [[], [np.zeros((2, 0), np.float32)]])
def test_survey_recording_refuses_a_recording_without_samples(blocks):
    with pytest.raises(AudioError, match=r"no sound to convert \(0 samples\)"):
        survey_recording(blocks, load_base())


@pytest.mark.parametrize("hertz", [8000.0, 12_000.0])
def test_bands_with_signal_ends_near_the_bandwidth(hertz):
    """The window of unvoiced frames, 10 ms short, leaks past the steepest edge of the loudest noise by 1.4 kHz."""
    spectrum = np.fft.rfft(np.random.default_rng(0).standard_normal(2 * SAMPLE_RATE))
    spectrum[np.fft.rfftfreq(2 * SAMPLE_RATE, 1 / SAMPLE_RATE) > hertz] = 0.0
    samples = 0.1 * np.fft.irfft(spectrum).astype(np.float32)
    envelope = measure_envelope(samples, detect_pitch(samples, SAMPLE_RATE))
    bands = bands_with_signal(envelope, measure_level(envelope))
    assert hertz * 0.94 < band_centres()[bands - 1] < hertz + 1400.0


@pytest.mark.parametrize("gain_db", [0.0, -30.0, -45.0])
def test_bands_with_signal_of_16_khz_speech_ends_near_the_low_bands_however_quiet(gain_db):
    speech = read_audio(SAMPLES / "speech.flac")
    assert speech.rate == 16_000
    samples = resample(speech.mono(), speech.rate, SAMPLE_RATE) * np.float32(10 ** (gain_db / 20))
    envelope = measure_envelope(samples, detect_pitch(samples, SAMPLE_RATE))
    assert LOW_BANDS - 1 <= bands_with_signal(envelope, measure_level(envelope)) <= LOW_BANDS + 3


def test_bands_with_signal_counts_all_bands_of_full_band_and_low_bands_of_silence():
    level = measure_level(np.zeros((10, BANDS), np.float32))
    assert bands_with_signal(np.zeros((10, BANDS), np.float32), level) == BANDS
    assert bands_with_signal(np.full((10, BANDS), -14.0, np.float32), level) == LOW_BANDS


def test_survey_recording_reports_seconds_and_can_be_cancelled(sung):
    heard = []
    survey_recording([np.concatenate([sung] * 4, 1)], load_base(), heard.append)
    assert heard == sorted(heard)
    assert heard[-1] == pytest.approx(24, abs=0.1)

    def stop(seconds: float) -> None:
        raise Cancelled

    with pytest.raises(Cancelled):
        survey_recording([sung], load_base(), stop)


@pytest.mark.system
def test_survey_recording_analyses_only_some_windows_of_long_recordings(monkeypatch):
    heard = []

    def listen(samples, rate, device):
        heard.append(len(samples))
        return detect_pitch(np.zeros_like(samples), rate, device=device)

    monkeypatch.setattr("engine.features.analysed_windows.detect_pitch", listen)
    monkeypatch.setattr("engine.features.survey.KEPT_FRAMES", 60 * FRAME_RATE)
    minutes = [np.zeros((1, 60 * SAMPLE_RATE), np.float32)] * 4
    survey_recording(minutes, load_base())
    windows = list(cut_windows(minutes))
    # the first minute whole, then one window in eight
    wanted = [window for number, window in enumerate(windows) if window.core_stop <= 6000 or number % 8 == 0]
    assert heard == [window.samples.shape[1] for window in wanted]
    assert 5 < len(wanted) < len(windows)
