"""Widgets for notebooks: choosers, plots that follow them, players, forms, progress.

Only notebooks import this package: it needs ipywidgets and IPython, which the rest of the engine does not.
"""

from engine.widgets.auditions import audition
from engine.widgets.choosers import SAMPLES, RecordingChooser, voice_chooser
from engine.widgets.forms import ConversionForm
from engine.widgets.playing import player, players
from engine.widgets.showing import figure_image, prepare, table
from engine.widgets.viewers import comparer, conversion_viewer, explorer
from engine.widgets.watching import progress, watched_training

__all__ = [
    "SAMPLES",
    "ConversionForm",
    "RecordingChooser",
    "audition",
    "comparer",
    "conversion_viewer",
    "explorer",
    "figure_image",
    "player",
    "players",
    "prepare",
    "progress",
    "table",
    "voice_chooser",
    "watched_training",
]
