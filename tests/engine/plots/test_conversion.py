from dataclasses import replace

import numpy as np
import pytest
from matplotlib.collections import LineCollection

from engine.audio.files import Audio
from engine.plots.conversion import plot_conversion, plot_fit, seconds_outside
from engine.plots.recording import Look, look_at
from engine.units import SAMPLE_RATE
from engine.voices.card import VoiceCard, list_voices


@pytest.fixture(scope="module")
def look(sing) -> Look:
    """Notes from A3 up to D#4."""
    return look_at(Audio(sing(2.8, 220.0)[None], SAMPLE_RATE), "song")


@pytest.fixture
def card() -> VoiceCard:
    return replace(list_voices()[0], name="$Mia", vocal_range={"min": "A3", "max": "D#4"})


def heights(line: LineCollection) -> np.ndarray:
    return np.concatenate(line.get_segments())[:, 1]


def test_plot_conversion_draws_both_pitches_over_the_take(look, sing):
    after = look_at(Audio(sing(2.8, 440.0)[None], SAMPLE_RATE), "take")
    figure = plot_conversion(look, after, 12)
    figure.canvas.draw()
    above, below = figure.axes
    assert "before: song" in above.get_title(loc="left")
    assert "moved by +12 semitones" in below.get_title(loc="left")
    take, moved = (line for line in below.collections[-2:])
    assert np.median(heights(take)) == pytest.approx(np.median(heights(moved)), rel=0.1)
    assert np.median(heights(take)) == pytest.approx(2 * np.median(heights(above.collections[-1])), rel=0.03)
    assert 440.0 <= np.median(heights(take)) <= 640.0


def test_plot_conversion_zooms_into_a_time_range(look):
    figure = plot_conversion(look, look, 0, 1.0, 1.5, "mel")
    figure.canvas.draw()
    assert figure.axes[1].get_xlim() == pytest.approx((1.0, 1.49))


def test_plot_fit_counts_and_marks_seconds_outside_the_range(look, card):
    assert sum(seconds_outside(look, card, 0)) < 0.15
    below_s, above_s = seconds_outside(look, card, 12)
    assert below_s == 0.0
    assert above_s > 1.5
    assert seconds_outside(look, card, -12)[0] > 1.5
    figure = plot_fit(look, card, 12)
    figure.canvas.draw()
    (axes,) = figure.axes
    title = axes.get_title(loc="left")
    assert title.startswith("song moved by +12 semitones: ")
    assert title.endswith("s outside the range")
    assert "outside" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_plot_fit_shows_all_within_the_range_for_a_song_that_fits(look, card):
    card = replace(card, vocal_range={"min": "A2", "max": "A5"})
    title = plot_fit(look, card, 0).axes[0].get_title(loc="left")
    assert title == "song as it is: all within the range"


def test_plot_fit_shows_silence_as_within_the_range(card):
    silence = look_at(Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE), "nothing")
    figure = plot_fit(silence, card, 5)
    figure.canvas.draw()
    assert "all within the range" in figure.axes[0].get_title(loc="left")
