"""The voice of the Convert tab: cards to choose one of."""

from collections.abc import Sequence
from dataclasses import replace

import gradio as gr
from gradio.blocks import Block

from engine.texts import tr
from engine.units import note_name
from engine.voices.card import UNTRAINED
from studio.actions.analysis_views import NamedRange
from studio.actions.voice_ends import VoiceEnds, range_of
from studio.actions.voices.cards import VoiceCardView, voice_cards
from studio.actions.voices.ranges import suited_voice
from studio.page.convert.recording import Recording
from studio.page.convert.state import Analysed
from studio.page.parts.browser_memory import remembered
from studio.page.parts.element import element, shown
from studio.page.parts.markup import markup
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Values

GONE = tr("The chosen voice has been deleted. The first voice is now selected: convert again or choose another.")
_MORE = '<div><a href="#create">' + tr("New voice") + '</a><a href="#voices">' + tr("Import") + "</a></div>"
_HINT = tr("{name} is not trained. You can use it as it is; training makes it more like the recordings.")
# by the browser itself, so that the choice is there before the next button is pressed
_CHOSEN = "() => document.querySelector('#convert-voices timbre-voices').data.chosen"


class Voice:
    """The part of the tab with the voice. chosen: its id, which the browser remembers.

    alone: whether the recording is what is converted, and not several. is_open: whether nobody has chosen a voice yet,
    so that the first recording may.
    """

    def __init__(self, page: Page, tab: gr.Tab, recording: Recording, alone: gr.State) -> None:
        self.page = page
        self.chosen = remembered("convert-voice")
        self.is_open = gr.State(False)
        self.cards = element("voices", events=("chosen", "again", "auditioned"), elem_id="convert-voices")
        with gr.Row(visible=False, elem_classes="facts", elem_id="convert-untrained") as self.hint:
            self.untrained = gr.HTML(elem_id="convert-untrained-said")
            self.train = gr.Button(tr("Train"), size="sm", scale=0, min_width=100)
        gr.HTML(_MORE, elem_id="convert-more-voices")
        self.cards.chosen(None, None, self.chosen, js=_CHOSEN, api_visibility="private", show_progress="hidden")
        seen = [self.chosen, recording.analysed, alone]
        page.on_seen(tab, self.refresh, seen, self.outputs)
        page.on(alone.change, self.refresh, seen, self.outputs)
        suited = page.on(recording.analysed.change, self.suit, [*seen, self.is_open], self.outputs)
        suited.then(None, None, self.chosen, js=_CHOSEN, api_visibility="private", show_progress="hidden")
        page.on_data(self.cards.chosen, lambda visit, _: {self.is_open: False}, [], [self.is_open])
        page.on(self.chosen.change, self.hinted, [self.chosen], [self.hint, self.untrained])
        page.on(self.train.click, self.go_and_train, [self.chosen], [page.tabs, page.wishes["train"]])

    @property
    def outputs(self) -> list[Block]:
        """What changes when another voice is chosen, or there are others."""
        return [self.chosen, self.is_open, self.cards, self.hint, self.untrained]

    def choose(self, visit: Visit, model: str | None) -> Values:
        """Return updates that show all voices with this one chosen, or the first trained one where it is gone."""
        voices = _voices(visit)
        is_chosen = model in [voice.id for voice in voices]
        if not is_chosen:
            model = next((voice.id for voice in voices if not voice.untrained), None)
        data = {"voices": voices, "chosen": model}
        return {self.cards: shown(data), self.chosen: model, self.is_open: not is_chosen, **self._hinted(voices, model)}

    def without(self, visit: Visit, model: str) -> Values:
        """Return updates that show the remaining voices where this one was deleted in another window; else none."""
        return {} if model in [voice.id for voice in _voices(visit)] else self.choose(visit, None)

    def refresh(self, visit: Visit, model: str | None, analysed: Analysed | None, is_alone: bool) -> Values:
        """Return updates that show all voices, with the range of the recording where it is alone."""
        analysed = analysed if is_alone else None
        voices = _voices(visit, analysed)
        if model not in [voice.id for voice in voices]:
            return self.choose(visit, None)
        # the choice stays the browser's, which may have a newer one
        data = {"voices": voices, "range": _range(analysed)}
        return {self.cards: shown(data), **self._hinted(voices, model)}

    def suit(self, visit: Visit, model: str | None, analysed: Analysed | None, is_alone: bool, is_open: bool) -> Values:
        """Return updates that show all voices for a recording, and choose one for it where nobody has chosen yet.

        The browser has the last word: somebody may have chosen meanwhile.
        """
        if not (is_open and is_alone and analysed):
            return self.refresh(visit, model, analysed, is_alone)
        voices, suited = _voices(visit, analysed), visit.do(suited_voice, self.trained(visit), analysed) or model
        data = {"voices": voices, "suited": suited, "range": _range(analysed)}
        return {self.cards: shown(data), self.is_open: False, **self._hinted(voices, suited)}

    def trained(self, visit: Visit) -> list[str]:
        """Return the ids of the voices that may be suggested."""
        return [voice.id for voice in _voices(visit) if not voice.untrained]

    def hinted(self, visit: Visit, model: str | None) -> Values:
        """Return updates that hint at training where the chosen voice is untrained."""
        return self._hinted(_voices(visit), model)

    def go_and_train(self, visit: Visit, model: str | None) -> Updates:
        return self.page.go("train", voice=model) if model else None

    def _hinted(self, voices: Sequence[VoiceCardView], model: str | None) -> Values:
        name = next((voice.name for voice in voices if voice.id == model and voice.untrained), None)
        hint = f"<p>{markup(_HINT.format(name=name))}</p>" if name is not None else ""
        return {self.hint: gr.Row(visible=name is not None), self.untrained: gr.HTML(hint)}


def _voices(visit: Visit, analysed: Analysed | None = None) -> list[VoiceCardView]:
    """Return the voices that can convert, as the cards show them: with the ranges that a recording is fitted to."""
    cards = visit.do(voice_cards, visit.base_url, visit.now_s)
    summary = analysed.summary if analysed else None
    cards = [replace(card, state=UNTRAINED if card.untrained else card.state) for card in cards]
    if summary is None:
        return cards
    return [_fitted(card, visit.do(range_of, card.id, summary.style == "melodic")) for card in cards]


def _fitted(card: VoiceCardView, ends: VoiceEnds) -> VoiceCardView:
    low, high = ends.low, ends.high
    notes = None if low is None or high is None else {"min": note_name(low), "max": note_name(high)}
    return replace(card, vocal_range=notes, estimated=ends.estimated)


def _range(analysed: Analysed | None) -> NamedRange | None:
    """Return the recording's range, as the cards show it."""
    summary = analysed.summary if analysed else None
    voice = summary.vocal_range if summary else None
    return NamedRange(low=voice.lowest, high=voice.highest, label=tr("Recording")) if voice else None
