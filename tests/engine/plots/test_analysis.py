import numpy as np
import pytest
import soundfile
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from engine.analysis.recording import analyse
from engine.audio.files import Audio
from engine.plots.analysis import describe, note_spectrogram, plot_file, plot_pitch_over_spectrogram

RATE = 44_100


def tone(hertz: float, seconds: float) -> np.ndarray:
    return (0.2 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def voice(hertz: float, seconds: float) -> np.ndarray:
    """Eight partials: the pitch detector does not take a pure tone for a voice."""
    return np.sum([tone(n * hertz, seconds) / n for n in range(1, 9)], axis=0, dtype=np.float32)


def pixels(figure: Figure) -> np.ndarray:
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba())[..., :3]


def test_a_voice_is_drawn_with_its_range_in_the_title():
    audio = Audio(voice(220.0, 2.0)[None], RATE)
    figure = plot_pitch_over_spectrogram(audio, analyse(audio))
    pitch_axes, loudness_axes = figure.axes
    assert pitch_axes.get_title(loc="left").startswith("Melodic, A3 to A3")
    assert "2.0 s" in pitch_axes.get_title(loc="left")
    line = [drawn for drawn in pitch_axes.collections if isinstance(drawn, LineCollection)][-1]
    assert np.concatenate(line.get_segments())[:, 1] == pytest.approx(57.0, abs=0.3)
    assert loudness_axes.lines[0].get_ydata() == pytest.approx(-15.2, abs=0.3)
    assert pixels(figure).mean() > 128  # dark on light


@pytest.mark.parametrize("sample_count", [0, 1, 500, RATE])
def test_silence_of_any_length_can_be_drawn(sample_count):
    audio = Audio(np.zeros((2, sample_count), np.float32), RATE)
    result = analyse(audio)
    assert describe(result) == "No voice found"
    assert pixels(plot_pitch_over_spectrogram(audio, result)).shape[2] == 3


def test_a_file_gives_the_same_picture(tmp_path):
    samples = np.concatenate((voice(220.0, 5.0), voice(330.0, 4.0)))
    soundfile.write(tmp_path / "song.wav", samples, RATE, subtype="FLOAT")
    audio = Audio(samples[None], RATE)
    result = analyse(audio)
    in_memory, streamed = plot_pitch_over_spectrogram(audio, result), plot_file(tmp_path / "song.wav", result)
    np.testing.assert_array_equal(pixels(in_memory), pixels(streamed))


def test_a_tone_lies_in_its_row():
    levels_db = note_spectrogram([tone(440.0, 1.0)], 101)
    rows, columns = levels_db.shape
    assert rows == 72 * 3
    assert columns == 101
    assert abs(levels_db[:, 50].argmax() / 3 + 36 - 69) <= 0.5
    assert levels_db[:, 50].max() == pytest.approx(-14.0, abs=1.5)


def test_a_long_recording_has_a_bounded_picture():
    piece = np.zeros(RATE, np.float32)
    assert note_spectrogram((piece for _ in range(120)), 12_001).shape[1] <= 1200


def test_the_time_of_a_long_recording_is_in_minutes():
    audio = Audio(np.zeros((1, 150 * 8_000), np.float32), 8_000)
    figure = plot_pitch_over_spectrogram(audio, analyse(audio))
    figure.canvas.draw()
    labels = [label.get_text() for label in figure.axes[1].get_xticklabels()]
    assert {"0:15", "1:00", "2:30"} <= set(labels)


def test_pyplot_is_never_needed():
    import subprocess
    import sys

    code = "import sys, engine.plots.analysis; sys.exit('matplotlib.pyplot' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
