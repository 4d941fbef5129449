"""The Create tab: a voice of one's own: recordings, who it is, consent, and what is found in it before any training."""

from contextlib import suppress
from datetime import date, datetime
from functools import partial
from typing import Any

import gradio as gr

from studio.actions.drafts import create_from_draft
from studio.errors import Invalid, NotFound
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.profile_form import profile_form
from studio.page.tabs.create_recordings import build_recordings
from studio.page.tabs.create_report import build_report


def build_create_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    kept = remembered("create")  # what the form holds
    has_come = gr.State(False)  # whether what was kept has been filled in again
    with gr.Column(elem_id="create-form") as form_place:
        gr.HTML("<h2>1. Recordings</h2>")
        recordings = build_recordings(page)
        gr.HTML("<h2>2. Who it is</h2>")
        form = profile_form(_today(), consent="<h2>3. Consent</h2>")
        sure = gr.Checkbox(
            label="I confirm that whoever is heard in these recordings has agreed to this", elem_id="create-sure"
        )
        gr.HTML("<p>Next you see what is good and what is not in them. Nothing is trained yet.</p>")
        make = gr.Button("Examine the recordings", variant="primary", size="lg", elem_id="create-make")
        problem = notice("create-problem")
    report = build_report(page, tab)
    recordings.connect(page, form)

    def create(visit: Visit, given: dict[Any, Any]) -> Updates:
        values = form.values(given)
        if not given[sure]:
            text = "Tick the box above: no voice is made without the consent of the person who is heard."
            raise Invalid([("consent", text)])
        model = create_from_draft(visit.studio, visit.account, given[recordings.draft], values)
        return {
            **recordings.show(visit, None),
            **form.filled({"consent": {"date": _today().isoformat()}}),
            sure: False,
            kept: None,
            **report.begin(visit, model),
            form_place: gr.Column(visible=False),
        }

    def remember(visit: Visit, given: dict[Any, Any]) -> Updates:
        return {kept: form.kept(given)} if given[has_come] else None

    def come(
        visit: Visit, come_before: bool, stored: dict[str, Any] | None, draft: str | None, model: str | None
    ) -> Updates:
        """What was here when the tab was left, or the page."""
        updates = {has_come: True, **recordings.show(visit, draft), **report.end()}
        if not come_before:
            updates |= form.restored(stored or {})
        if model is not None:
            with suppress(NotFound):  # it was deleted since
                updates |= report.begin(visit, model) | {form_place: gr.Column(visible=False)}
        return updates

    def begin_anew(visit: Visit) -> dict[Any, Any]:
        return report.end() | {form_place: gr.Column(visible=True)}

    def go(visit: Visit, model: str | None, there: str) -> Updates:
        return page.go(there, voice=model) | begin_anew(visit) if model else None

    def take_back(visit: Visit, model: str | None, only_good: bool) -> Updates:
        brought = report.take_back(visit, model, only_good)
        return {
            **recordings.show(visit, brought.draft_id),
            **form.filled(brought.values),
            **report.end(),
            form_place: gr.Column(visible=True),
        }

    everything = [*recordings.outputs, *form.components, sure, kept, has_come, *report.outputs, form_place]
    page.on(make.click, create, {recordings.draft, sure, *form.components}, everything, notice=problem)
    # also once it has come: what somebody quick has written before
    changed = partial(gr.on, [*(control.change for control in form.components), has_come.change])
    page.on(changed, remember, {has_come, *form.components}, [kept], trigger_mode="always_last")
    page.on(tab.select, come, [has_come, kept, recordings.draft, report.model], everything)
    page.on(report.another.click, begin_anew, [], everything)
    for button, there in ((report.train, "train"), (report.convert, "convert")):
        page.on(
            button.click, lambda visit, model, there=there: go(visit, model, there), [report.model],
            [page.tabs, page.wishes[there], *everything], notice=report.problem,
        )  # fmt: skip
    page.on(
        report.change.click, lambda visit, model: take_back(visit, model, only_good=False), [report.model],
        everything, notice=report.problem,
    )  # fmt: skip
    page.on(
        report.without_bad.click, lambda visit, model: take_back(visit, model, only_good=True), [report.model],
        everything, notice=report.problem,
    )  # fmt: skip


def _today() -> date:
    """The day it is where this runs."""
    return datetime.now().astimezone().date()
