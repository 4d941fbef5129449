"""Pictures as files."""

from pathlib import Path
from typing import Any

from engine.errors import SettingsError
from engine.files import replacing

PLOT_SUFFIXES = (".png", ".svg", ".pdf")


def refuse_unknown_plot(target: Path | None) -> None:
    """Raises SettingsError for a picture of a kind that cannot be drawn, before any work is done for it."""
    if target and target.suffix.lower() not in PLOT_SUFFIXES:
        raise SettingsError(f'Plots cannot be written as "{target.name}": use {", ".join(PLOT_SUFFIXES)}.')


def write_figure(figure: Any, target: Path) -> None:
    """Write a matplotlib figure, whole or not at all. Raises AudioError where that fails."""
    from engine.audio.files import writing_errors

    with writing_errors(target), replacing(target) as unfinished:
        figure.savefig(unfinished, format=target.suffix.lower().removeprefix("."))
