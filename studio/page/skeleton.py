"""What the page's first HTML shows until its elements are there: its tabs, the demo voices and the sample's melody.

Gradio builds the page in the browser, which takes a second or more on a busy machine, and as long as nobody knows on
a slow line. All of it is drawn by the browser alone: no script, no further file. `first.js` takes it away.
"""

import json
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path

from engine.texts import tr
from engine.units import hertz_to_semitones, note_number
from engine.voices.card import DEMO_VOICES, load_card
from studio.actions.voices.cards import avatar_of
from studio.languages.translation import translator
from studio.page.convert.welcome import MELODY, VOICES
from studio.page.tabs import tabs_of

_STYLE = Path(__file__).with_suffix(".css")
_WIDTH, _HEIGHT, _LANE = 1000, 400, 40  # of the drawings, in their own units
_SURE = 0.5  # of a pitch that is drawn
_CURVE_STEP, _WAVE_STEP = 2, 4  # frames
_ABOVE, _BELOW = 5, 4  # semitones around the notes
_LOWEST, _HIGHEST = 36, 84  # ends of the bars, as in voices.js


@cache
def skeleton(code: str, is_demo: bool) -> str:
    """Return the skeleton as HTML in a language. It is hidden from screen readers: it holds nothing to do."""
    say = translator(code).say
    tabs = "".join(f"<span>{escape(say(name))}</span>" for name in tabs_of(is_demo))
    return (
        f'<div id="skeleton" aria-hidden="true"><style>{_STYLE.read_text(encoding="utf-8")}</style>'
        f"<header><b>Timbre Studio</b>{tabs}</header>"
        f"<section>{''.join(_voices())}</section><main>{_melody()}</main><aside></aside>"
        f"<footer><i></i><b>{escape(say(tr('Convert')))}</b></footer></div>"
    )


def _voices() -> Sequence[str]:
    cards = [load_card(folder) for folder in DEMO_VOICES.iterdir() if folder.is_dir()]
    return [_voice(card.name, card.vocal_range) for card in sorted(cards, key=lambda card: card.name.casefold())]


def _voice(name: str, reach: dict[str, str]) -> str:
    avatar, ends = avatar_of(name), [note_number(reach[end]) for end in ("min", "max")]
    left, right = (100 * (end - _LOWEST) / (_HIGHEST - _LOWEST) for end in ends)
    return (
        f'<p style="--of: {avatar.colour}"><i>{escape(avatar.initials)}</i><b>{escape(name)}</b>'
        f'<u></u><s><em style="left: {left:.0f}%; width: {right - left:.0f}%"></em></s></p>'
    )


def _melody() -> str:
    """Return the notes with their curve, and below them the sample and its two takes."""
    kept = json.loads(MELODY.read_text(encoding="utf-8"))
    roll, curve = kept["roll"], kept["roll"]["curves"][0]
    top = max(note["midi"] for note in roll["notes"]) + _ABOVE
    tall = _HEIGHT / (top - min(note["midi"] for note in roll["notes"]) + _BELOW)
    wide = _WIDTH / roll["duration_s"]
    notes = "".join(
        f'<rect x="{wide * one["start_s"]:.0f}" y="{tall * (top - one["midi"] - one["cents"] / 100 - 0.5):.0f}" '
        f'width="{wide * (one["end_s"] - one["start_s"]):.0f}" height="{tall:.0f}" rx="6"/>'
        for one in roll["notes"]
    )
    points, is_on = [], False
    for place in range(0, len(curve["hertz"]), _CURVE_STEP):
        y = tall * (top - hertz_to_semitones(curve["hertz"][place]))
        is_sung = curve["confidence"][place] > _SURE and 0 < y < _HEIGHT - tall
        if is_sung:
            points.append(f"{'L' if is_on else 'M'}{wide * place * curve['step_s']:.0f} {y:.0f}")
        is_on = is_sung
    colours = {"before": "#8a94a0"} | {name: avatar_of(load_card(DEMO_VOICES / name).name).colour for name in VOICES}
    lanes = "".join(_lane(kept["waveforms"][name]["high"], colour) for name, colour in colours.items())
    return _drawing(_HEIGHT, f'{notes}<path d="{"".join(points)}"/>', "notes") + lanes


def _lane(heights: Sequence[float], colour: str) -> str:
    shown, most = heights[::_WAVE_STEP], max(heights)
    tall = [(_WIDTH * place / len(shown), _LANE * height / most / 2) for place, height in enumerate(shown)]
    bars = "".join(f"M{x:.0f} {_LANE / 2 - half:.0f}v{2 * half:.0f}" for x, half in tall)
    return _drawing(_LANE, f'<path d="{bars}" stroke="{colour}"/>', "lane")


def _drawing(height: int, drawn: str, name: str) -> str:
    return f'<svg class="{name}" viewBox="0 0 {_WIDTH} {height}" preserveAspectRatio="none">{drawn}</svg>'
