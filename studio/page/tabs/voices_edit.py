"""The actions on a voice: edit its profile, export it as a package and, once confirmed, delete it."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gradio as gr

from engine.voices.card import TRAIN_AGAIN
from studio.actions.packages import package_link
from studio.actions.profiles import edit_profile, profile_values
from studio.actions.voice_cards import voice_details
from studio.actions.voices import refuse_undeletable
from studio.page.parts.element import element, shown
from studio.page.parts.notice import notice
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.profile_form import ProfileForm, profile_form


@dataclass(frozen=True)
class Edit:
    """The components. sure: of the form; delete: of the question."""

    edit: gr.Button
    export: gr.Button
    ask: gr.Button
    form_place: gr.Column
    form: ProfileForm
    sure: gr.Button
    question: gr.Column
    asked: gr.HTML
    delete: gr.Button
    file: gr.HTML
    problem: gr.HTML

    @property
    def outputs(self) -> list[Any]:
        """The components changed by `close` and `offer`."""
        return [self.edit, self.export, self.ask, self.form_place, self.question, self.file]

    def close(self) -> dict[Any, Any]:
        """Return updates that hide the form, the question and the package."""
        return {
            self.form_place: gr.Column(visible=False),
            self.question: gr.Column(visible=False),
            self.file: shown(None),
        }

    def offer(self, voice: Mapping[str, Any]) -> dict[Any, Any]:
        """Return updates that close everything and offer the actions on a voice; a demo voice cannot be changed."""
        return self.close() | self.offered(voice)

    def offered(self, voice: Mapping[str, Any]) -> dict[Any, Any]:
        """Return updates that offer the actions, and leave open what is open."""
        return {
            self.edit: gr.Button(visible=not voice["demo"]),
            self.export: gr.Button(visible=voice["state"] in ("completed", TRAIN_AGAIN) or bool(voice["preview_url"])),
            self.ask: gr.Button(visible=not voice["demo"]),
        }

    def save(self, visit: Visit, given: Mapping[Any, Any], model: str) -> None:
        """Store the profile in the form. Raises as `edit_profile` does."""
        edit_profile(visit.studio, visit.account, model, self.form.values(given))


def build_edit(page: Page, chosen: gr.BrowserState) -> Edit:
    """Lay out and wire the actions."""
    with gr.Row(elem_id="voice-more"):
        edit = gr.Button("Edit", size="sm", scale=0, min_width=110, elem_id="voice-edit")
        export = gr.Button("Export", size="sm", scale=0, min_width=110, elem_id="voice-export")
        ask = gr.Button("Delete …", size="sm", scale=0, min_width=110, elem_id="voice-ask")
    file = element("download", elem_id="voice-package")
    problem = notice("voice-problem")
    with gr.Column(visible=False, elem_id="voice-question") as question:
        asked = gr.HTML()
        with gr.Row():
            delete = gr.Button("Delete it", variant="stop", size="sm", elem_id="voice-delete")
            keep = gr.Button("Keep it", size="sm")
    with gr.Column(visible=False, elem_id="voice-form") as form_place:
        form = profile_form()
        with gr.Row():
            sure = gr.Button("Save", variant="primary", elem_id="voice-save")
            leave = gr.Button("Cancel")
    part = Edit(edit, export, ask, form_place, form, sure, question, asked, delete, file, problem)

    def begin(visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        values = profile_values(visit.studio, visit.account, model)
        return part.close() | form.filled(values) | {form_place: gr.Column(visible=True)}

    def fetch(visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        link = package_link(visit.studio, visit.account, model, visit.base_url, visit.now_s)
        return part.close() | {file: shown(link)}

    def question_for(visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        refuse_undeletable(visit.studio, visit.account, model)
        voice = voice_details(visit.studio, visit.account, model, visit.base_url, visit.now_s)
        return part.close() | {question: gr.Column(visible=True), asked: gr.HTML(value=_question(voice))}

    page.on(edit.click, begin, [chosen], [*part.outputs, *form.components], notice=problem)
    page.on(export.click, fetch, [chosen], part.outputs, notice=problem, show_progress="minimal")
    page.on(ask.click, question_for, [chosen], [*part.outputs, asked], notice=problem)
    for button in (keep, leave):
        page.on(button.click, lambda visit: part.close(), [], part.outputs, notice=problem)
    return part


def _question(voice: Mapping[str, Any]) -> str:
    """Return the question before deleting, which names what is deleted, as HTML."""
    count = len((voice["data_report"] or {}).get("recordings", ()))
    recordings = "its recording" if count == 1 else f"its {count} recordings" if count else "its recordings"
    parts = [f"<strong>{html.escape(voice['name'])}</strong>"]
    if voice["has_recordings"]:
        parts.append(recordings)
        parts += ["its training"] if voice["training"]["history"] else []
    listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f'<p role="alert">Delete {listed}? This cannot be undone. Conversions made with it are kept.</p>'
