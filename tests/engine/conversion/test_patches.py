import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.analysis.pitch_statistics import PitchStatistics
from engine.conversion.edit_data import EditData
from engine.conversion.patches import FADE_FRAMES, MARGIN_FRAMES, plan_patches
from engine.conversion.pitch_edits import Draw, FixOctave, ShapeNote, Shift, Snap
from engine.conversion.settings import FOLD, ConversionSettings
from engine.errors import EditError
from engine.features.sustained_notes import WIDTH
from engine.networks.excitation import cycles_per_frame

FRAMES = 1500
CORES = np.array([0, 400, 1100])


def edit_data(voiced: bool = True, takes: int = 2) -> EditData:
    """Of a song whose windows join where the pulses jump a little, as they may where nothing is voiced."""
    frame = np.arange(FRAMES)
    hertz = np.stack(
        [(140.0 + take) * 2 ** (0.2 * np.sin(frame / 70) + 0.03 * np.sin(frame / 3)) for take in range(takes)]
    )
    hertz = hertz.astype(np.float32)
    voicing = np.where((frame % 200 < 170) & voiced, 0.93, 0.04).astype(np.float32)
    phases = np.zeros((takes, len(CORES)))
    for take in range(takes):
        for number in range(1, len(CORES)):
            piece = hertz[take, CORES[number - 1] : CORES[number] + 1]
            phases[take, number] = cycles_per_frame(piece, phases[take, number - 1])[-1] + 0.07
    zeros = np.zeros(3, np.float32)
    return EditData(
        *("", ConversionSettings(takes=takes, notes_out_of_range=FOLD), 0, "melodic", 0.0, zeros, zeros),
        *(PitchStatistics(50, 57, 64), 100, True, voicing, hertz, CORES, phases, np.zeros((0, WIDTH), np.float32)),
        np.zeros(len(CORES), np.int64),
    )


def missing_cycles(work: EditData, plan, patch, number: int = 0) -> float:
    """How far the pulses are out of step at the end of a patch."""
    window = np.searchsorted(CORES, patch.last, "right") - 1
    piece = work.hertz[number, CORES[window] : patch.last + 1]
    was = cycles_per_frame(piece, work.phases[number, window])[-1]
    now = cycles_per_frame(patch.pitch.hertz, patch.cycles)[-1]
    return abs((now - was + 0.5) % 1.0 - 0.5)


def cents_off(plan, wanted: float, where: slice) -> float:
    return float(np.abs(100 * (plan.moved[where] - wanted)).max())


@pytest.mark.parametrize("semitones", [-7.0, -0.1, 2.0, 5.5])
@pytest.mark.parametrize("stretch", [(2.0, 2.5), (3.5, 4.5), (3.0, 12.0)])
def test_plan_patches_ends_in_phase_and_hardly_bends_the_curve(semitones, stretch):
    work = edit_data()
    plan = plan_patches(work, 0, [Shift(*stretch, semitones)])
    [patch] = plan.patches
    assert missing_cycles(work, plan, patch) < 1e-6
    voiced = work.voicing > 0.6
    inside = np.zeros(FRAMES, bool)
    inside[round(stretch[0] * 100) + 3 : round(stretch[1] * 100) - 2] = True
    assert np.abs(100 * (plan.moved - semitones))[inside & voiced].max() < 6


def test_plan_patches_corrects_the_phase_in_unvoiced_frames():
    work = edit_data()
    plan = plan_patches(work, 0, [Shift(1.0, 1.6, 1.0)])
    bent = np.abs(100 * plan.moved)
    assert bent[171:195].max() > 10 * bent[165:169].max()


def test_plan_patches_adds_margins_and_keeps_the_pitch_at_the_edges():
    work = edit_data()
    plan = plan_patches(work, 0, [Shift(3.0, 4.0, 2.0)])
    [patch] = plan.patches
    assert 300 - MARGIN_FRAMES - 3 <= patch.first <= 300 - MARGIN_FRAMES
    assert 400 + MARGIN_FRAMES <= patch.last <= 400 + MARGIN_FRAMES + 3
    for edge in (slice(patch.first, patch.first + FADE_FRAMES), slice(patch.last - FADE_FRAMES, patch.last + 1)):
        np.testing.assert_array_equal(plan.after.hertz[edge], plan.before.hertz[edge])
    outside = np.ones(FRAMES, bool)
    outside[patch.first : patch.last + 1] = False
    np.testing.assert_array_equal(plan.after.hertz[outside], plan.before.hertz[outside])


def test_plan_patches_merges_only_patches_that_touch():
    work = edit_data()
    both = plan_patches(work, 0, [Shift(3.0, 3.5, 2.0), Shift(4.3, 4.8, -2.0)])
    assert len(both.patches) == 1
    apart = plan_patches(work, 0, [Shift(3.0, 3.5, 2.0), Shift(8.0, 8.5, -2.0)])
    assert len(apart.patches) == 2


def test_plan_patches_reaches_both_ends_of_the_recording():
    work = edit_data()
    whole = plan_patches(work, 0, [Shift(0.0, (FRAMES - 1) / 100, 1.0)])
    [patch] = whole.patches
    assert (patch.first, patch.last, patch.to_the_end) == (0, FRAMES - 1, True)
    assert cents_off(whole, 1.0, slice(None)) < 0.01  # nobody need be in step afterwards
    assert not plan_patches(work, 0, [Shift(0.0, 1.0, 1.0)]).patches[0].to_the_end


def test_plan_patches_makes_no_patch_for_edits_without_effect():
    work = edit_data()
    assert plan_patches(work, 0, []).patches == []
    assert plan_patches(work, 0, [Shift(1.0, 2.0, 0.0)]).patches == []
    assert plan_patches(work, 0, [Shift(1.0, 2.0, 3.0), Shift(1.0, 2.0, -3.0)]).patches == []
    assert plan_patches(work, 0, [FixOctave(1.0, 2.0)]).patches == []


def test_plan_patches_repeats_a_patch_untouched_by_another_edit():
    work = edit_data()
    first, second = Shift(3.0, 4.0, 2.0), Snap(9.0, 10.0)
    [one] = plan_patches(work, 0, [first]).patches
    again, other = plan_patches(work, 0, [first, second]).patches
    assert one.is_like(again)
    assert not one.is_like(other)
    assert not one.is_like(plan_patches(work, 0, [Shift(3.0, 4.0, 2.01)]).patches[0])
    assert not one.is_like(plan_patches(work, 1, [first]).patches[0])


def test_plan_patches_makes_a_patch_for_an_octave_fix_with_the_same_curve():
    plan = plan_patches(edit_data(), 0, [FixOctave(3.0, 4.0, 1), Shift(3.0, 4.0, -12.0)])
    [patch] = plan.patches  # the curve is the same, but the recording is heard otherwise
    assert patch.octaves.max() == 1
    assert cents_off(plan, 0.0, slice(300, 400)) < 6


def test_plan_patches_sings_formants_anew_in_step_and_only_makes_a_level_louder():
    work = edit_data()
    plan = plan_patches(work, 0, [ShapeNote(3.0, 4.0, formant_shift_semitones=2.0), ShapeNote(8.0, 9.0, level_db=3.0)])
    moved, louder = plan.patches
    assert (moved.is_sung_anew, louder.is_sung_anew) == (True, False)
    assert missing_cycles(work, plan, moved) < 1e-6
    assert cents_off(plan, 0.0, slice(None)) < 6
    np.testing.assert_array_equal(louder.pitch.hertz, work.hertz[0, louder.first : louder.last + 1])
    assert (moved.formants.max(), moved.level_db.max(), louder.formants.max(), louder.level_db.max()) == (2, 0, 0, 3)
    [other] = plan_patches(work, 0, [ShapeNote(3.0, 4.0, formant_shift_semitones=1.0)]).patches
    [quieter] = plan_patches(work, 0, [ShapeNote(8.0, 9.0, level_db=-3.0)]).patches
    assert not moved.is_like(other)
    assert not louder.is_like(quieter)
    begin = moved.shortened(50)
    assert (begin.last - begin.first, len(begin.formants), len(begin.level_db)) == (50, 51, 51)


@pytest.mark.parametrize("number", [-1, 2, 10])
def test_plan_patches_refuses_a_missing_take(number):
    with pytest.raises(EditError, match=rf"no take {number + 1}: the conversion has 2"):
        plan_patches(edit_data(), number, [])


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.floats(0, 13.5), st.floats(0.06, 1.4), st.floats(-12, 12)), min_size=1, max_size=5),
    st.booleans(),
    st.integers(0, 1),
)
@example([(1.0, 1.0, -8.0), (1.0, 1.0, -12.0)], True, 0)  # as low as a voice can be
def test_plan_patches_keeps_patches_separate_and_ends_in_phase_for_any_edits(some, voiced, number):
    work = edit_data(voiced)
    edits = [Shift(start, start + length, semitones) for start, length, semitones in some]
    edits.append(Draw(5.0, 5.4, ((5.1, 52.0), (5.3, 55.0))))
    plan = plan_patches(work, number, edits)
    end = -1
    outside = np.ones(FRAMES, bool)
    for patch in plan.patches:
        assert end < patch.first < patch.last <= FRAMES - 1
        end = patch.last
        outside[patch.first : patch.last + 1] = False
        np.testing.assert_array_equal(plan.after.hertz[patch.first : patch.last + 1], patch.pitch.hertz)
        if not patch.to_the_end:
            assert missing_cycles(work, plan, patch, number) < 1e-5
    np.testing.assert_array_equal(plan.after.hertz[outside], plan.before.hertz[outside])
