import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.spectrogram import (
    LINEAR,
    LONGEST_WINDOW,
    MEL,
    NOTE,
    SCALES,
    levels_of,
    measure_spectrograms,
    windows_around,
)
from engine.units import HOP, SAMPLE_RATE


def tone(hertz: float, seconds: float) -> np.ndarray:
    return np.sin(2 * np.pi * hertz * np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE).astype(np.float32)


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.name)
@pytest.mark.parametrize("hertz", [110.0, 440.0, 3000.0])
def test_levels_of_a_tone_peak_in_its_row(scale, hertz):
    window = tone(hertz, 1.0)[:LONGEST_WINDOW]
    (levels_db,) = levels_of(window[None], scale)
    row = int(levels_db.argmax())
    bin_hertz = SAMPLE_RATE / scale.window
    assert scale.edges_hertz[row] - bin_hertz <= hertz <= scale.edges_hertz[row + 1] + bin_hertz
    assert levels_db[row] == pytest.approx(0.0, abs=3.5)  # between two bins a window loses a little


@pytest.mark.parametrize("scale", SCALES, ids=lambda scale: scale.name)
def test_scale_edges_rise_from_the_lowest_to_the_highest_frequency(scale):
    edges = scale.edges_hertz
    assert len(edges) == scale.rows + 1
    assert (np.diff(edges) > 0).all()
    assert (edges[0], edges[-1]) == pytest.approx((scale.lowest_hertz, scale.highest_hertz))


def test_spectrogram_scales_have_note_linear_and_mel_spacing():
    assert NOTE.edges_hertz[::36] == pytest.approx(65.406 * 2.0 ** np.arange(7), rel=1e-4)  # three rows to a semitone
    assert np.diff(LINEAR.edges_hertz) == pytest.approx(LINEAR.highest_hertz / LINEAR.rows)
    middle = MEL.edges_hertz[MEL.rows // 2]
    assert 2595 * np.log10(1 + middle / 700) == pytest.approx(2595 * np.log10(1 + MEL.highest_hertz / 700) / 2)


def test_levels_of_two_low_partials_stay_separate():
    both = (tone(82.4, 1.0) + tone(123.5, 1.0))[:LONGEST_WINDOW]  # E2 and B2
    (levels_db,) = levels_of(both[None], NOTE)
    low, between, high = levels_db[13], levels_db[24], levels_db[34]
    assert min(low, high) > between + 10


@given(sizes=st.lists(st.integers(0, 3000), max_size=8), frames=st.sets(st.integers(0, 12), min_size=1))
@settings(max_examples=50)
def test_windows_around_cuts_the_samples_around_each_frame_from_any_blocks(sizes, frames):
    samples = np.arange(1, sum(sizes) + 1, dtype=np.float32)
    pieces = np.split(samples, np.cumsum(sizes)[:-1]) if sizes else []
    around = np.pad(samples, (LONGEST_WINDOW // 2, 20 * HOP + LONGEST_WINDOW))
    rising = sorted(frames)
    found = list(windows_around(pieces, rising))
    assert len(found) == len(rising)
    for frame, window in zip(rising, found, strict=True):
        np.testing.assert_array_equal(window, around[frame * HOP : frame * HOP + LONGEST_WINDOW])


def test_measure_spectrograms_is_dark_in_silence_and_bright_in_a_tone():
    samples = np.concatenate((np.zeros(SAMPLE_RATE, np.float32), 0.3 * tone(440.0, 1.0)))
    told = []
    note, mel, linear = measure_spectrograms([samples], range(201), report=told.append)
    assert [one.shape for one in (note, mel, linear)] == [(one.rows, 201) for one in SCALES]
    for shades in (note, mel, linear):
        assert shades.dtype == np.uint8
        assert shades[:, :80].max() == 0
        assert shades[:, 150].max() > 250
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_measure_spectrograms_does_not_depend_on_the_level():
    loud = measure_spectrograms([0.5 * tone(330.0, 0.5)], range(40), [MEL])[0].astype(int)
    soft = measure_spectrograms([0.05 * tone(330.0, 0.5)], range(40), [MEL])[0].astype(int)
    assert np.abs(loud - soft).max() <= 4


@pytest.mark.parametrize("samples", [np.zeros(0, np.float32), np.zeros(50_000, np.float32)])
def test_measure_spectrograms_is_blank_for_silence(samples):
    assert all(shades.max() == 0 for shades in measure_spectrograms([samples], range(3)))
