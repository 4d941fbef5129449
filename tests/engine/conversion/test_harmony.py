import numpy as np
import pytest

from engine.analysis.pitch import Pitch
from engine.conversion.harmony import STEPS, furthest, harmony_curve, interval
from engine.conversion.renderer import ShapedMelody
from engine.conversion.settings import ConversionSettings
from engine.units import semitones_to_hertz

SCALE = (60, 62, 64, 65, 67, 69, 71, 72)  # C major


def lead(*notes: float, frames: int = 40, vibrato: float = 0.0) -> Pitch:
    semitones = np.repeat(np.array(notes, float), frames)
    semitones += vibrato * np.sin(2 * np.pi * 6 * np.arange(len(semitones)) / 100)
    return Pitch(semitones_to_hertz(semitones).astype(np.float32), np.full(len(semitones), 0.95, np.float32))


def middles(curve: np.ndarray, notes: int, frames: int = 40) -> np.ndarray:
    return curve[np.arange(notes) * frames + frames // 2]


@pytest.mark.parametrize(
    ("harmony", "sung"),
    [
        ("third_above", (64, 65, 67, 69, 71, 72, 74, 76)),
        ("third_below", (57, 59, 60, 62, 64, 65, 67, 69)),
        ("fifth_above", (67, 69, 71, 72, 74, 76, 77, 79)),
        ("octave_above", (72, 74, 76, 77, 79, 81, 83, 84)),
        ("octave_below", (48, 50, 52, 53, 55, 57, 59, 60)),
        ("unison", SCALE),
    ],
)
def test_harmony_curve_follows_the_key(harmony, sung):
    curve = harmony_curve(lead(*SCALE), harmony, "C major")
    np.testing.assert_allclose(np.array(SCALE) + middles(curve, len(SCALE)), sung, atol=0.01)


def test_harmony_curve_is_minor_or_major_as_the_key_has_it():
    notes = (57, 60, 64)
    minor = harmony_curve(lead(*notes), "third_above", "A minor")
    major = harmony_curve(lead(*notes), "third_above", "A major")
    np.testing.assert_allclose(middles(minor, 3), [3, 4, 3], atol=0.01)
    np.testing.assert_allclose(middles(major, 3)[[0, 2]], [4, 4], atol=0.01)


def test_harmony_curve_keeps_vibrato_and_does_not_flutter():
    curve = harmony_curve(lead(64.4, frames=200, vibrato=0.5), "third_above", "C major")
    np.testing.assert_allclose(curve, 3.0, atol=1e-6)


def test_harmony_curve_glides_from_one_interval_to_the_next():
    curve = harmony_curve(lead(60, 62), "third_above", "C major")
    assert curve[10] == pytest.approx(4.0)
    assert curve[70] == pytest.approx(3.0)
    assert np.abs(np.diff(curve)).max() < 0.3


def test_harmony_curve_without_notes_is_there_all_the_same():
    unvoiced = Pitch(np.full(50, 200.0, np.float32), np.zeros(50, np.float32))
    assert len(harmony_curve(unvoiced, "third_above", "C major")) == 50


def test_interval_of_a_note_beside_the_scale_is_that_of_its_neighbour():
    assert interval(60.9, 2, "C major") in (interval(60, 2, "C major"), interval(62, 2, "C major"))


@pytest.mark.parametrize("harmony", STEPS)
def test_furthest_is_as_far_as_any_interval_of_any_note(harmony):
    found = [interval(note, STEPS[harmony], key) for note in range(48, 72) for key in ("C major", "A minor")]
    assert max(map(abs, found)) == abs(furthest(harmony))


def test_melody_of_a_double_is_a_little_off_and_drifts_without_moving_in_time():
    source = lead(60, frames=600)
    doubles = [ShapedMelody(ConversionSettings(harmony="unison", seed=seed), 0.0) for seed in (1, 2)]
    curves = [melody.take_pitch(0, 0, source).semitones - 60 for melody in doubles]
    for curve, melody in zip(curves, doubles, strict=True):
        assert 0.02 < abs(curve.mean()) < 0.16
        assert 0.02 < curve.std() < 0.25
        assert np.abs(np.diff(curve)).max() < 0.05  # slowly
        assert not melody.is_as_sung(0)
    assert np.abs(curves[0] - curves[1]).max() > 0.1


def test_melody_of_a_harmony_is_transposed_with_the_lead():
    source = lead(60, 62, frames=300)
    settings = ConversionSettings(harmony="third_above", harmony_key="C major")
    sung = ShapedMelody(settings, 5.0, "C major").take_pitch(0, 0, source).semitones
    assert sung[150] == pytest.approx(69, abs=0.4)
    assert sung[450] == pytest.approx(70, abs=0.4)
