"""Known answers: tones whose pitch, silence and length we made ourselves."""

import math
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from engine.errors import AudioError
from engine.evaluation.performance import Performance, compare_performances, moved, score_performance, trace, trace_file
from tests.engine.evaluation.conftest import RATE, audio, sung


def performance_scores(source: np.ndarray, output: np.ndarray, transpose: float = 0.0):
    return compare_performances(trace(audio(source)), trace(audio(output)), transpose)


def test_compare_performances_scores_a_recording_perfectly_against_itself():
    scores = performance_scores(sung(), sung())
    assert scores.pitch_accuracy == 1.0
    assert scores.pitch_corr == pytest.approx(1.0)
    assert scores.voicing_error == 0.0
    assert scores.length_error == 0.0


def test_compare_performances_expects_the_transposed_pitch():
    assert performance_scores(sung(), sung(5.0), transpose=5).pitch_accuracy > 0.97
    assert performance_scores(sung(), sung(5.0), transpose=0).pitch_accuracy < 0.03
    assert performance_scores(sung(), sung(5.0), transpose=0).pitch_corr > 0.97  # the melody's shape is the same


@pytest.mark.parametrize(("cents", "on_the_note"), [(40, True), (60, False)])
def test_pitch_accuracy_allows_half_a_semitone(cents, on_the_note):
    accuracy = performance_scores(sung(), sung(cents / 100)).pitch_accuracy
    assert accuracy > 0.8 if on_the_note else accuracy < 0.2


def test_leak_db_is_the_silence_level_relative_to_the_voice():
    noise_level = 0.001
    output = sung(silence_level=noise_level)
    loud = sung()[: RATE // 2]
    level_at_16_khz = 10 * math.log10(16_000 / RATE)  # of white noise, half their rate remains
    expected = 20 * math.log10(noise_level / loud.std()) + level_at_16_khz
    assert performance_scores(sung(), output).leak_db == pytest.approx(expected, abs=1.0)


def test_leak_db_is_below_minus_90_for_a_clean_silence():
    leak = performance_scores(sung(), sung()).leak_db
    assert leak is not None
    assert leak < -90


def test_compare_performances_returns_no_pitch_or_leak_scores_for_noise():
    noise = np.random.default_rng(1).standard_normal(RATE).astype(np.float32) * 0.1
    scores = performance_scores(noise, noise)
    assert scores.pitch_accuracy is None
    assert scores.pitch_corr is None
    assert scores.leak_db is None


def test_compare_performances_returns_zero_pitch_accuracy_for_silent_output():
    scores = performance_scores(sung(), np.zeros(3 * RATE, np.float32))
    assert scores.pitch_accuracy == 0.0
    assert scores.pitch_corr is None
    assert scores.voicing_error == pytest.approx(2 / 3, abs=0.05)


def test_compare_performances_scores_a_quiet_recording_as_a_loud_one():
    loud, quiet = performance_scores(sung(), sung()), performance_scores(0.01 * sung(), 0.01 * sung())
    assert quiet.pitch_seconds > 0.98 * loud.pitch_seconds > 1.5
    assert performance_scores(sung(), 0.01 * sung()).voicing_error < 0.02


def test_pitch_accuracy_is_not_given_of_a_few_frames():
    short = sung()[: RATE // 8]
    scores = performance_scores(short, short)
    assert scores.pitch_accuracy is None
    assert scores.pitch_seconds < 0.176  # eleven frames


def test_pitch_accuracy_expects_notes_beyond_the_range_in_another_octave():
    high = performance_scores(sung(24.0), sung(36.0), transpose=24).pitch_accuracy
    assert high > 0.9


def test_length_error_is_negative_seconds_for_a_shorter_output():
    assert performance_scores(sung(), sung()[:-4410]).length_error == pytest.approx(-0.1)


def test_trace_file_matches_trace_for_a_long_stereo_file(tmp_path):
    mono = sung(seconds=12.0)  # longer than one block
    path = tmp_path / "stereo.wav"
    soundfile.write(path, np.stack([mono, mono], 1), RATE, "FLOAT")
    from_file, from_memory = trace_file(path), trace(audio(mono))
    assert from_file.duration_s == from_memory.duration_s == 12.0
    np.testing.assert_allclose(from_file.hertz, from_memory.hertz, rtol=1e-4)
    np.testing.assert_allclose(from_file.level_db, from_memory.level_db, atol=1e-3)
    assert score_performance(path, path).pitch_accuracy == 1.0


@pytest.mark.parametrize("count", [1, 100, 4410])
def test_compare_performances_scores_very_short_recordings(count):
    scores = performance_scores(sung()[:count], sung()[:count])
    assert scores.length_error == 0.0
    assert scores.leak_db is None


def test_trace_refuses_an_empty_recording():
    with pytest.raises(AudioError, match="without any samples"):
        trace(audio(np.zeros(0, np.float32)))


def test_moved_transposes_a_performance_by_a_pitch_curve():
    performance = Performance(1.0, np.full(62, 200.0), np.full(62, 0.9), np.zeros(100))
    semitones = np.zeros(101)
    semitones[50:] = 12.0
    wanted = moved(performance, semitones).hertz
    np.testing.assert_allclose(wanted[:30], 200.0)
    np.testing.assert_allclose(wanted[33:], 400.0)
    assert compare_performances(moved(performance, semitones), replace(performance, hertz=wanted)).pitch_accuracy == 1.0
