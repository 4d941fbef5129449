import numpy as np
import pytest

from engine.audio.files import Audio
from engine.research.demonstrations.source_filter import take_apart
from engine.research.demonstrations.source_filter_plots import plot_moment, plot_source_filter_parts
from engine.units import SAMPLE_RATE


@pytest.fixture(scope="module")
def parts(sing):
    return take_apart(Audio(sing(1.5)[None], SAMPLE_RATE))


def test_plot_source_filter_parts_draws_source_filter_and_result_in_each_row(parts):
    figure = plot_source_filter_parts(parts, 0.2, 1.2)
    assert len(figure.axes) == 9
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles[:3] == ["source: pulses", "through the filter of the pulses", "= harmonic part"]
    figure.canvas.draw()
    assert all(axes.get_xlim() == pytest.approx((0.2, 1.2), abs=0.02) for axes in figure.axes)


def test_plot_moment_shows_the_harmonics_of_its_pitch(parts):
    frame = int(np.flatnonzero(parts.pitch.voiced)[20])
    axes = plot_moment(parts, frame / 100).axes[0]
    assert f"pulses at {parts.pitch.hertz[frame]:.0f} Hz" in axes.get_title(loc="left")
    comb = next(line for line in axes.lines if line.get_label() == "harmonic part")
    hertz, level_db = comb.get_data()
    f0 = float(parts.pitch.hertz[frame])

    def near(frequency: float) -> float:
        return level_db[np.abs(hertz - frequency) < 22].max()

    assert min(near(2 * f0), near(3 * f0)) > near(2.5 * f0) + 10


@pytest.mark.parametrize("time_s", [-3.0, 0.0, 99.0])
def test_plot_moment_accepts_any_time(parts, time_s):
    plot_moment(parts, time_s).canvas.draw()


def test_plot_source_filter_parts_and_plot_moment_draw_silence():
    parts = take_apart(Audio(np.zeros((1, SAMPLE_RATE // 2), np.float32), SAMPLE_RATE))
    plot_source_filter_parts(parts).canvas.draw()
    plot_moment(parts, 0.1).canvas.draw()
