"""What Explore shows before it has a recording: in a sentence and in a drawing, what one will see of it."""

import math
from collections.abc import Iterator

from engine.texts import joined, tr

_WIDTH, _HEIGHT, _STEP = 1200, 420, 4  # of the drawing, in its own units
_SILENT, _LOWEST = 345.0, 44.0  # where 0 Hz lies, and how far above it the lowest note
# start, stop, semitones above the lowest
_MELODY = ((0, 150, 0), (165, 330, 4), (340, 420, 7), (460, 690, 12), (700, 790, 9), (800, 930, 7), (975, 1200, 2))
_HALF, _PARTIALS = 9, 7  # half the height of a note; and how many partials are drawn
_LEVEL_HEIGHT, _LEVEL_AT = 26.0, 388.0
_LAYERS = (
    *(("pitch", tr("Pitch")), ("notes", tr("Notes")), ("spectrum", tr("Spectrogram")), ("level", tr("Level"))),
    *(("loudness", tr("Loudness")), ("origin", tr("Origin"))),
)


def welcome() -> str:
    """Return the sentence, and the names of what is drawn, as HTML."""
    layers = joined("", (f'<li class="{name}">' + label + "</li>" for name, label in _LAYERS))
    return "<h2>" + tr("Look inside a vocal") + "</h2><ul>" + layers + "</ul>"


def drawing() -> str:
    """Return the drawing as HTML: a melody as notes and pitch, over its overtones, with level and loudness below."""
    notes = "".join(
        f'<rect class="note" x="{start}" y="{_SILENT - _above(note) - _HALF:.0f}" width="{stop - start}" '
        f'height="{2 * _HALF}" rx="{_HALF}"/>'
        for start, stop, note in _MELODY
    )
    overtones = "".join(
        f'<path class="overtone" style="opacity: {0.6 / number:.2f}" d="{_partial(number)}"/>'
        for number in range(2, _PARTIALS + 1)
    )
    levels = [(x, _level(x)) for x in range(0, _WIDTH, _STEP)]
    bars = "".join(f"M{x} {_LEVEL_AT - one * _rough(x):.1f}V{_LEVEL_AT + one * _rough(x):.1f}" for x, one in levels)
    line = "L".join(f"{x} {_LEVEL_AT - _LEVEL_HEIGHT * (one / _LEVEL_HEIGHT) ** 0.4:.1f}" for x, one in levels)
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" preserveAspectRatio="none" aria-hidden="true" '
        f'focusable="false">{overtones}{notes}<path class="pitch" d="{_partial(1)}"/><path class="level" d="{bars}"/>'
        f'<path class="loudness" d="M{line}"/></svg>'
    )


def _above(semitones: float) -> float:
    """Return how far a note lies above 0 Hz."""
    return _LOWEST * 2 ** (semitones / 12)


def _partial(number: int) -> str:
    """Return the path of a partial of the melody, 1 for its pitch: it slides into each note, and then vibrates."""
    return "".join(
        ("M" if place == 0 else "L") + f"{x} {_SILENT - number * _above(note + bend):.1f}"
        for start, stop, note in _MELODY
        for place, (x, bend) in enumerate(_bends(start, stop))
    )


def _bends(start: int, stop: int) -> Iterator[tuple[int, float]]:
    for x in range(start, stop, _STEP):
        since = (x - start) / 100
        yield x, 0.45 * math.sin(2 * math.pi * 2.3 * since) * min(1.0, since) - 1.6 * math.exp(-9 * since)


def _level(x: int) -> float:
    """Return half the height of the waveform: notes begin at once and fade."""
    for start, stop, _ in _MELODY:
        if start <= x < stop:
            through = (x - start) / (stop - start)
            return _LEVEL_HEIGHT * min(1.0, 12 * through) * (1 - 0.7 * through)
    return 0.6


def _rough(x: int) -> float:
    """Return what makes no two columns of a waveform alike."""
    return 0.75 + 0.25 * math.sin(1.7 * x)
