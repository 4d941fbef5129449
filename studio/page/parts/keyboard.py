"""A picture of a keyboard: the range of a voice, that of a recording, and the duration of each note.

The SVG contains nothing written by a user unescaped: notes are numbers, and labels are escaped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from engine.texts import joined, numeral, tr
from engine.units import note_name
from studio.page.parts.markup import markup

_BLACK = {1: 1, 3: 2, 6: 4, 8: 5, 10: 6}  # pitch class -> white keys of its octave that lie left of it
_WHITE = {0: 0, 2: 1, 4: 2, 5: 3, 7: 4, 9: 5, 11: 6}
_FIRST, _LAST = 36, 83  # C2 to B5, the least that is shown
_KEY, _KEY_HEIGHT = 12.0, 46.0  # of a white key, in the picture's units
_BLACK_KEY, _BLACK_HEIGHT = 7.4, 28.0
_ROW, _BAR = 17.0, 5.0  # of the stretches above the keys
_HISTOGRAM = 44.0
_LETTERS = 11.0  # below the keys

Kind = Literal["voice", "recording", "stated"]


@dataclass(frozen=True)
class Stretch:
    """A range of MIDI notes, the highest included; kind: its colour."""

    low: int
    high: int
    label: str
    kind: Kind = "voice"


def keyboard_svg(stretches: Sequence[Stretch], seconds: Mapping[int, float] | None = None) -> str:
    """Draw a keyboard with ranges above it; the keys of the first are coloured.

    seconds: the duration of each MIDI note, drawn as bars; those outside the first range have another colour. Returns
    nothing where there is nothing to show.
    """
    sung = {note: time_s for note, time_s in (seconds or {}).items() if time_s > 0}
    notes = [*sung, *(note for one in stretches for note in (one.low, one.high))]
    if not notes:
        return ""
    first = 12 * (min([_FIRST, *notes]) // 12)
    last = 12 * (max([_LAST, *notes]) // 12) + 11
    left = _across(first) - _KEY / 2
    width = _across(last) + _KEY / 2 - left
    top = _HISTOGRAM if sung else 0.0
    keys_at = top + _ROW * len(stretches)
    inside = (stretches[0].low, stretches[0].high) if stretches else (first, last)
    drawn = [*_bars(sung, inside, left, top)]
    drawn += [part for row, one in enumerate(stretches) for part in _marked(one, left, width, top + _ROW * row)]
    drawn += _keys(range(first, last + 1), inside if stretches else None, left, keys_at)
    height = keys_at + _KEY_HEIGHT + _LETTERS
    said = markup(_description(stretches, sung, inside))
    return (
        f'<svg class="keyboard" role="img" aria-label="{said}" viewBox="0 0 {width:g} {height:g}" '
        f'style="max-width: {2 * width:g}px">{"".join(drawn)}</svg>'
    )


def _across(note: int) -> float:
    """Return the position of the middle of a key."""
    octave, place = divmod(note, 12)
    if place in _BLACK:
        return (7 * octave + _BLACK[place]) * _KEY
    return (7 * octave + _WHITE[place] + 0.5) * _KEY


def _edges(low: int, high: int) -> tuple[float, float]:
    half = {True: _BLACK_KEY / 2, False: _KEY / 2}
    return _across(low) - half[low % 12 in _BLACK], _across(high) + half[high % 12 in _BLACK]


def _bars(sung: Mapping[int, float], inside: tuple[int, int], left: float, height: float) -> list[str]:
    longest = max(sung.values(), default=0.0)
    drawn = []
    for note, time_s in sorted(sung.items()):
        tall = max(1.0, (height - 4) * time_s / longest)
        where = "inside" if inside[0] <= note <= inside[1] else "outside"
        drawn.append(
            f'<rect class="time {where}" x="{_across(note) - left - 2.6:.1f}" y="{height - tall - 1:.1f}" width="5.2" '
            f'height="{tall:.1f}"><title>{note_name(note)}: {time_s:.1f} s</title></rect>'
        )
    return drawn


def _marked(one: Stretch, left: float, width: float, y: float) -> list[str]:
    start, stop = (edge - left for edge in _edges(one.low, one.high))
    middle = (start + stop) / 2
    # a label near an edge is aligned to it
    place, anchor = (middle, "middle") if 70 < middle < width - 70 else (0, "start") if middle <= 70 else (width, "end")
    return [
        f'<text class="label" x="{place:.1f}" y="{y + _ROW - _BAR - 3:.1f}" text-anchor="{anchor}">'
        f"{markup(one.label)}</text>",
        f'<rect class="stretch {one.kind}" x="{start:.1f}" y="{y + _ROW - _BAR - 0.5:.1f}" width="{stop - start:.1f}" '
        f'height="{_BAR - 1:g}" rx="2"/>',
    ]


def _keys(notes: range, inside: tuple[int, int] | None, left: float, y: float) -> list[str]:
    white: list[str] = []
    black: list[str] = []
    letters: list[str] = []
    for note in notes:
        x, is_black = _across(note) - left, note % 12 in _BLACK
        wide, high = (_BLACK_KEY, _BLACK_HEIGHT) if is_black else (_KEY, _KEY_HEIGHT)
        kind = "black" if is_black else "white"
        state = " in" if inside is not None and inside[0] <= note <= inside[1] else ""
        key = f'<rect class="key {kind}{state}" x="{x - wide / 2:.1f}" y="{y:g}" width="{wide:g}" height="{high:g}"/>'
        (black if is_black else white).append(key)
        if note % 12 == 0:
            letters.append(f'<text class="octave" x="{x - 5:.1f}" y="{y + _KEY_HEIGHT + 9:g}">{note_name(note)}</text>')
    return white + black + letters


def _description(stretches: Sequence[Stretch], sung: Mapping[int, float], inside: tuple[int, int]) -> str:
    """Describe the picture in words."""
    parts = [
        tr("{label}: {low} to {high}", label=one.label, low=note_name(one.low), high=note_name(one.high))
        for one in stretches
    ]
    outside_s = sum(time_s for note, time_s in sung.items() if not inside[0] <= note <= inside[1])
    if sung and stretches:
        parts.append(
            tr(
                "{outside_s} of {sung} s of singing are outside this range",
                outside_s=numeral(outside_s, ".0f"),
                sung=numeral(sum(sung.values()), ".0f"),
            )
            if outside_s
            else ""
        )
    return tr("Keyboard.") + " " + joined(". ", (part for part in parts if part))
