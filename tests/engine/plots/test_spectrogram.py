import numpy as np
import pytest
from matplotlib.collections import LineCollection

from engine.analysis.notes import Note
from engine.analysis.pitch import Pitch
from engine.analysis.spectrogram import SCALES, Scale, ScaleName
from engine.plots.spectrogram import draw_notes, draw_pitch, draw_spectrogram, scale_named
from engine.plots.style import new_figure, title
from engine.units import SAMPLE_RATE, frame_count, semitones_to_hertz

NAMES: list[ScaleName] = ["note", "mel", "linear"]


def tone(hertz: float, seconds: float) -> np.ndarray:
    return (0.2 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE)).astype(np.float32)


def axes():
    return new_figure(4.0, 3.0).subplots()


def draw(drawn, samples: np.ndarray, scale: Scale, *window_s: float) -> np.ndarray:
    """Draw the spectrogram; the shades (rows, columns) in it."""
    draw_spectrogram(drawn, [samples], frame_count(len(samples)), scale, *window_s)
    return np.asarray(drawn.collections[0].get_array())


def loudest_hertz(shades: np.ndarray, scale: Scale) -> np.ndarray:
    return scale.centres_hertz[shades.argmax(0)]


@pytest.mark.parametrize("name", NAMES)
def test_draw_spectrogram_shows_a_tone_at_its_frequency(name):
    drawn, scale = axes(), scale_named(name)
    shades = draw(drawn, tone(1000.0, 1.0), scale)
    assert loudest_hertz(shades, scale)[50] == pytest.approx(1000.0, abs=2 * 20_000 / scale.rows)
    assert drawn.get_ylim() == pytest.approx((scale.lowest_hertz, scale.highest_hertz))
    drawn.figure.canvas.draw()
    assert len([label for label in drawn.get_yticklabels() if label.get_text()]) > 4


def test_draw_spectrogram_shows_only_the_given_window():
    samples = np.concatenate([tone(300.0, 1.0), tone(3000.0, 1.0)])
    drawn, scale = axes(), scale_named("mel")
    shades = draw(drawn, samples, scale, 1.2, 1.8)
    assert drawn.get_xlim() == pytest.approx((1.2, 1.79))
    assert loudest_hertz(shades, scale) == pytest.approx(np.full(shades.shape[1], 3000.0), rel=0.05)


@pytest.mark.parametrize("samples", [0, 1, 441, 44_100 * 30])
def test_draw_spectrogram_accepts_any_length_and_limits_its_columns(samples):
    drawn = axes()
    shades = draw(drawn, np.zeros(samples, np.float32), scale_named("note"))
    drawn.figure.canvas.draw()
    assert shades.shape[1] <= 1200


def test_draw_spectrogram_accepts_a_window_beyond_the_end():
    drawn = axes()
    draw(drawn, tone(300.0, 1.0), scale_named("mel"), 5.0, 9.0)
    drawn.figure.canvas.draw()


def test_draw_pitch_follows_the_note_and_fades_with_the_voicing():
    drawn = axes()
    voicing = np.array([1.0] * 20 + [0.5] * 20 + [0.0] * 20, np.float32)
    draw_pitch(drawn, Pitch(np.full(60, 440.0, np.float32), voicing))
    line = drawn.collections[-1]
    assert isinstance(line, LineCollection)
    assert np.concatenate(line.get_segments())[:, 1] == pytest.approx(440.0)
    assert len(line.get_segments()) == 39  # nothing where nothing is voiced
    opacity = line.get_colors()[:, 3]
    assert opacity[:19] == pytest.approx(1.0)
    assert opacity[20:] == pytest.approx(0.25)


def test_draw_pitch_does_not_join_a_leap():
    drawn = axes()
    hertz = np.concatenate([np.full(10, 200.0), np.full(10, 400.0)]).astype(np.float32)
    draw_pitch(drawn, Pitch(hertz, np.ones(20, np.float32)))
    assert len(drawn.collections[-1].get_segments()) == 18


def test_draw_notes_draws_the_notes_of_the_window_and_names_long_ones():
    drawn, scale = axes(), scale_named("note")
    draw(drawn, tone(220.0, 4.0), scale, 0.0, 2.0)
    draw_notes(drawn, [Note(0.5, 1.5, 57, 0.0), Note(3.0, 3.5, 60, 0.0), Note(1.6, 1.61, 62, 0.0)])
    assert [text.get_text() for text in drawn.texts] == ["A3"]
    (bar, short) = drawn.lines
    assert list(bar.get_xdata()) == [0.5, 1.5]
    assert bar.get_ydata()[0] == pytest.approx(semitones_to_hertz(57.0))
    assert list(short.get_xdata()) == [1.6, 1.61]


def test_scale_named_returns_every_scale():
    assert [scale_named(scale.name) for scale in SCALES] == list(SCALES)


def test_title_shows_dollar_signs_as_text():
    drawn = axes()
    title(drawn, "costs $5 and $x^")
    drawn.figure.canvas.draw()
    assert drawn.get_title(loc="left") == "costs $5 and $x^"


def test_draw_spectrogram_leaves_no_figure_in_pyplot():
    from matplotlib import pyplot

    draw(axes(), tone(220.0, 0.5), scale_named("note"))
    assert pyplot.get_fignums() == []
