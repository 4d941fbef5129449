import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.loudness import (
    CEILING,
    FLOOR_DB,
    limit_peaks,
    match_loudness,
    measure_loudness,
    quietest_frame,
    with_level,
    without_rumble,
    without_top,
)
from engine.units import HOP, SAMPLE_RATE, frame_count


def tone(seconds: float, hertz: float = 440.0, level: float = 1.0) -> np.ndarray:
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    return (level * np.sin(2 * np.pi * hertz * time_s)).astype(np.float32)


@pytest.mark.parametrize(("level", "expected_db"), [(1.0, -3.01), (0.1, -23.01), (0.001, -63.01)])
def test_measure_loudness_of_a_tone_is_its_rms_level_in_every_frame(level, expected_db):
    loudness_db = measure_loudness(tone(1.0, level=level))
    assert loudness_db.shape == (101,)
    assert loudness_db.dtype == np.float32
    np.testing.assert_allclose(loudness_db, expected_db, atol=0.1)


def test_measure_loudness_is_steady_for_an_80_hz_tone():
    loudness_db = measure_loudness(tone(1.0, hertz=80.0))
    assert np.ptp(loudness_db[3:-3]) < 0.1


def test_measure_loudness_of_silence_is_the_floor():
    assert (measure_loudness(np.zeros(SAMPLE_RATE, np.float32)) == FLOOR_DB).all()


def test_measure_loudness_centres_each_frame_on_its_hop():
    samples = np.zeros(SAMPLE_RATE, np.float32)
    samples[50 * HOP] = 1.0
    loudness_db = measure_loudness(samples)
    assert loudness_db.argmax() == 50
    assert np.flatnonzero(loudness_db > -60.0).tolist() == [49, 50, 51]
    np.testing.assert_allclose(loudness_db[49], loudness_db[51], atol=0.1)


@given(st.integers(0, 5 * HOP))
@settings(max_examples=40)
def test_measure_loudness_returns_all_frames_for_any_length(sample_count):
    loudness_db = measure_loudness(np.ones(sample_count, np.float32))
    assert loudness_db.shape == (frame_count(sample_count),)
    np.testing.assert_allclose(loudness_db, 0.0 if sample_count else FLOOR_DB, atol=0.01)


def test_match_loudness_follows_the_target_curve():
    samples = tone(3.0, level=0.1)
    current_db = measure_loudness(samples)
    wanted_db = (-25.0 + 8.0 * np.sin(2 * np.pi * 2.0 * np.arange(301) / 100)).astype(np.float32)
    matched = match_loudness(samples, current_db, wanted_db)
    assert matched.shape == samples.shape
    assert matched.dtype == np.float32
    np.testing.assert_allclose(measure_loudness(matched)[2:-2], wanted_db[2:-2], atol=0.4)


def test_match_loudness_leaves_samples_unchanged_for_equal_curves():
    samples = tone(0.5, level=0.1)
    current_db = measure_loudness(samples)
    np.testing.assert_allclose(match_loudness(samples, current_db, current_db), samples, atol=1e-6)


def test_match_loudness_applies_the_same_gain_to_every_channel():
    left = tone(0.5, level=0.1)
    current_db = measure_loudness(left)
    matched = match_loudness(np.stack((left, -left)), current_db, current_db + 6.0)
    np.testing.assert_allclose(matched[0], -matched[1])
    np.testing.assert_allclose(matched[0], left * 10 ** (6 / 20), atol=1e-5)


def test_match_loudness_limits_boost_and_cut():
    samples = tone(0.5, level=0.01)
    current_db = measure_loudness(samples)
    louder = match_loudness(samples, current_db, current_db + 40.0)
    softer = match_loudness(samples, current_db, current_db - 20.0, max_cut_db=10.0)
    np.testing.assert_allclose(measure_loudness(louder) - current_db, 12.0, atol=0.1)
    np.testing.assert_allclose(measure_loudness(softer) - current_db, -10.0, atol=0.1)


def test_match_loudness_fades_to_silence_without_a_click():
    samples = tone(2.0, hertz=100.0, level=0.1)
    current_db = measure_loudness(samples)
    wanted_db = current_db.copy()
    wanted_db[100:] = FLOOR_DB
    matched = match_loudness(samples, current_db, wanted_db)
    assert (matched[104 * HOP :] == 0.0).all()
    np.testing.assert_allclose(matched[: 96 * HOP], samples[: 96 * HOP], atol=1e-6)
    assert np.abs(np.diff(matched)).max() < 1.2 * np.abs(np.diff(samples)).max()


def test_match_loudness_does_not_boost_silence():
    samples = np.zeros(SAMPLE_RATE, np.float32)
    matched = match_loudness(samples, measure_loudness(samples), np.full(101, -20.0, np.float32))
    assert (matched == 0.0).all()


def test_match_loudness_refuses_curves_of_another_length():
    with pytest.raises(ValueError, match="101 frames"):
        match_loudness(np.zeros(SAMPLE_RATE, np.float32), np.zeros(101), np.zeros(100))


def test_without_rumble_removes_dc_offset_and_rumble_and_keeps_the_voice():
    time_s = np.arange(SAMPLE_RATE) / SAMPLE_RATE
    voice = (0.2 * np.sin(2 * np.pi * 110 * time_s)).astype(np.float32)
    heard = without_rumble(voice + np.float32(0.1) + (0.1 * np.sin(2 * np.pi * 4 * time_s)).astype(np.float32))
    inner = slice(4410, -4410)
    assert np.abs(heard[inner] - voice[inner]).max() < 0.01
    assert without_rumble(np.zeros(1, np.float32)).shape == (1,)


@pytest.mark.parametrize("peak", [2.5, 1.05 * CEILING])
@pytest.mark.parametrize("sample_count", [1, 440, 441, 1000, 44100])
def test_limit_peaks_respects_the_ceiling_and_keeps_quiet_parts_unchanged(sample_count, peak):
    samples = np.random.default_rng(1).uniform(-0.5, 0.5, (2, sample_count)).astype(np.float32)
    loud = samples.copy()
    loud[0, sample_count // 2] = peak
    limited = limit_peaks(loud)
    assert np.abs(limited).max() <= CEILING + 1e-6
    assert limited.shape == loud.shape
    far = np.abs(np.arange(sample_count) - sample_count // 2) > 3 * HOP
    np.testing.assert_array_equal(limited[:, far], loud[:, far])
    assert limit_peaks(samples) is samples


def test_limit_peaks_rounds_once_what_lies_between_frame_centres():
    samples = np.random.default_rng(2).uniform(-0.5, 0.5, (1, 100 * HOP)).astype(np.float32)
    samples[0, 50 * HOP + 7] = 1.7
    least = CEILING / np.float32(1.7)  # of the hop, and so of the centres on both sides of it
    gain = np.ones(101)
    gain[[50, 51]] = least
    between = np.interp(np.arange(100 * HOP), HOP * np.arange(101), gain).astype(np.float32)
    np.testing.assert_array_equal(limit_peaks(samples)[0], (samples[0] * between).astype(np.float32))


@pytest.mark.parametrize("sizes", [[44_100], [441] * 100, [100, 7, 20_000, 1, 23_992], [0, 440, 43_660]])
def test_with_level_changes_only_where_the_curve_does_however_the_pieces_are_cut(sizes):
    samples = np.stack([tone(1.0, level=0.2), tone(1.0, hertz=150.0, level=0.1)])
    change_db = np.zeros(101)
    change_db[40:61] = 6.0
    louder = np.concatenate(list(with_level(np.split(samples, np.cumsum(sizes)[:-1], 1), change_db)), 1)
    assert louder.dtype == np.float32
    np.testing.assert_array_equal(louder[:, : 39 * HOP + 1], samples[:, : 39 * HOP + 1])
    np.testing.assert_array_equal(louder[:, 61 * HOP :], samples[:, 61 * HOP :])
    inside = slice(40 * HOP, 60 * HOP)
    np.testing.assert_allclose(louder[:, inside], 10 ** (6 / 20) * samples[:, inside], rtol=1e-5)
    np.testing.assert_array_equal(np.concatenate(list(with_level([samples], change_db)), 1), louder)


@pytest.mark.parametrize("sizes", [[44_100], [441] * 100, [22_100, 22_000]])
def test_with_level_limits_what_it_makes_louder_without_a_step_between_pieces(sizes):
    samples = tone(1.0, hertz=100.0, level=0.9)[None]
    change_db = np.where(np.arange(101) < 70, 12.0, 0.0)
    louder = np.concatenate(list(with_level(np.split(samples, np.cumsum(sizes)[:-1], 1), change_db)), 1)
    assert np.abs(louder).max() <= CEILING + 1e-6
    np.testing.assert_array_equal(louder[:, 71 * HOP :], samples[:, 71 * HOP :])  # a dip lasts 20 ms
    assert np.abs(np.diff(louder)).max() < 1.5 * np.abs(np.diff(samples)).max()


def test_with_level_leaves_loud_samples_alone_that_it_does_not_make_louder():
    samples = tone(1.0, level=1.0)[None]
    quieter = np.concatenate(list(with_level([samples], np.where(np.arange(101) < 50, -6.0, 0.0))), 1)
    np.testing.assert_array_equal(quieter[:, 50 * HOP :], samples[:, 50 * HOP :])


@pytest.mark.parametrize(("hertz", "change_db"), [(500.0, 0.0), (6000.0, 0.0), (8000.0, -3.0), (16_000.0, -40.0)])
def test_without_top_keeps_only_the_level_below_its_cutoff(hertz, change_db):
    samples = tone(1.0, hertz=hertz, level=0.5)
    changed = without_top(samples, 8000.0)
    assert changed.shape == samples.shape
    assert changed.dtype == np.float32
    change = (measure_loudness(changed) - measure_loudness(samples))[10:-10]
    if change_db > -40:
        np.testing.assert_allclose(change, change_db, atol=0.1)
    else:
        assert (change < change_db).all()


@pytest.mark.parametrize("sample_count", [1, 7])
def test_without_top_keeps_the_length_of_a_few_samples(sample_count):
    assert without_top(np.ones(sample_count, np.float32), 40.0).shape == (sample_count,)


def test_quietest_frame_is_the_middle_of_the_quietest_stretch() -> None:
    loudness = np.array([-120.0, -20, -60, -30, -60, -60, -60, -10])
    assert quietest_frame(loudness, 1, 4) == 2
    assert quietest_frame(loudness, 2, 8) in (4, 5)
    assert quietest_frame(loudness, -5, 99) == 0
    assert quietest_frame(np.full(100, -120.0), 0, 100) in (49, 50)
    with pytest.raises(ValueError, match="no frame"):
        quietest_frame(loudness, 3, 3)
