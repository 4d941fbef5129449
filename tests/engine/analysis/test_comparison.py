from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.comparison import Performed, compare_recordings
from engine.analysis.recording import analyse_file

STEP_S = 0.01
SAMPLES = Path(__file__).parents[3] / "engine" / "samples"


def melody(seed: int = 0, notes: int = 12) -> Performed:
    """Notes of many lengths with rests between them."""
    random = np.random.default_rng(seed)
    hertz, voiced = [], []
    for _ in range(notes):
        length, rest = random.integers(20, 60), random.integers(5, 30)
        hertz += [220 * 2 ** (random.integers(-5, 8) / 12)] * length + [0.0] * rest
        voiced += [True] * length + [False] * rest
    sung = np.array(voiced)
    return Performed(STEP_S, np.array(hertz), np.where(sung, 0.95, 0.05), np.where(sung, -18.0, -70.0))


def changed(one: Performed, later: int = 0, semitones: float = 0.0, louder_db: float = 0.0) -> Performed:
    def moved(values: np.ndarray, outside: float) -> np.ndarray:
        return np.concatenate((np.full(later, outside), values)) if later >= 0 else values[-later:]

    return Performed(
        one.step_s,
        moved(one.hertz * 2 ** (semitones / 12), 0.0),
        moved(one.confidence, 0.05),
        moved(one.loudness_db, -70.0) + louder_db,
    )


def test_compare_recordings_aligns_a_recording_with_itself():
    found = compare_recordings(melody(), melody())
    assert (found.offset_s, found.semitones, found.same_notes) == (0.0, 0.0, 1.0)
    assert found.alignment == pytest.approx(1.0)
    assert found.is_aligned


@given(later=st.integers(-60, 200), semitones=st.integers(-12, 12), louder_db=st.floats(-15, 15))
@settings(max_examples=40)
def test_compare_recordings_measures_offset_transposition_and_level(later, semitones, louder_db):
    found = compare_recordings(melody(), changed(melody(), later, semitones, louder_db))
    assert found.offset_s == pytest.approx(later * STEP_S)
    assert found.semitones == pytest.approx(semitones, abs=0.01)
    assert found.louder_db == pytest.approx(louder_db, abs=0.01)
    assert (found.same_notes, found.cents_apart) == (1.0, pytest.approx(0.0, abs=0.01))


def test_compare_recordings_reports_semitones_and_remaining_cents():
    found = compare_recordings(melody(), changed(melody(), semitones=2.2))
    assert (found.semitones, found.cents_apart) == (pytest.approx(2.2), pytest.approx(20.0))


def test_compare_recordings_does_not_align_another_melody():
    found = compare_recordings(melody(1, 30), melody(2, 30))
    assert not found.is_aligned
    assert found.offset_s == 0.0
    assert found.same_notes < 0.6


def test_compare_recordings_accepts_different_frame_steps():
    coarse = Performed(0.03, *(values[::3] for values in (melody().hertz, melody().confidence, melody().loudness_db)))
    found = compare_recordings(melody(), coarse)
    assert (found.offset_s, found.semitones) == (pytest.approx(0.0, abs=0.03), 0.0)
    assert found.same_notes > 0.95


@pytest.mark.parametrize("frames", [0, 1, 500])
def test_compare_recordings_returns_no_notes_or_level_for_silence(frames):
    silence = Performed(STEP_S, np.zeros(frames), np.zeros(frames), np.full(frames, -120.0))
    for found in (compare_recordings(silence, melody()), compare_recordings(melody(), silence)):
        assert (found.semitones, found.same_notes, found.louder_db, found.is_aligned) == (None, None, None, False)


def heard(name: str) -> Performed:
    """A bundled recording."""
    found = analyse_file(SAMPLES / name)
    return Performed(STEP_S, found.pitch.hertz, found.pitch.voicing, found.loudness_db)


def test_compare_recordings_never_aligns_different_performances():
    samples = [heard(f"{name}.flac") for name in ("singing", "speech", "foreign/singing-high", "foreign/speech-high")]
    for one, other in combinations(samples, 2):
        assert not compare_recordings(one, other).is_aligned


def test_compare_recordings_aligns_a_part_with_its_performance():
    whole = heard("singing.flac")
    part = slice(300, None)
    piece = Performed(STEP_S, whole.hertz[part], whole.confidence[part], whole.loudness_db[part] - 6.0)
    found = compare_recordings(whole, piece)
    assert found.is_aligned
    assert (found.offset_s, found.same_notes) == (pytest.approx(-3.0), 1.0)
