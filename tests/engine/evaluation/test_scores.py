"""Known answers: tones whose pitch, silence and length we made ourselves; and agreement with the project's scorer."""

import importlib.util
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import soundfile

from engine.audio.files import Audio
from engine.errors import AudioError, EngineError
from engine.evaluation.scores import (
    Evaluator,
    Performance,
    Scores,
    compare,
    compare_performances,
    equal_error_rate,
    known_means,
    mean_scores,
    moved,
    score_conversion,
    score_performance,
    speaker_similarity,
    trace,
    trace_file,
)

RATE = 44_100
SHARED_EVALUATION = Path(__file__).parents[4] / "shared" / "eval"
needs_networks = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in ("resemblyzer", "speechmos", "pocketsphinx", "jiwer")),
    reason="needs the evaluation extra",
)


def sung(semitones: float = 0.0, seconds: float = 3.0, silence_level: float = 0.0) -> np.ndarray:
    """A vowel-like tone with vibrato around 220 Hz, with a silence of a third in its middle, float32 (samples,)."""
    time = np.arange(round(seconds * RATE)) / RATE
    hertz = 220.0 * 2 ** ((semitones + 0.8 * np.sin(2 * np.pi * 5 * time)) / 12)
    phase = 2 * np.pi * np.cumsum(hertz) / RATE
    tone = 0.2 * sum(np.sin(k * phase) / k for k in range(1, 12))
    tone[(time > seconds / 3) & (time < seconds * 2 / 3)] = 0.0
    noise = np.random.default_rng(0).standard_normal(len(time))
    return (tone + silence_level * noise).astype(np.float32)


def audio(samples: np.ndarray, rate: int = RATE) -> Audio:
    return Audio(samples[None], rate)


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


def test_speaker_similarity_is_the_cosine_of_two_embeddings():
    east, north = np.array([2.0, 0.0]), np.array([0.0, 3.0])
    assert speaker_similarity(east, east) == pytest.approx(1.0)
    assert speaker_similarity(east, north) == pytest.approx(0.0)
    assert speaker_similarity(None, north) is None


def made_scores(**known: float | None) -> Scores:
    names = Scores.__dataclass_fields__
    return Scores(**{name: known.get(name, 0.0) for name in names})


def test_mean_scores_leave_out_missing_values():
    rows = [made_scores(leak_db=None, speaker_similarity=0.5), made_scores(leak_db=-60.0, speaker_similarity=0.7)]
    means = mean_scores(rows)
    assert means["leak_db"] == -60.0
    assert means["speaker_similarity"] == pytest.approx(0.6)
    assert mean_scores([made_scores(leak_db=None)])["leak_db"] is None
    assert mean_scores([])["p808"] is None


@pytest.mark.parametrize("package", ["resemblyzer", "speechmos.dnsmos", "pocketsphinx", "jiwer"])
def test_evaluator_names_the_install_command_for_a_missing_package(package, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)  # makes its import fail
    with pytest.raises(EngineError, match=r"(?s)pip install .*evaluation.*--no-deps resemblyzer") as caught:
        Evaluator()
    assert package.split(".")[0] in str(caught.value)


@pytest.fixture(scope="module")
def evaluator() -> Evaluator:
    return Evaluator()


@pytest.mark.system
@needs_networks
def test_compare_scores_a_quieter_copy_like_its_source(evaluator):
    source = evaluator.measure(audio(sung()), words=False)
    target = evaluator.target_embedding([audio(sung())])
    scores = compare(source, evaluator.measure(audio(sung() * 0.5), words=False), target)
    assert scores.word_error is None
    assert scores.speaker_similarity > 0.95
    assert scores.source_similarity > 0.95
    assert 1.0 < scores.p808 < 5.0
    assert scores.source_p808 == pytest.approx(scores.p808, abs=0.05)


@pytest.mark.system
@needs_networks
def test_evaluator_finds_no_speaker_in_silence(evaluator):
    silence = audio(np.zeros(RATE, np.float32))
    heard = evaluator.measure(silence)
    assert heard.embedding is None
    scores = compare(heard, heard, np.ones(256, np.float32))
    assert scores.speaker_similarity is None
    assert scores.word_error is None
    assert math.isfinite(scores.p808)
    with pytest.raises(AudioError, match="not silent"):
        evaluator.target_embedding([silence])


def project_scorer() -> ModuleType:
    specification = importlib.util.spec_from_file_location("project_scorer", SHARED_EVALUATION / "score.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@needs_networks
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.skipif(not (SHARED_EVALUATION / "sources").is_dir(), reason="the project's recordings are not here")
@pytest.mark.parametrize(
    ("source", "output", "transpose"),
    [("p226_003", "p225_003", 7), ("speech-male", "speech-male", 0), ("singing-female", "vocadito_1", -2)],
)
def test_score_conversion_matches_the_project_scorer(source, output, transpose):
    recordings = SHARED_EVALUATION / "sources"
    targets = [recordings / "1998-15444-0001.flac", recordings / "367-130732-0001.flac"]
    arguments = recordings / f"{source}.flac", recordings / f"{output}.flac", targets, transpose
    ours = vars(score_conversion(*arguments))
    theirs = project_scorer().score(*arguments)
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert ours[name] == (value if value is None else pytest.approx(value, abs=1e-3)), name


def test_moved_transposes_a_performance_by_a_pitch_curve():
    performance = Performance(1.0, np.full(62, 200.0), np.full(62, 0.9), np.zeros(100))
    semitones = np.zeros(101)
    semitones[50:] = 12.0
    wanted = moved(performance, semitones).hertz
    np.testing.assert_allclose(wanted[:30], 200.0)
    np.testing.assert_allclose(wanted[33:], 400.0)
    assert compare_performances(moved(performance, semitones), replace(performance, hertz=wanted)).pitch_accuracy == 1.0


@pytest.mark.parametrize(
    ("genuine", "others", "expected"),
    [
        ([0.9, 0.8, 0.85], [0.5, 0.6], 0.0),
        ([0.5, 0.6], [0.9, 0.8], 1.0),
        ([0.2, 0.4, 0.6, 0.8], [0.1, 0.3, 0.5, 0.7], 0.5),
        ([0.9, 0.8, 0.7, 0.3], [0.1, 0.2, 0.75, 0.05], 0.25),
    ],
)
def test_equal_error_rate_of_known_scores(genuine, others, expected):
    assert equal_error_rate(genuine, others) == pytest.approx(expected)


@dataclass(frozen=True)
class Measured:
    high: float | None
    low: float | None


def test_known_means_leave_out_missing_values():
    rows = (row for row in [Measured(1.0, None), Measured(3.0, 5.0)])
    assert known_means(Measured, rows) == {"high": 2.0, "low": 5.0}


def test_known_means_are_none_without_any_value():
    assert known_means(Measured, [Measured(1.0, None)]) == {"high": 1.0, "low": None}
    assert known_means(Measured, []) == {"high": None, "low": None}
