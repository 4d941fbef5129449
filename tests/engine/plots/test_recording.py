import numpy as np
import pytest
import soundfile
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from engine.analysis.recording import analyse
from engine.audio.files import Audio
from engine.plots.recording import (
    Look,
    describe,
    look_at,
    plot_analysis,
    plot_file,
    plot_recording,
    plot_two_recordings,
)
from engine.units import SAMPLE_RATE

RATE = SAMPLE_RATE


@pytest.fixture(scope="module")
def look(sing) -> Look:
    return look_at(Audio(sing(2.0, 220.0)[None], SAMPLE_RATE), "$a_song")


def test_look_at_returns_duration_notes_and_pitch(look):
    assert look.duration_s == pytest.approx(2.0)
    assert look.notes
    assert len(look.analysis.pitch) == 201


def test_plot_analysis_draws_pitch_notes_and_loudness_around_the_range(look):
    figure = plot_analysis(look.analysis)
    figure.canvas.draw()
    pitch, loudness = figure.axes
    low, high = pitch.get_ylim()
    assert 110 < low < 220 < high < 440
    assert pitch.get_title(loc="left") == f"{describe(look.analysis)}   (2.0 s)"
    assert "A3" in [text.get_text() for text in pitch.texts]
    assert any(isinstance(one, LineCollection) for one in pitch.collections)
    assert loudness.get_xlim() == pytest.approx((0.0, 2.0))


@pytest.mark.parametrize("scale", ["note", "mel", "linear"])
def test_plot_recording_draws_every_scale(look, scale):
    figure = plot_recording(look, 0.5, 1.5, scale)
    figure.canvas.draw()
    waveform, spectrogram, loudness = figure.axes
    assert all(axes.get_xlim() == pytest.approx((0.5, 1.5)) for axes in figure.axes)
    assert waveform.get_title(loc="left").startswith("$a_song: Melodic")
    names = [text.get_text() for text in spectrogram.texts]
    assert {look.analysis.vocal_range.min, look.analysis.vocal_range.max} <= set(names)
    assert loudness.get_ylim() == (-80.0, 0.0)


def test_plot_recording_can_leave_out_notes(look):
    shown, hidden = (plot_recording(look, notes=notes).axes[1] for notes in (True, False))
    assert len(shown.texts) > len(hidden.texts) == 2


@pytest.mark.parametrize(("start_s", "end_s"), [(0.0, None), (-5.0, 99.0), (1.9, 1.9), (50.0, 60.0), (1.0, 1.001)])
def test_plot_recording_accepts_any_window(look, start_s, end_s):
    figure = plot_recording(look, start_s, end_s)
    figure.canvas.draw()
    left, right = figure.axes[0].get_xlim()
    assert 0.0 <= left < right <= 2.02


@pytest.mark.parametrize("sample_count", [1, 500, SAMPLE_RATE])
def test_plot_recording_and_plot_two_recordings_draw_silence(sample_count):
    look = look_at(Audio(np.zeros((2, sample_count), np.float32), SAMPLE_RATE))
    plot_recording(look).canvas.draw()
    figure = plot_two_recordings(look, look)
    figure.canvas.draw()


def test_plot_two_recordings_compares_pitch_and_spectra(look, sing):
    higher = look_at(Audio(sing(1.5, 440.0)[None], SAMPLE_RATE), "an octave up")
    figure = plot_two_recordings(look, higher)
    figure.canvas.draw()
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[0].startswith("$a_song")
    assert titles[1].startswith("an octave up")
    histogram = figure.axes[2]
    low, high = (
        np.average([bar.get_x() for bar in bars], weights=[bar.get_height() for bar in bars])
        for bars in histogram.containers
    )
    assert high - low == pytest.approx(12.0, abs=1.5)
    spectra = [line.get_ydata().max() for line in figure.axes[4].lines]
    assert spectra == pytest.approx([0.0, 0.0])


# ---- pitch over spectrogram, also of a file


def voice(hertz: float, seconds: float) -> np.ndarray:
    """Eight partials: the pitch detector does not take a pure tone for a voice."""
    times_s = np.arange(round(seconds * RATE)) / RATE
    return np.sum([0.2 * np.sin(2 * np.pi * n * hertz * times_s) / n for n in range(1, 9)], 0).astype(np.float32)


def file_plotted(folder, audio: Audio) -> Figure:
    soundfile.write(folder / "song.wav", audio.samples.T, audio.rate, subtype="FLOAT")
    return plot_file(folder / "song.wav", analyse(audio))


def pixels(figure: Figure) -> np.ndarray:
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def test_plot_file_draws_pitch_and_loudness_with_the_range_in_the_title(tmp_path):
    figure = file_plotted(tmp_path, Audio(voice(220.0, 2.0)[None], RATE))
    pitch_axes, loudness_axes = figure.axes
    assert pitch_axes.get_title(loc="left").startswith("Melodic, A3 to A3")
    assert "2.0 s" in pitch_axes.get_title(loc="left")
    line = [drawn for drawn in pitch_axes.collections if isinstance(drawn, LineCollection)][-1]
    assert np.concatenate(line.get_segments())[:, 1] == pytest.approx(220.0, rel=0.01)
    assert loudness_axes.lines[0].get_ydata() == pytest.approx(-15.2, abs=0.3)
    assert pixels(figure).mean() > 128  # dark on light


@pytest.mark.parametrize("sample_count", [1, 500, RATE])
def test_plot_file_draws_silence_of_any_length(tmp_path, sample_count):
    audio = Audio(np.zeros((2, sample_count), np.float32), RATE)
    assert describe(analyse(audio)) == "No voice found"
    assert pixels(file_plotted(tmp_path, audio)).shape[2] == 3


def test_plot_file_labels_a_long_recording_in_minutes(tmp_path):
    figure = file_plotted(tmp_path, Audio(np.zeros((1, 150 * 8_000), np.float32), 8_000))
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert {"0:30", "1:00", "2:00"} <= set(labels)
