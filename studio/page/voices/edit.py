"""The actions on a voice: edit its profile, export it as a package and, once confirmed, delete it."""

import gradio as gr

from engine.texts import ntr, tr
from engine.voices.card import TRAIN_AGAIN
from studio.actions.voices.cards import VoiceDetails, voice_details
from studio.actions.voices.packages import package_link
from studio.actions.voices.profiles import edit_profile, profile_values
from studio.actions.voices.voice import refuse_undeletable
from studio.page.parts.element import element, shown
from studio.page.parts.markup import markup
from studio.page.parts.notice import notice
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.profile_form import profile_form
from studio.page.parts.values import Given, Values


class Edit:
    """The actions. sure: of the form; delete: of the question; outputs: what is changed by `close` and `offer`."""

    def __init__(self, page: Page, chosen: gr.BrowserState) -> None:
        with gr.Row(elem_id="voice-more"):
            self.edit = gr.Button(tr("Edit"), size="sm", scale=0, min_width=110, elem_id="voice-edit")
            self.export = gr.Button(tr("Export"), size="sm", scale=0, min_width=110, elem_id="voice-export")
            self.ask = gr.Button(tr("Delete"), size="sm", scale=0, min_width=110, elem_id="voice-ask")
        self.file = element("download", elem_id="voice-package")
        self.problem = problem = notice("voice-problem")
        with gr.Column(visible=False, elem_id="voice-question") as self.question:
            self.asked = gr.HTML()
            with gr.Row():
                self.delete = gr.Button(tr("Delete voice"), variant="stop", size="sm", elem_id="voice-delete")
                keep = gr.Button(tr("Cancel"), size="sm")
        with gr.Column(visible=False, elem_id="voice-form") as self.form_place:
            self.form = profile_form()
            with gr.Row():
                self.sure = gr.Button(tr("Save"), variant="primary", elem_id="voice-save")
                leave = gr.Button(tr("Cancel"))
        self.outputs = outputs = [self.edit, self.export, self.ask, self.form_place, self.question, self.file]
        page.on(self.edit.click, self._begin, [chosen], [*outputs, *self.form.components], notice=problem)
        page.on(self.export.click, self._fetch, [chosen], outputs, notice=problem, show_progress="minimal")
        page.on(self.ask.click, self._ask, [chosen], [*outputs, self.asked], notice=problem)
        for button in (keep, leave):
            page.on(button.click, lambda visit: self.close(), [], outputs, notice=problem)

    def close(self) -> Values:
        """Return updates that hide the form, the question and the package."""
        return {
            self.form_place: gr.Column(visible=False),
            self.question: gr.Column(visible=False),
            self.file: shown(None),
        }

    def offer(self, voice: VoiceDetails) -> Values:
        """Return updates that close everything and offer the actions on a voice; a demo voice cannot be changed."""
        return self.close() | self.offered(voice)

    def offered(self, voice: VoiceDetails) -> Values:
        """Return updates that offer the actions, and leave open what is open."""
        return {
            self.edit: gr.Button(visible=not voice.demo),
            self.export: gr.Button(visible=voice.state in ("completed", TRAIN_AGAIN) or bool(voice.preview_url)),
            self.ask: gr.Button(visible=not voice.demo),
        }

    def save(self, visit: Visit, given: Given, model: str) -> None:
        """Store the profile in the form. Raises as `edit_profile` does."""
        visit.do(edit_profile, model, self.form.values(given))

    def _begin(self, visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        values = visit.do(profile_values, model)
        return self.close() | self.form.filled(values) | {self.form_place: gr.Column(visible=True)}

    def _fetch(self, visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        link = visit.do(package_link, model, visit.base_url, visit.now_s)
        return self.close() | {self.file: shown(link)}

    def _ask(self, visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        visit.do(refuse_undeletable, model)
        voice = visit.do(voice_details, model, visit.base_url, visit.now_s)
        return self.close() | {self.question: gr.Column(visible=True), self.asked: gr.HTML(value=_question(voice))}


def _question(voice: VoiceDetails) -> str:
    """Return the question before deleting, which names what is deleted, as HTML."""
    count = len((voice.data_report or {}).get("recordings", ()))
    name, is_trained = voice.name, bool(voice.training.history)
    question = tr("Delete {name}?", name=name)
    if voice.has_recordings and count:
        question = ntr(
            "Delete {name} and its {count} recording?",
            "Delete {name} and its {count} recordings?",
            count=count,
            name=name,
        )
        if is_trained:
            question = ntr(
                "Delete {name}, its {count} recording and its training?",
                "Delete {name}, its {count} recordings and its training?",
                count=count,
                name=name,
            )
    elif voice.has_recordings:
        question = (
            tr("Delete {name}, its recordings and its training?", name=name)
            if is_trained
            else tr("Delete {name} and its recordings?", name=name)
        )
    kept = tr("This cannot be undone. Conversions made with it are kept.")
    return f'<p role="alert">{markup(question)} {markup(kept)}</p>'
