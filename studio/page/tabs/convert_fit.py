"""Where the recording lies against the voice, and the shift between them: the transpose slider with its picture."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from engine.conversion.settings import ConversionSettings
from studio.actions.fits import fit_view
from studio.page.parts.controls import controls
from studio.page.parts.element import element, shown
from studio.page.parts.page import Page, Updates, Visit
from studio.page.tabs.convert_recording import Recording
from studio.page.tabs.convert_voice import Voice

# all of it in the browser, so that the picture follows the hand
_TELL = "document.dispatchEvent(new CustomEvent('timbre-transpose', {detail: {semitones: SEMITONES}}));"
_MOVED = f"semitones => {{ {_TELL.replace('SEMITONES', 'semitones')} return false; }}"
_CHANGED = f"(isAuto, semitones) => {{ {_TELL.replace('SEMITONES', 'isAuto ? null : semitones')} }}"
_FITTED = "(isAuto, semitones) => isAuto ? (document.querySelector('timbre-fit').data?.auto ?? 0) : semitones"
_IN_BROWSER: dict[str, Any] = {"api_visibility": "private", "show_progress": "hidden"}


@dataclass(frozen=True)
class Fit:
    """The part of the tab with the shift: whether it is found by itself, and in semitones."""

    auto: gr.Checkbox
    transpose: gr.Slider


def build_fit(page: Page, recording: Recording, alone: gr.State, voice: Voice) -> Fit:
    """Layout and events. alone: whether the recording is what is converted, and not several."""
    gr.HTML("<h2>Pitch</h2>")
    picture = element("fit", elem_id="convert-fit")
    auto = gr.Checkbox(True, label="Auto octave", elem_id="convert-auto")
    transpose = controls(ConversionSettings, ["transpose"])["transpose"]

    def fit(visit: Visit, given: Mapping[Any, Any]) -> Updates:
        if not given[voice.chosen]:
            return {picture: shown(None)}
        looked_at = given[recording.looked_at] if given[alone] else None
        found = fit_view(visit.studio, visit.account, given[voice.chosen], looked_at)
        data = found | {"transpose": None if given[auto] else given[transpose], "isHeard": looked_at is not None}
        # what has no pitch is not moved, and of what is not heard yet nothing is known
        return {picture: shown(data)} | ({transpose: found["auto"] or 0} if given[auto] else {})

    seen = {voice.chosen, recording.looked_at, alone, auto, transpose}
    for event in (voice.chosen.change, recording.looked_at.change, alone.change):
        page.on(event, fit, seen, [picture, transpose])
    transpose.input(None, transpose, auto, js=_MOVED, **_IN_BROWSER)
    auto.input(None, [auto, transpose], transpose, js=_FITTED, **_IN_BROWSER)
    gr.on([auto.change, transpose.change], None, [auto, transpose], None, js=_CHANGED, **_IN_BROWSER)
    return Fit(auto, transpose)
