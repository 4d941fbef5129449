"""The common style of all figures: matplotlib figures outside pyplot, without a window or anything to close.

`figure.savefig(path)` writes a file; a notebook or a web page shows the figure directly.
"""

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from engine.texts import numeral, tr
from engine.units import note_name

SIZE_INCHES = (12.0, 6.5)
DPI = 110
INK, PALE_INK = "#1f2933", "#8a94a0"
PITCH_COLOUR, RANGE_COLOUR, LOUDNESS_COLOUR = "#d6246e", "#1769aa", "#2f855a"


def new_figure(width: float, height: float) -> Figure:
    """Make an empty white figure of a size in inches, outside pyplot."""
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def dress(axes: Axes, label_size: float = 9) -> None:
    """Apply the common style to axes: two spines, plain ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE_INK)
    axes.tick_params(which="both", colors=INK, labelsize=label_size)


def title(axes: Axes, text: str, colour: str = INK) -> None:
    """Set a left-aligned title, never parsed as a formula."""
    axes.set_title(text, color=colour, fontsize=11, loc="left", parse_math=False)


def mark_notes(axes: Axes, lowest: int, highest: int, most: int) -> None:
    """Name notes on the horizontal axis between two MIDI numbers, at most about `most` of them."""
    step = next((step for step in (1, 2, 3, 4, 6, 12, 24) if (highest - lowest) / step <= most), 48)
    marked = [note for note in range(lowest, highest + 1) if note % step == 0]
    axes.set_xticks(marked, [note_name(note) for note in marked])


def grid(axes: Axes) -> None:
    """Draw pale horizontal lines at the ticks."""
    axes.grid(axis="y", color=PALE_INK, alpha=0.25, linewidth=0.6)


def duration_label(seconds: float) -> str:
    """Format the length of a recording for a title."""
    return (
        f"{seconds:.1f} s"
        if seconds < 60
        else tr("{minutes}:{seconds} minutes", minutes=int(seconds) // 60, seconds=numeral(int(seconds) % 60, "02d"))
    )
