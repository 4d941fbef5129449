"""The Voices tab: the library, where voices are played, edited, exported, imported, blended and deleted."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import gradio as gr

from engine.texts import tr
from engine.voices.profile import LONGEST_NAME
from studio.actions.recordings import consent_line
from studio.actions.voices.cards import VoiceCardView, VoiceDetails, voice_cards, voice_details
from studio.actions.voices.datasets import examine_again
from studio.actions.voices.making import start_blend
from studio.actions.voices.voice import delete_model
from studio.errors import Invalid, NotFound
from studio.page.parts.browser_memory import remembered
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import ChosenVoice
from studio.page.parts.notice import inform, notice
from studio.page.parts.page import LATEST, InTurn, Page, Updates, Visit, Wish
from studio.page.parts.values import Given, Values
from studio.page.parts.watched_task import WatchedTask
from studio.page.train.use_epoch import use_epoch
from studio.page.voices.checkpoints import Checkpoints
from studio.page.voices.edit import Edit
from studio.page.voices.importing import Import, Question
from studio.page.voices.making import NewVoiceForm
from studio.page.voices.panel import Details, Panel
from studio.page.voices.report import BADGES
from studio.page.voices.teach import Teach
from studio.store.kinds import BLEND

# one at a time, so that the last voice asked for is the one shown
IN_TURN: InTurn = {"concurrency_id": "voices", "concurrency_limit": 1}
_POLL_S = 2.0
# in the browser, once the form is closed: what was saved is above it
_TO_THE_NAME = """() => {
  if (!document.querySelector("#voice-form")?.checkVisibility()) document.querySelector("#voice-head").scrollIntoView();
}"""
_GONE = tr("This voice has been deleted.")
_TAUGHT = tr(
    "The recordings have been sung, and the new voice is here. Its training, if you asked for one, is in Train."
)

Changing = list[list[str | bool]]  # what may change of each voice


class Blend(NewVoiceForm):
    """The form that blends two voices. choices: the components that `offered` changes."""

    kind, failed, stopped = BLEND, tr("Blending failed."), tr("Blending was stopped.")

    def __init__(self, page: Page, opener: gr.Button) -> None:
        """Lay out and wire the form; `opener` shows it."""
        with gr.Column(visible=False, elem_id="voices-blend") as self.place:
            gr.HTML('<h3 aria-level="2">' + tr("Blend two voices") + "</h3>")
            with gr.Row():
                self.first = gr.Dropdown([], label=tr("First voice"), min_width=140, elem_classes="names")
                self.second = gr.Dropdown([], label=tr("Second voice"), min_width=140, elem_classes="names")
            share = gr.Slider(0, 100, 50, step=5, label=tr("Share of the second voice (%)"), buttons=["reset"])
            name = gr.Textbox(label=tr("Name"), max_length=LONGEST_NAME, placeholder=tr("Optional"))
            self.lay_out_end(tr("Blend"), "voices-blend")
        self.choices = [self.first, self.second]
        self.wire(page, opener)
        page.on(self.begin.click, self._start, [*self.choices, share, name], self.outputs, notice=self.problem)

    def offered(self, voices: Sequence[VoiceCardView]) -> Values:
        """Return updates with the voices available for blending."""
        ready = [(voice.name, voice.id) for voice in voices if voice.state == "completed"]
        return {self.first: gr.Dropdown(choices=ready), self.second: gr.Dropdown(choices=ready)}

    def _start(self, visit: Visit, one: str | None, other: str | None, percent: float, called: str | None) -> Updates:
        if not one or not other:
            raise Invalid([("voices", tr("Choose two voices to blend."))])
        task_id = visit.do(start_blend, one, other, percent / 100, called or "")
        return self.look(visit, task_id)[0]


class VoicesTab:
    """Layout, events and wiring; made inside the tab.

    listed, looked_at: what may change of all voices and of the chosen one, as last shown.
    """

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self._page = page
        self._chosen = remembered("voices")
        self._listed, self._looked_at = gr.State(None), gr.State(None)
        self._busy = WatchedTask(_POLL_S)
        with gr.Row(elem_id="voices", equal_height=False):
            with gr.Column(scale=5, min_width=320):
                self._lay_out_library(tab)
            with gr.Column(scale=6, min_width=320, elem_id="voices-panel"):
                self._panel = Panel()
                self._teach = Teach(page, self._chosen)
                self._edit = Edit(page, self._chosen)
                self._details = Details()
                self._checkpoints = Checkpoints(page, self._chosen)
        self._all = [
            *(self._chosen, self._cards, self._listed, self._looked_at, self._busy.timer, *self._panel.outputs),
            *(self._import.rvc, self._teach.opener, self._teach.place, *self._edit.outputs, *self._details.outputs),
            *(*self._checkpoints.outputs, *self._blend.choices),
        ]
        self._wire_library(tab)
        self._wire_voice()

    def _lay_out_library(self, tab: gr.Tab) -> None:
        with gr.Row(elem_id="voices-begin"):
            upload = gr.UploadButton(
                tr("Import"), size="sm", min_width=90, elem_id="voices-import", file_count="multiple"
            )
            to_blend = gr.Button(tr("Blend voices"), size="sm", min_width=90, elem_id="voices-to-blend")
            self._create = gr.Button(tr("New voice"), size="sm", min_width=90, elem_id="voices-create")
        self._notice = notice("voices-notice")
        question = Question()
        self._blend = Blend(self._page, to_blend)
        self._cards = element("voices", events=("chosen",), elem_id="voices-cards")
        self._import = Import(self._page, tab, upload, question)

    def _wire_library(self, tab: gr.Tab) -> None:
        page, chosen, wish, said = self._page, self._chosen, self._page.wishes["voices"], self._notice
        for event in (tab.select, wish.change):
            page.on(event, self._open, [chosen, wish], self._all, notice=said, **IN_TURN)
        again = self._look_again, [chosen, self._listed, self._looked_at], [*self._all, said]
        self._busy.wire(page, *again, tab=tab, **IN_TURN)
        page.on_return(tab, *again, trigger_mode="once", **IN_TURN)
        page.on_data(self._cards.chosen, self._choose, [], self._all, notice=said, **IN_TURN, **LATEST)
        part, asked = self._import, self._import.question
        given = [asked.package, part.speaker, asked.name]
        imports = [*self._all, *asked.outputs]
        # not in turn with the rest, for which other visitors would wait
        slowly = partial(page.on, notice=said, show_progress="minimal", concurrency_limit=None)
        closed = page.on(part.upload.upload, lambda visit: part.close(), [], asked.outputs)  # about an earlier upload
        slowly(closed.then, self._import_package, [part.upload, part.speaker], imports)
        slowly(asked.keep.click, self._keep_both, given, imports)
        slowly(asked.replace.click, self._replace, given, imports)
        page.on(part.contentvec.installed.change, self._open, [chosen, wish], self._all, notice=said, **IN_TURN)
        page.on(asked.cancel.click, lambda visit: part.close(), [], asked.outputs, notice=said)
        blend, teach = self._blend, self._teach
        made, taught = [*self._all, *blend.outputs, said], [*self._all, *teach.outputs[1:], said]
        blend.watched.wire(page, self._follow_blend, [blend.task], made, notice=blend.problem, **IN_TURN)
        teach.watched.wire(page, self._follow_teaching, [teach.task], taught, notice=teach.problem, **IN_TURN)
        page.on(self._create.click, lambda visit: {page.tabs: gr.Tabs(selected="create")}, [], [page.tabs])

    def _wire_voice(self) -> None:
        page, chosen, edit, checkpoints = self._page, self._chosen, self._edit, self._checkpoints
        saved = page.on(
            edit.sure.click, self._save, {chosen, *edit.form.components}, self._all, notice=edit.problem, **IN_TURN
        )
        saved.then(None, None, None, js=_TO_THE_NAME, api_visibility="private", show_progress="hidden")
        page.on(edit.delete.click, self._delete, [chosen], [*self._all, self._notice], notice=edit.problem, **IN_TURN)
        page.on(self._details.examine.click, self._examine, [chosen], self._all, notice=self._notice, **IN_TURN)
        heard, said = [chosen, checkpoints.heard], checkpoints.said
        page.on(checkpoints.choose.click, self._use_checkpoint, heard, self._all, notice=said, **IN_TURN)
        for button, there in ((self._panel.convert, "convert"), (self._panel.train, "train")):
            page.on(
                button.click,
                lambda visit, one, there=there: page.go(there, voice=one) if one else None,
                [chosen],
                [page.tabs, page.wishes[there]],
            )

    def _library(self, visit: Visit, model: str | None) -> Values:
        """Show all voices, and this one of them or the first."""
        voices = visit.do(voice_cards, visit.base_url, visit.now_s, ready_only=False)
        known = [voice.id for voice in voices]
        model = model if model is not None and model in known else str(known[0])  # there are always the demo voices
        return {self._chosen: model, **self._listing(voices, model), **self._one(visit, model)}

    def _listing(self, voices: Sequence[VoiceCardView], model: str | None) -> Values:
        """Show the cards and choose this one; None keeps the choice."""
        badged = [replace(voice, state=BADGES.get(voice.state, voice.state)) for voice in voices]
        data = {"voices": badged, **({"chosen": model} if model else {})}
        return {self._cards: shown(data), **self._blend.offered(voices), self._listed: _changing(voices)}

    def _one(self, visit: Visit, model: str) -> Values:
        """Show a voice. Raises NotFound."""
        voice = visit.do(voice_details, model, visit.base_url, visit.now_s)
        return {**self._described(visit, voice), **self._edit.offer(voice)}

    def _described(self, visit: Visit, voice: VoiceDetails) -> Values:
        return {
            **self._panel.show(voice),
            **self._teach.offered(voice),
            **self._import.offered(voice),
            **self._details.show(visit, voice),
            **self._checkpoints.show(visit, voice),
            self._looked_at: _changing_of(voice),
            **self._busy.begin(),  # ended at its first tick where no worker is busy
        }

    def _look_again(
        self, visit: Visit, model: str | None, listed: Changing | None, looked_at: Changing | None
    ) -> Updates:
        """Update only what has changed, so that playing, searching and typing are not disturbed."""
        if model is None or (looked_at and looked_at[0][0] != model):  # another voice was chosen meanwhile
            return None
        voices = visit.do(voice_cards, visit.base_url, visit.now_s, ready_only=False)
        if model not in [voice.id for voice in voices]:
            return self._library(visit, None) | {self._notice: inform(_GONE)}
        updates = self._listing(voices, None) if _changing(voices) != listed else {}
        voice = visit.do(voice_details, model, visit.base_url, visit.now_s)
        if _changing_of(voice) != looked_at:
            updates |= self._described(visit, voice) | self._edit.offered(voice)
        return updates | self._busy.begin(_is_busy(voice) or any(one.state == "training" for one in voices))

    def _choose(self, visit: Visit, data: ChosenVoice) -> Updates:
        try:
            return {self._chosen: data["id"], **self._one(visit, str(data["id"]))}
        except NotFound:
            return self._library(visit, None) | {self._notice: inform(_GONE)}

    def _open(self, visit: Visit, model: str | None, wish: Wish | None) -> Updates:
        return self._library(visit, visit.just_wished(wish).get("voice") or model)

    def _import_package(self, visit: Visit, package: list[str] | None, speaker: float | None) -> Updates:
        if not package:
            return None
        question = self._import.look(visit, package)
        return question or self._imported(visit, self._import.take_in(visit, package, speaker))

    def _keep_both(self, visit: Visit, package: list[str], speaker: float | None, name: str) -> Updates:
        return self._imported(visit, self._import.take_in(visit, package, speaker, name))

    def _replace(self, visit: Visit, package: list[str], speaker: float | None, name: str) -> Updates:
        return self._imported(visit, self._import.take_instead(visit, package))

    def _imported(self, visit: Visit, model: str) -> Values:
        voice = visit.do(voice_details, model, "", visit.now_s)
        stated = tr(
            "Licence: {licence}. Source: {source}.",
            licence=voice.licence or tr("not specified"),
            source=voice.source or tr("not specified"),
        )
        stated += " " + tr("Consent: {consent}.", consent=consent_line(voice.consent, voice.consent_origin))
        said = inform(tr("{name} has been imported. {stated}", name=voice.name, stated=stated))
        return self._library(visit, model) | self._import.close() | {self._notice: said}

    def _save(self, visit: Visit, given: Given) -> Updates:
        model = given.read(self._chosen, str)
        if model is None:
            return None
        self._edit.save(visit, given, model)
        return self._library(visit, model)

    def _delete(self, visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        visit.do(delete_model, model)
        return self._library(visit, None) | {self._notice: inform(tr("Voice deleted."))}

    def _examine(self, visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        visit.do(examine_again, model)
        return self._library(visit, model)

    def _use_checkpoint(self, visit: Visit, model: str | None, epoch: int | None) -> Updates:
        sentence = use_epoch(visit, model, epoch)
        return self._library(visit, model) | {self._checkpoints.said: inform(sentence)}

    def _follow_blend(self, visit: Visit, task: str | None) -> Updates:
        updates, new = self._blend.look(visit, task)
        return (
            updates | self._library(visit, new) | {self._notice: inform(tr("The blend is ready."))} if new else updates
        )

    def _follow_teaching(self, visit: Visit, task: str | None) -> Updates:
        updates, new = self._teach.look(visit, task)
        return updates | self._library(visit, new) | {self._notice: inform(_TAUGHT)} if new else updates


def _changing(voices: Sequence[VoiceCardView] | Sequence[VoiceDetails]) -> Changing:
    """Return what differs once a voice was edited or trained."""
    return [[voice.id, voice.name, voice.state] for voice in voices]


def _changing_of(voice: VoiceDetails) -> Changing:
    """Return what differs once the chosen voice was edited or a worker has finished with it."""
    return [[*_changing([voice])[0], voice.data_report is None]]


def _is_busy(voice: VoiceDetails) -> bool:
    """Whether a worker may be training the voice or checking its recordings."""
    return voice.state == "training" or (voice.has_recordings and voice.data_report is None)
