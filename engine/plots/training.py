"""Plot a training run: losses, scores, and the best checkpoint."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from engine.plots.style import INK, LOUDNESS_COLOUR, PITCH_COLOUR, RANGE_COLOUR, SIZE_INCHES, dress, grid, new_figure
from engine.texts import tr
from engine.training.history import TrainingHistory

_LOSSES = {"envelope": tr("difference (nepers)"), "kept": tr("content difference"), "taken": tr("timbre difference")}
_SCORES = {"likeness": tr("likeness"), "content": tr("words kept")}
_COLOURS = (PITCH_COLOUR, RANGE_COLOUR, LOUDNESS_COLOUR)


def plot_learning_curves(history: TrainingHistory) -> Figure:
    """Plot losses over the epochs, and below them the scores of the rendered recordings, with the best epoch marked.

    Parameters
    ----------
    history : TrainingHistory
        As `read_history` returns it.

    Returns
    -------
    matplotlib.figure.Figure
        To show, or to save with `savefig`.

    Examples
    --------
    >>> history = TrainingHistory(epochs=[{"epoch": 1, "envelope": 0.4}, {"epoch": 2, "envelope": 0.3}])
    >>> plot_learning_curves(history).savefig("curves.png")
    """
    figure = new_figure(*SIZE_INCHES)
    losses, scores = figure.subplots(2, 1, sharex=True)
    _draw(losses, history.epochs, _LOSSES, marker="")
    losses.set_ylabel(tr("training losses"), color=INK)
    _draw(scores, history.evaluations, _SCORES, marker="o")
    scores.set_ylabel(tr("scores on new recordings"), color=INK)
    held_out = scores.twinx()
    _draw(held_out, history.evaluations, {"mel_distance": tr("distance of held-out recordings")}, marker="s", first=2)
    held_out.set_ylabel("nepers", color=LOUDNESS_COLOUR)
    held_out.spines[:].set_visible(False)
    held_out.tick_params(colors=LOUDNESS_COLOUR, labelsize=9)
    best = history.best
    for axes in (losses, scores):
        dress(axes)
        grid(axes)
        if best:
            axes.axvline(best["epoch"], color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
    _legend(losses)
    _legend(scores, held_out)
    for axes in (losses, held_out):  # from fixed axes: what is small looks small
        axes.set_ylim(0.0, max(1.0, axes.get_ylim()[1]))
    scores.set_ylim(0.0, 1.05)
    scores.set_xlabel(tr("epoch"), color=INK)
    scores.xaxis.set_major_locator(MaxNLocator(integer=True))
    kept = tr("the best so far is epoch {epoch}", epoch=best["epoch"]) if best else tr("nothing evaluated yet")
    losses.set_title(
        tr("Epoch {epoch} of {ceiling}, {kept}", epoch=history.epoch, ceiling=history.ceiling, kept=kept),
        color=INK,
        fontsize=13,
        loc="left",
    )
    return figure


def _draw(axes: Axes, lines: list[dict[str, float]], names: dict[str, str], marker: str, first: int = 0) -> None:
    """Draw one curve for each name present in the lines."""
    for colour, (name, label) in zip(_COLOURS[first:], names.items(), strict=False):
        points = [(line["epoch"], line[name]) for line in lines if name in line]
        if points:
            epochs, values = zip(*points, strict=True)
            shown = marker or ("o" if len(points) == 1 else "")  # a line of one point is none
            axes.plot(epochs, values, color=colour, label=label, marker=shown, markersize=4, linewidth=1.6)


def _legend(axes: Axes, *others: Axes) -> None:
    handles = [handle for one in (axes, *others) for handle in one.get_legend_handles_labels()[0]]
    if handles:
        axes.legend(handles=handles, frameon=False, fontsize=9, loc="best")
