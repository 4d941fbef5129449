import numpy as np
import pytest

from engine.analysis.envelope import LOW_BANDS
from engine.audio.files import Audio
from engine.research.demonstrations.content_plots import (
    plot_perturbation_trial,
    plot_similar_moments,
    plot_speaker_probes,
)
from engine.research.demonstrations.frame_features import measure_features
from engine.research.demonstrations.perturbation_trial import PerturbationTrial
from engine.research.demonstrations.speaker_probe import SpeakerProbe
from engine.units import SAMPLE_RATE


def test_plot_speaker_probes_shows_accuracy_beside_chance():
    names = ("anna", "$ben_", "a name that is far too long to stand there")
    confusion = np.array([[0.8, 0.1, 0.1], [0.2, 0.7, 0.1], [0.0, 0.4, 0.6]])
    figure = plot_speaker_probes([SpeakerProbe("mel", names, confusion), SpeakerProbe("content", names, confusion.T)])
    figure.canvas.draw()
    bars, *squares = figure.axes
    assert [bar.get_height() for bar in bars.patches] == pytest.approx([0.7, 0.7])
    assert bars.lines[0].get_ydata()[0] == pytest.approx(1 / 3)
    assert len(squares) == 2
    assert [text.get_text() for text in squares[0].texts[:3]] == ["80%", "10%", "10%"]
    assert squares[0].get_xticklabels()[2].get_text() == "a name that is …"


def test_plot_similar_moments_shows_the_diagonal_for_identical_features(sing):
    features = measure_features(Audio(sing(1.0)[None], SAMPLE_RATE))
    figure = plot_similar_moments(features, features, 0.2, 0.8)
    figure.canvas.draw()
    for axes in figure.axes[:2]:
        assert "100% match themselves" in axes.get_title(loc="left")
        shown = np.asarray(axes.images[0].get_array())
        assert shown.shape == (60, 60)
        assert np.diag(shown).mean() > 0.95
        assert axes.get_xlim() == pytest.approx((0.2, 0.8))


def test_plot_perturbation_trial_shows_the_spectrum_of_the_largest_move():
    factors = (0.75, 1.0, 1.25)
    values = np.array([0.5, 1.0, 0.6])
    trial = PerturbationTrial(factors, values, np.ones(3), values, values, np.zeros((3, LOW_BANDS)))
    figure = plot_perturbation_trial(trial)
    figure.canvas.draw()
    found, distance, spectra = figure.axes
    assert [line.get_label() for line in found.lines] == ["mel spectrum", "content"]
    assert list(found.lines[0].get_ydata()) == [0.5, 1.0, 0.6]
    assert distance.lines[0].get_ydata()[0] == pytest.approx(0.5 * 8.686, abs=0.01)
    assert "moved by 0.75" in [line.get_label() for line in spectra.lines]
