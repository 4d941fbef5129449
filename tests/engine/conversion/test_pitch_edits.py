import json
from dataclasses import FrozenInstanceError, fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.pitch import HIGHEST_HERTZ, LOWEST_HERTZ, Pitch
from engine.conversion.pitch_edits import (
    SHORTEST_S,
    TOOLS,
    Draw,
    FixOctave,
    ShapeNote,
    Shift,
    Smooth,
    Snap,
    edit_pitch,
    plain_edits,
    read_edits,
)
from engine.errors import SettingsError
from engine.units import semitones_to_hertz

GLIDE_FRAMES = 3  # that the ends of a stretch reach beyond it


def sung(frames: int = 600, note: float = 57.3, vibrato: float = 0.4) -> Pitch:
    """A held note with vibrato, unvoiced now and then."""
    semitones = note + vibrato * np.sin(2 * np.pi * 5.5 * np.arange(frames) / 100)
    voicing = np.where(np.arange(frames) % 150 < 130, 0.95, 0.1)
    return Pitch(semitones_to_hertz(semitones).astype(np.float32), voicing.astype(np.float32))


def inside(edit) -> slice:
    """Frames well within the stretch."""
    return slice(round(edit.start_s * 100) + GLIDE_FRAMES, round(edit.end_s * 100) - GLIDE_FRAMES + 1)


def untouched(edit, frames: int) -> np.ndarray:
    number = np.arange(frames)
    return (number < round(edit.start_s * 100) - GLIDE_FRAMES) | (number > round(edit.end_s * 100) + GLIDE_FRAMES)


@st.composite
def stretches(draw, longest_s: float = 5.9) -> tuple[float, float]:
    start = draw(st.floats(0.0, longest_s - SHORTEST_S - 0.01))
    return start, draw(st.floats(start + SHORTEST_S + 0.01, longest_s))


@st.composite
def edits(draw):
    start_s, end_s = draw(stretches())
    tool = draw(st.sampled_from(sorted(TOOLS)))
    if tool == "shift":
        return Shift(start_s, end_s, draw(st.floats(-24, 24)))
    if tool == "smooth":
        return Smooth(start_s, end_s, draw(st.floats(20, 2000)))
    if tool == "note":
        ranges = (0, 2), (0, 2), (-12, 12), (-12, 12), (-6, 6), (-12, 12)
        return ShapeNote(start_s, end_s, *(draw(st.floats(*ends)) for ends in ranges))
    if tool == "octave":
        return FixOctave(start_s, end_s, draw(st.sampled_from(["auto", -2, -1, 0, 1, 2])))
    if tool == "snap":
        return Snap(start_s, end_s, draw(st.floats(0, 1)), draw(st.sampled_from(["chromatic", "C major", "F# minor"])))
    times = sorted(draw(st.sets(st.floats(start_s, end_s), min_size=1, max_size=8)))
    return Draw(start_s, end_s, tuple((time, draw(st.floats(24, 96))) for time in times))


# ---- tools


def test_shift_moves_only_its_stretch():
    pitch, edit = sung(), Shift(1.0, 2.0, 2.5)
    edited = edit_pitch(pitch, [edit]).pitch
    np.testing.assert_allclose((edited.semitones - pitch.semitones)[inside(edit)], 2.5, atol=1e-4)
    np.testing.assert_array_equal(edited.hertz[untouched(edit, len(pitch))], pitch.hertz[untouched(edit, len(pitch))])
    assert edited.voicing is pitch.voicing


def test_shift_glides_at_the_ends_of_its_stretch():
    edited = edit_pitch(sung(vibrato=0.0), [Shift(1.0, 2.0, 4.0)]).pitch
    steps = np.diff(edited.semitones)
    assert np.abs(steps).max() < 1.6
    assert (steps[90:110] >= -1e-4).all()
    assert (steps[190:210] <= 1e-4).all()


def test_shift_of_two_adjacent_stretches_equals_one_long_shift():
    pitch = sung()
    two = edit_pitch(pitch, [Shift(1.0, 2.0, 3.0), Shift(2.0, 3.0, 3.0)])
    np.testing.assert_allclose(two.pitch.hertz, edit_pitch(pitch, [Shift(1.0, 3.0, 3.0)]).pitch.hertz, rtol=1e-5)


def test_shift_moves_the_first_and_last_frames_of_a_take_fully():
    pitch = sung(300)
    edited = edit_pitch(pitch, [Shift(0.0, 2.99, 2.0)]).pitch
    np.testing.assert_allclose(edited.semitones - pitch.semitones, 2.0, atol=1e-4)


def test_smooth_removes_vibrato_and_keeps_the_note():
    pitch, edit = sung(vibrato=0.4), Smooth(1.6, 2.7, 400.0)
    smooth = edit_pitch(pitch, [edit]).pitch.semitones[inside(edit)]
    assert np.ptp(smooth) < 0.1 < 0.7 < np.ptp(pitch.semitones[inside(edit)])
    assert smooth.mean() == pytest.approx(57.3, abs=0.05)


def test_snap_moves_the_note_to_the_scale_and_keeps_vibrato():
    pitch = sung(note=57.3)
    for edit, note in ((Snap(1.6, 2.7), 57), (Snap(1.6, 2.7, 0.5), 57.15), (Snap(1.6, 2.7, 1.0, "C# minor"), 57)):
        snapped = edit_pitch(pitch, [edit]).pitch.semitones[inside(edit)]
        assert snapped.mean() == pytest.approx(note, abs=0.06)
        assert np.ptp(snapped) == pytest.approx(0.8, abs=0.1)
    sharp = edit_pitch(sung(note=57.6), [Snap(1.6, 2.7, 1.0, "C major")]).pitch.semitones
    assert sharp[inside(Snap(1.6, 2.7))].mean() == pytest.approx(57, abs=0.06)  # where there is no 58


def test_fix_octave_corrects_misheard_octaves_and_marks_them():
    pitch = sung(vibrato=0.1)
    hertz = pitch.hertz.copy()
    hertz[200:260] *= 2
    wrong = Pitch(hertz, pitch.voicing)
    for by in ("auto", -1):
        edit = FixOctave(2.0, 2.59, by)
        right = edit_pitch(wrong, [edit])
        np.testing.assert_allclose(right.pitch.semitones[203:257], pitch.semitones[203:257], atol=1e-3)
        assert (right.octaves[203:257] == -1).all()
        assert not right.octaves[untouched(edit, 600)].any()
    wide = edit_pitch(wrong, [FixOctave(1.0, 4.0)])
    np.testing.assert_allclose(wide.pitch.semitones, pitch.semitones, atol=0.2)


def note_with(vibrato: float = 0.5, drift: float = 0.0, slope: float = 0.0, frames: int = 600) -> Pitch:
    """A held C4 with vibrato of 6 Hz, slow drift and a slope (semitones per second from 1 s to 3 s)."""
    now = np.arange(frames) / 100
    wave = vibrato * np.sin(2 * np.pi * 6.0 * now) + drift * np.sin(2 * np.pi * 0.4 * now) + slope * (now - 2.0)
    return Pitch(semitones_to_hertz(60.0 + wave).astype(np.float32), np.full(frames, 0.95, np.float32))


@pytest.mark.parametrize("length_s", [0.5, 2.0])
def test_shape_note_scales_vibrato_and_keeps_the_note(length_s):
    pitch, place = note_with(), inside(Shift(1.0, 1.0 + length_s, 0.0))
    for depth in (0.0, 0.5, 2.0):
        shaped = edit_pitch(pitch, [ShapeNote(1.0, 1.0 + length_s, vibrato=depth)]).pitch.semitones[place]
        wanted = 60.0 + depth * (pitch.semitones[place] - 60.0)
        np.testing.assert_allclose(shaped, wanted, atol=0.02)  # two cents
    assert shaped.max() == pytest.approx(61.0, abs=0.03)


def test_shape_note_removes_drift_and_keeps_vibrato():
    pitch = note_with(vibrato=0.4, drift=0.3)
    edit = ShapeNote(1.0, 3.5, drift=0.0)
    held = edit_pitch(pitch, [edit]).pitch.semitones[inside(edit)]
    alone = note_with(vibrato=0.4).semitones[inside(edit)]
    np.testing.assert_allclose(held - held.mean(), alone - alone.mean(), atol=0.03)


def test_shape_note_sets_centre_and_slope_exactly():
    pitch = note_with(vibrato=0.0, slope=0.2)
    edit = ShapeNote(1.0, 3.0, centre=-0.25, slope=-0.4)  # which the slope it has compensates
    shaped = edit_pitch(pitch, [edit]).pitch.semitones
    np.testing.assert_allclose(shaped[inside(edit)], 59.75, atol=1e-3)
    steeper = edit_pitch(pitch, [ShapeNote(1.0, 3.0, drift=0.0, slope=1.0)]).pitch.semitones[inside(edit)]
    np.testing.assert_allclose(np.diff(steeper), 0.005, atol=2e-3)


def test_shape_note_leaves_neighbours_alone_and_joins_without_a_step():
    pitch, edit = note_with(vibrato=0.5, drift=0.3), ShapeNote(1.03, 2.41, vibrato=0.0, drift=0.0, slope=0.5)
    shaped = edit_pitch(pitch, [edit]).pitch
    rest = untouched(edit, len(pitch))
    np.testing.assert_array_equal(shaped.hertz[rest], pitch.hertz[rest])
    steepest = np.abs(np.diff(pitch.semitones)).max()
    assert np.abs(np.diff(shaped.semitones)).max() < steepest + 0.3  # the glide takes 50 ms


def test_shape_note_keeps_frames_without_voice_from_the_note():
    pitch = note_with(vibrato=0.0)
    hertz, voicing = pitch.hertz.copy(), pitch.voicing.copy()
    hertz[150:160], voicing[150:160] = 90.0, 0.1
    edit = ShapeNote(1.0, 3.0, vibrato=0.0, drift=0.0)
    shaped = edit_pitch(Pitch(hertz, voicing), [edit]).pitch.semitones
    np.testing.assert_allclose(shaped[110:148], 60.0, atol=0.02)


def test_shape_note_without_changes_does_nothing():
    pitch = note_with()
    assert not edit_pitch(pitch, [ShapeNote(1.0, 3.0)]).differs(pitch).any()


def test_shape_note_moves_formants_and_level_with_soft_edges_and_keeps_the_pitch():
    pitch, edit = note_with(), ShapeNote(1.0, 2.0, formant_shift_semitones=-3.0, level_db=6.0)
    edited = edit_pitch(pitch, [edit])
    np.testing.assert_array_equal(edited.pitch.hertz, pitch.hertz)
    for curve, wanted in ((edited.formants, -3.0), (edited.level_db, 6.0)):
        np.testing.assert_allclose(curve[inside(edit)], wanted, atol=1e-12)
        assert not curve[untouched(edit, len(pitch))].any()
        assert curve[100] == pytest.approx(wanted / 2)
        assert np.abs(np.diff(curve)).max() < abs(wanted) / 3  # over 50 ms
    assert edited.differs(pitch).any()
    louder = edit_pitch(pitch, [ShapeNote(1.0, 2.0, level_db=6.0)])
    assert not louder.is_sung_anew(pitch).any()
    assert not louder.is_like(edited)
    assert louder.is_like(edit_pitch(pitch, [ShapeNote(1.0, 2.0, level_db=4.0), ShapeNote(1.0, 2.0, level_db=2.0)]))


def test_shape_note_of_two_adjacent_notes_equals_one_long_note():
    pitch, change = note_with(), {"formant_shift_semitones": 2.0, "level_db": -4.0}
    two = edit_pitch(pitch, [ShapeNote(1.0, 2.0, **change), ShapeNote(2.0, 3.0, **change)])
    one = edit_pitch(pitch, [ShapeNote(1.0, 3.0, **change)])
    np.testing.assert_allclose(two.formants, one.formants, atol=1e-12)
    np.testing.assert_allclose(two.level_db, one.level_db, atol=1e-12)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"formant_shift_semitones": 6.0}, r"At 1\.03 s edits that overlap move the formants by more than 12 semi"),
        ({"level_db": -12.0}, r"At 1\.03 s edits that overlap change the level by more than 24 dB"),
    ],
)
def test_edit_pitch_refuses_formants_and_levels_that_edits_move_too_far_together(change, sentence):
    most = [ShapeNote(1.0, 2.0, **change)] * 2
    edit_pitch(note_with(), most)
    with pytest.raises(SettingsError, match=sentence):
        edit_pitch(note_with(), [*most, ShapeNote(1.0, 2.0, **change)])


def test_draw_follows_its_points_and_holds_the_outer_ones():
    edit = Draw(1.0, 2.0, ((1.2, 60.0), (1.6, 64.0)))
    drawn = edit_pitch(sung(), [edit]).pitch.semitones
    np.testing.assert_allclose(drawn[[106, 120, 140, 160, 190]], [60, 60, 62, 64, 64], atol=1e-3)


def test_edit_pitch_applies_edits_in_order():
    pitch, edit = sung(), Draw(1.0, 2.0, ((1.0, 60.0),))
    drawn_last = edit_pitch(pitch, [Shift(1.0, 2.0, 5.0), edit]).pitch.semitones[inside(edit)]
    shifted_last = edit_pitch(pitch, [edit, Shift(1.0, 2.0, 5.0)]).pitch.semitones[inside(edit)]
    np.testing.assert_allclose(drawn_last, 60.0, atol=1e-3)
    np.testing.assert_allclose(shifted_last, 65.0, atol=1e-3)


def test_edit_pitch_loses_nothing_with_opposite_shifts():
    pitch = sung()
    there_and_back = edit_pitch(pitch, [Shift(1.0, 3.0, 5.5), Shift(1.0, 3.0, -5.5)] * 20)
    np.testing.assert_array_equal(there_and_back.pitch.hertz, pitch.hertz)
    assert not there_and_back.differs(pitch).any()


@settings(max_examples=150)
@given(edits())
def test_edit_pitch_changes_only_its_stretch_and_stays_within_the_pitch_limits(edit):
    pitch = sung()
    edited = edit_pitch(pitch, [edit], folds=True)
    rest = untouched(edit, len(pitch))
    np.testing.assert_array_equal(edited.pitch.hertz[rest], pitch.hertz[rest])
    assert not edited.octaves[rest].any()
    assert not edited.differs(pitch)[rest].any()
    assert edited.pitch.hertz.dtype == np.float32
    assert np.isfinite(edited.pitch.hertz).all()
    assert np.float32(LOWEST_HERTZ) <= edited.pitch.hertz.min()
    assert edited.pitch.hertz.max() <= np.float32(HIGHEST_HERTZ)


@settings(max_examples=50)
@given(st.lists(edits(), max_size=5))
def test_read_edits_round_trips_plain_edits(some):
    assert read_edits(json.loads(json.dumps(plain_edits(some)))) == tuple(some)


def test_edit_pitch_without_edits_changes_nothing():
    pitch = sung()
    assert not edit_pitch(pitch, []).differs(pitch).any()
    assert edit_pitch(pitch, []).pitch.hertz is not None


@pytest.mark.parametrize(
    ("note", "semitones", "sentence"),
    [
        (81.0, 24.0, r"At 1\.0\d s A5 would become A7, above C7, the highest note: move it less"),
        (45.0, -24.0, r"At 1\.0\d s A2 would become A0, below F#1, the lowest note: move it less"),
    ],
)
def test_edit_pitch_refuses_a_note_beyond_the_range_and_folds_it_if_asked(note, semitones, sentence):
    pitch, edits = sung(note=note, vibrato=0.1), [Shift(1.0, 2.0, semitones)]
    with pytest.raises(SettingsError, match=sentence):
        edit_pitch(pitch, edits)
    folded = edit_pitch(pitch, edits, folds=True)
    moved = folded.pitch.semitones[105:195] - pitch.semitones[105:195]
    np.testing.assert_allclose((moved + 6) % 12, 6.0, atol=0.01)  # the same note in another octave
    assert folded.warning is not None
    assert "is out of range: sung as" in folded.warning


def test_edit_pitch_reaches_the_highest_note():
    pitch = sung(note=84.0, vibrato=0.3)  # C6
    edited = edit_pitch(pitch, [Shift(1.0, 2.0, 12.0)])
    np.testing.assert_allclose(edited.pitch.semitones[110:190] - pitch.semitones[110:190], 12.0, atol=1e-3)
    assert edited.warning is None


def test_edit_pitch_does_not_refuse_for_a_few_frames_beyond_the_range():
    pitch = sung(vibrato=0.0)
    stray = pitch.semitones.copy()
    stray[150:155] = 90.0  # the detector's errors
    pitch = Pitch(semitones_to_hertz(stray).astype(np.float32), pitch.voicing)
    edited = edit_pitch(pitch, [Shift(1.0, 2.0, 12.0)])
    np.testing.assert_allclose(edited.pitch.semitones[110:140], 69.3, atol=1e-3)
    assert edited.pitch.hertz.max() <= np.float32(HIGHEST_HERTZ)


# ---- what cannot be


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Shift(1.0, 1.01, 2.0), "at least 0.05 s long"),
        (lambda: Shift(2.0, 1.0, 2.0), "at least 0.05 s long"),
        (lambda: Shift(-1.0, 1.0, 2.0), "start_s must be a number from 0.0"),
        (lambda: Shift(0.0, float("nan"), 2.0), "end_s must be a number"),
        (lambda: Shift(0.0, 1.0, 25.0), "semitones must be a number from -24.0 to 24.0, not 25"),
        (lambda: Smooth(0.0, 1.0, 5.0), "milliseconds must be"),
        (lambda: FixOctave(0.0, 1.0, 3), "by must be a whole number from -2 to 2, or the word auto"),
        (lambda: FixOctave(0.0, 1.0, "up"), "by must be"),
        (lambda: ShapeNote(0.0, 1.0, vibrato=2.5), "vibrato must be a number from 0.0 to 2.0"),
        (lambda: ShapeNote(0.0, 1.0, formant_shift_semitones=7), "formant_shift_semitones must be a number from -6.0"),
        (lambda: ShapeNote(0.0, 1.0, level_db=13), "level_db must be a number from -12.0 to 12.0"),
        (lambda: ShapeNote(0.0, 11.0), "A note is 10.0 s long at most: choose a shorter region"),
        (lambda: Snap(0.0, 1.0, 2.0), "strength must be"),
        (lambda: Snap(0.0, 1.0, 1.0, "H major"), "scale must be one of chromatic"),
        (lambda: Draw(0.0, 1.0, ()), "points must be 1 to 20000"),
        (lambda: Draw(0.0, 1.0, ((0.5, 10.0),)), "note number from 24 to 96"),
        (lambda: Draw(0.0, 1.0, ((0.5, "C4"),)), "note number from 24 to 96"),
        (lambda: Draw(0.0, 1.0, ((0.5, 60.0), (0.5, 61.0))), "follow each other in time"),
        (lambda: Draw(0.0, 1.0, ((1.5, 60.0),)), "within its region, 0 s to 1 s"),
    ],
)
def test_pitch_edits_refuse_invalid_values_in_a_sentence(make, sentence):
    with pytest.raises(SettingsError, match=sentence) as caught:
        make()
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ("shift", "must be a list"),
        ([1], "Edit 1 is not an object"),
        ([{"tool": "louder"}], "Edit 1 has an unknown tool: the tools are shift, note, smooth, octave, snap, draw"),
        ([{"tool": "shift", "start_s": 0, "end_s": 1}], r"Edit 1 \(shift\) lacks semitones"),
        ([{"tool": "smooth", "start_s": 0, "end_s": 1, "loud": 1}], r"Edit 1 \(smooth\) has an unknown field: loud"),
        (
            [{"tool": "smooth", "start_s": 0, "end_s": 1}, {"tool": "smooth", "start_s": 0, "end_s": 0}],
            r"Edit 2 \(smooth\): A region must",
        ),
        ([{"tool": "smooth", "start_s": 0, "end_s": 1}] * 1001, "1000 edits at most, not 1001"),
    ],
)
def test_read_edits_refuses_invalid_data_with_a_reason(values, sentence):
    with pytest.raises(SettingsError, match=sentence):
        read_edits(values)


@pytest.mark.parametrize("stretch", [(5.0, 7.0), (6.5, 7.0), (5.98, 6.03)])
def test_edit_pitch_refuses_a_stretch_beyond_the_take(stretch):
    with pytest.raises(SettingsError, match=r"is not within the take, which is 5\.99 s long"):
        edit_pitch(sung(), [Shift(*stretch, 1.0)])


def test_pitch_edits_are_immutable_validated_and_documented():
    with pytest.raises(FrozenInstanceError):
        Shift(0.0, 1.0, 1.0).semitones = 2.0
    with pytest.raises(SettingsError):
        replace(Shift(0.0, 1.0, 1.0), semitones=100.0)
    for kind in TOOLS.values():
        assert kind.meaning.endswith(".")
        assert all(len(one.metadata.get("meaning", "It is said elsewhere.")) > 15 for one in fields(kind))
