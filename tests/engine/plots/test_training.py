import numpy as np
import pytest

from engine.plots.training import plot_learning_curves
from engine.training.history import TrainingHistory


def scores(epoch: int, score: float) -> dict:
    return {"epoch": epoch, "likeness": 0.9, "content": 0.8, "mel_distance": 0.4, "score": score}


@pytest.fixture
def history() -> TrainingHistory:
    epochs = [{"epoch": e, "envelope": 1 / e, "kept": 0.3, "taken": 0.1} for e in range(1, 21)]
    return TrainingHistory("training", 50, epochs, [scores(0, 0.2), scores(10, 0.9), scores(20, 0.4)])


def test_plot_learning_curves_draws_losses_and_scores_and_marks_the_best(history):
    figure = plot_learning_curves(history)
    losses, shown, held_out = figure.axes
    curves = {line.get_label(): line for line in losses.lines}
    np.testing.assert_allclose(curves["difference (nepers)"].get_ydata()[:3], [1, 1 / 2, 1 / 3])
    assert [list(line.get_xdata()) for line in shown.lines[:2]] == [[0, 10, 20]] * 2
    assert list(held_out.lines[0].get_ydata()) == [0.4] * 3
    assert all(axes.lines[-1].get_xdata()[0] == 10 for axes in (losses, shown))
    assert "Epoch 20 of 50, the best so far is epoch 10" in losses.get_title(loc="left")


def test_plot_learning_curves_draws_a_training_without_epochs(tmp_path):
    figure = plot_learning_curves(TrainingHistory(ceiling=3))
    figure.savefig(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 1000
    assert "nothing evaluated yet" in figure.axes[0].get_title(loc="left")


@pytest.mark.parametrize("distances", [(0.389, 0.394), (0.4,)])
def test_plot_learning_curves_has_axes_that_do_not_depend_on_the_curves(distances):
    lines = [scores(number + 1, 0.5) | {"mel_distance": distance} for number, distance in enumerate(distances)]
    losses, shown, held_out = plot_learning_curves(TrainingHistory("training", 50, lines, lines)).axes
    assert (losses.get_ylim(), held_out.get_ylim()) == ((0.0, 1.0), (0.0, 1.0))
    assert shown.get_ylim() == (0.0, 1.05)


def test_plot_learning_curves_shows_a_single_epoch():
    losses = plot_learning_curves(TrainingHistory("training", 50, [{"epoch": 1, "envelope": 0.4}], [])).axes[0]
    assert losses.lines[0].get_marker() == "o"


def test_plot_learning_curves_shows_losses_above_one():
    losses = plot_learning_curves(TrainingHistory("training", 50, [{"epoch": 1, "envelope": 2.5}], [])).axes[0]
    assert losses.get_ylim()[1] > 2.5
