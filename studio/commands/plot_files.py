"""Plots as files."""

from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import SettingsError
from engine.files import replacing
from engine.texts import tr

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLOT_SUFFIXES = (".png", ".svg", ".pdf")


def refuse_unknown_plot(target: Path | None) -> None:
    """Raise SettingsError for an unsupported file type, before any work is done."""
    if target and target.suffix.lower() not in PLOT_SUFFIXES:
        raise SettingsError(
            tr(
                'Plots cannot be written as "{name}": use {plot_suffixes}.',
                name=target.name,
                plot_suffixes=", ".join(PLOT_SUFFIXES),
            )
        )


def write_figure(figure: "Figure", target: Path) -> None:
    """Write a matplotlib figure atomically. Raises AudioError if that fails."""
    from engine.files import writing_errors

    with writing_errors(target), replacing(target) as unfinished:
        figure.savefig(unfinished, format=target.suffix.lower().removeprefix("."))
