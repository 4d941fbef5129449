"""What Train shows before there are curves: how a voice will come to be like its recordings."""

import math

from engine.texts import joined, tr

_WIDTH, _HEIGHT, _STEP = 1000, 400, 10  # of the drawing, in its own units
_LINES = (  # class, colour, name, where it begins and ends (0..1 of the height), and how soon it gets there
    ("likeness", "accent", tr("likeness"), 0.15, 0.86, 0.22),
    ("words", "range", tr("intelligibility"), 0.55, 0.95, 0.12),
)
_GRID = 5


def preview() -> str:
    """Return the drawing with its legend as HTML."""
    grid = "".join(
        f'<line x1="0" x2="{_WIDTH}" y1="{y}" y2="{y}"/>' for y in range(0, _HEIGHT + 1, _HEIGHT // (_GRID - 1))
    )
    lines = "".join(
        f'<path class="{name}" d="M{_points(begin, end, soon)}"/>' for name, _, _, begin, end, soon in _LINES
    )
    legend = joined("", (f'<span style="--of: var(--{colour})">' + said + "</span>" for _, colour, said, *_ in _LINES))
    return (
        '<p class="legend"><b>'
        + tr("An example")
        + "</b>"
        + legend
        + f'</p><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" '
        f'aria-hidden="true" focusable="false">{grid}{lines}</svg>'
    )


def _points(begin: float, end: float, soon: float) -> str:
    """Return the points of a value that nears its end, more slowly the nearer it is."""
    values = ((x, end - (end - begin) * math.exp(-x / _WIDTH / soon)) for x in range(0, _WIDTH + 1, _STEP))
    return "L".join(f"{x} {_HEIGHT * (1 - value):.1f}" for x, value in values)
