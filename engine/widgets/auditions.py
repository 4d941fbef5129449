"""Audition checkpoints: the same recording as rendered by each evaluation, side by side."""

from pathlib import Path

import ipywidgets

from engine.errors import TrainingError
from engine.texts import tr
from engine.training.history import EVALUATIONS_FOLDER, ORIGINALS_FOLDER, TrainingHistory, read_history
from engine.widgets.playing import Playable, players


def audition(folder: Path, most: int = 6) -> ipywidgets.Widget:
    """Make players for every evaluation of the training run in a folder, with a choice of recordings.

    Of more than `most` evaluations, the first, the best and the last ones are shown. Raises TrainingError if nothing
    has been evaluated.
    """
    history = read_history(folder)
    if history is None or not history.evaluations:
        raise TrainingError(tr("Nothing has been evaluated in this training run yet; train for some epochs first."))
    shown = _shown(history, most)
    parts = sorted(path.stem for path in (folder / ORIGINALS_FOLDER).glob("*.flac"))
    part = ipywidgets.Dropdown(options=parts, description="recording")
    sounds = ipywidgets.VBox()

    def show(change: object = None) -> None:
        found: dict[str, Playable] = {"original": folder / ORIGINALS_FOLDER / f"{part.value}.flac"}
        for line in shown:
            kept = ", kept" if line is history.best else ""
            file = folder / EVALUATIONS_FOLDER / line["folder"] / f"{part.value}.flac"
            found[f"epoch {line['epoch']} (score {line['score']:.3f}{kept})"] = file
        sounds.children = [players(found)]

    part.observe(show, "value")
    show()
    return ipywidgets.VBox([part, sounds])


def _shown(history: TrainingHistory, most: int) -> list[dict[str, ipywidgets.Widget]]:
    lines = history.evaluations
    if len(lines) <= most:
        return lines
    last = [line for line in lines[-(most - 1) :] if line is not history.best]
    return sorted([lines[0], history.best or lines[-1], *last[-(most - 2) :]], key=lambda line: line["epoch"])
