"""How the recording fits the voice's range, and the shift between them: the transpose slider with its picture."""

from collections.abc import Mapping
from typing import Literal

import gradio as gr

from engine.conversion.settings import ConversionSettings
from engine.texts import tr
from studio.actions.voices.ranges import better_suited, fit_view
from studio.page.convert.layout import Layout
from studio.page.convert.recording import IN_TURN, Recording
from studio.page.convert.state import Analysed, Chosen
from studio.page.convert.voice import Voice
from studio.page.parts.controls import controls
from studio.page.parts.element import element, shown
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Given, Values

# all of it in the browser, so that the picture follows the hand
_TELL = "document.dispatchEvent(new CustomEvent('timbre-transpose', {detail: {semitones: SEMITONES}}));"
_MOVED = f"semitones => {{ {_TELL.replace('SEMITONES', 'semitones')} return false; }}"
_CHANGED = f"(isAuto, semitones) => {{ {_TELL.replace('SEMITONES', 'isAuto ? null : semitones')} }}"
# which shift the slider shows is decided in the browser, by the checkbox as it is by then: an answer of the server that
# was asked before a reload restored the controls would overwrite them
_FOUND = "(isAuto, semitones, found) => isAuto ? found : semitones"
_FITTED = "(isAuto, semitones) => isAuto ? (document.querySelector('timbre-fit').data?.auto ?? 0) : semitones"


class Fit:
    """The part of the tab with the shift: whether it is found automatically, and in semitones.

    alone: whether the recording is what is converted, and not several.
    """

    def __init__(self, page: Page, layout: Layout, recording: Recording, alone: gr.State, voice: Voice) -> None:
        self.recording, self.alone, self.voice = recording, alone, voice
        self.found = gr.Number(0, visible="hidden", container=False)  # of the server, in semitones
        with layout.pitch:
            gr.HTML("<h2>" + tr("Pitch") + "</h2>")
            self.picture = element("fit", events=("best",), elem_id="convert-fit")
        with layout.transpose:
            self.auto = gr.Checkbox(True, label=tr("Auto transpose"), elem_id="convert-auto")
            self.transpose = controls(ConversionSettings, ["transpose"])["transpose"]
        self.owner = gr.State(None)  # id of the recording that the shift was set for
        self.put_aside = gr.State((True, 0))  # for several recordings while there is one, and the other way round
        asked = [recording.chosen, self.owner]
        page.on(recording.chosen.change, self.begin, asked, [self.owner, self.auto], **IN_TURN)
        seen = {voice.chosen, recording.chosen, recording.analysed, alone, self.auto, self.transpose}
        both = [self.auto, self.transpose]
        for event in (voice.chosen.change, recording.analysed.change, recording.part_chosen, alone.change):
            fitted = page.on(event, self.fit, seen, [self.picture, self.found])
            fitted.then(
                None, [*both, self.found], self.transpose, js=_FOUND, api_visibility="private", show_progress="hidden"
            )
        page.on_data(self.picture.best, self.take_best, [], [self.auto, self.transpose])
        self.transpose.input(
            None, self.transpose, self.auto, js=_MOVED, api_visibility="private", show_progress="hidden"
        )
        self.auto.input(None, both, self.transpose, js=_FITTED, api_visibility="private", show_progress="hidden")
        gr.on(
            [self.auto.change, self.transpose.change],
            None,
            both,
            None,
            js=_CHANGED,
            api_visibility="private",
            show_progress="hidden",
        )

    def begin(self, visit: Visit, chosen: Chosen | None, owner: str | None) -> Updates:
        """Leave a shift with the recording it was set for: another one begins with auto."""
        now = chosen["id"] if chosen else None
        is_another = owner is not None and owner != now and not (chosen and chosen["settled"])
        return {self.owner: now} | ({self.auto: True} if is_another else {})

    def take_best(self, visit: Visit, best: Mapping[Literal["semitones"], float]) -> Updates:
        return {self.auto: False, self.transpose: best["semitones"]}

    def exchange(self, is_auto: bool, semitones: float, put_aside: tuple[bool, float]) -> Values:
        """Return updates between one recording and several, each with a shift of its own."""
        return dict(zip((self.auto, self.transpose), put_aside, strict=True)) | {self.put_aside: (is_auto, semitones)}

    def fit(self, visit: Visit, given: Given) -> Updates:
        model = given.read(self.voice.chosen, str)
        if not model:
            return {self.picture: shown(None)}
        analysed = given.read(self.recording.analysed, Analysed) if given.flag(self.alone) else None
        chosen = given.read(self.recording.chosen, Chosen)
        stretch = self.recording.stretch_of(chosen) if analysed and chosen and chosen["id"] == analysed.id else None
        found = visit.do(fit_view, model, analysed, stretch)
        is_auto, semitones = given[self.auto], given[self.transpose]
        others = visit.do(better_suited, model, self.voice.trained(visit), analysed, stretch) if analysed else []
        asked = {"transpose": None if is_auto else semitones, "isAnalysed": analysed is not None, "others": others}
        data = vars(found) | asked
        return {self.picture: shown(data), self.found: found.auto or 0}
