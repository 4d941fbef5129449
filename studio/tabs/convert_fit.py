"""Where the recording lies against the voice, and the shift between them: the transpose slider with its picture."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from engine.conversion_settings import ConversionSettings
from studio.actions.fits import fit_view
from studio.parts.controls import controls
from studio.parts.element import element, shown
from studio.parts.page import Page, Updates, Visit
from studio.tabs.convert_recording import Recording
from studio.tabs.convert_voice import Voice

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


def build_fit(page: Page, recording: Recording, voice: Voice) -> Fit:
    """Layout and events."""
    gr.HTML("<h2>Pitch</h2>")
    picture = element("fit", elem_id="convert-fit")
    auto = gr.Checkbox(True, label="Auto: as the voice needs it", elem_id="convert-auto")
    transpose = controls(ConversionSettings, ["transpose"])["transpose"]

    def fit(visit: Visit, model: str | None, looked_at: dict[str, Any] | None, is_auto: bool, by: float) -> Updates:
        if not model:
            return {picture: shown(None)}
        found = fit_view(visit.studio, visit.account, model, looked_at)
        updates: dict[Any, Any] = {picture: shown(found | {"transpose": None if is_auto else by})}
        return updates | ({transpose: found["auto"]} if is_auto and found["auto"] is not None else {})

    inputs, outputs = [voice.chosen, recording.looked_at, auto, transpose], [picture, transpose]
    page.on(voice.chosen.change, fit, inputs, outputs)
    page.on(recording.looked_at.change, fit, inputs, outputs)
    transpose.input(None, transpose, auto, js=_MOVED, **_IN_BROWSER)
    auto.input(None, [auto, transpose], transpose, js=_FITTED, **_IN_BROWSER)
    gr.on([auto.change, transpose.change], None, [auto, transpose], None, js=_CHANGED, **_IN_BROWSER)
    return Fit(auto, transpose)
