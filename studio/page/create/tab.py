"""The Create tab: make a voice in three steps: its recordings, its name and consent, and the report on them.

What else can be said of the voice is a fold below, which the report fills in.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime
from functools import partial

import gradio as gr

from engine.texts import tr
from studio.actions.voices.drafts import create_from_draft, refuse_incomplete
from studio.actions.voices.profiles import edit_profile, profile_values
from studio.errors import Invalid, NotFound
from studio.page.create.recordings import Recordings
from studio.page.create.report import Report, outline
from studio.page.parts.browser_memory import remembered
from studio.page.parts.notice import inform, notice, show_problems, silent
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.profile_form import more_form, needed_form
from studio.page.parts.values import Given, Values

_CONSENT = tr("I have permission from everyone on these recordings")
_NEXT = "<h2>" + tr("3. Report") + "</h2>"
_NEXT += "<p>" + tr("Your recordings are checked first. You start the training afterwards.") + "</p>"


class CreateTab:
    """Layout, events and wiring; made inside the tab."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self._page = page
        self._kept = remembered("create")  # the contents of the form
        self._is_restored, self._is_refused = gr.State(False), gr.State(False)
        with gr.Column(elem_id="create-form") as self._place:
            self._lay_out(page)
        self._report = Report(page)
        with gr.Column(elem_id="create-more"):
            self._more = more_form()
            self._save = gr.Button(tr("Save"), size="sm", visible=False, elem_id="create-save")
            self._saved = notice("create-saved")
        self._form = self._needed | self._more
        self._recordings.connect(page, self._form)
        self._wire(tab)

    def _lay_out(self, page: Page) -> None:
        with gr.Row(equal_height=False, elem_classes="steps"):
            with gr.Column(min_width=300):
                gr.HTML("<h2>" + tr("1. Recordings") + "</h2>")
                self._recordings = Recordings(page)
            with gr.Column(min_width=300):
                gr.HTML("<h2>" + tr("2. Name and consent") + "</h2>")
                self._needed = needed_form(_today())
                self._consent = gr.Checkbox(label=_CONSENT, elem_id="create-sure")
            with gr.Column(min_width=300):
                gr.HTML(_NEXT, elem_id="create-next")
                self._problem = notice("create-problem")  # above the button, where it is in sight
                self._make = gr.Button(tr("Analyse recordings"), variant="primary", size="lg", elem_id="create-make")
                gr.HTML(outline(), elem_id="create-outline")

    def _wire(self, tab: gr.Tab) -> None:
        page, report, controls = self._page, self._report, self._form.components
        draft = self._recordings.draft
        everything = [
            *(*self._recordings.outputs, *controls, self._consent, self._kept, self._is_restored, *report.outputs),
            *(self._place, self._save, self._saved),
        ]
        stated = {draft, self._consent, *controls}
        page.on(self._make.click, self._create, stated, [*everything, self._is_refused], notice=self._problem)
        answered = partial(gr.on, [control.change for control in (*controls, self._consent, draft)])
        told = [self._problem, self._is_refused]
        page.on(answered, self._answer, stated | {self._is_refused}, told, trigger_mode="always_last")
        # restoring counts as a change: a quick visitor may have typed before it
        changed = partial(gr.on, [*(control.change for control in controls), self._is_restored.change])
        page.on(changed, self._keep, {self._is_restored, *controls}, [self._kept], trigger_mode="always_last")
        page.on(tab.select, self._restore, [self._is_restored, self._kept, draft, report.model], everything)
        page.on(report.another.click, lambda visit: self._cleared() | self._begin_anew(), [], everything)
        page.on(report.done.change, self._fill_in, [report.done], [*controls, self._save])
        page.on(self._save.click, self._show_more, {report.model, *controls}, [], notice=self._saved)
        for button, there in ((report.train, "train"), (report.convert, "convert")):
            go, outputs = partial(self._go, there), [page.tabs, page.wishes[there], *everything]
            page.on(button.click, go, [report.model], outputs, notice=report.problem)
        for button, only_good in ((report.change, False), (report.without_bad, True)):
            take_back = partial(self._take_back, only_good)
            page.on(button.click, take_back, [report.model], everything, notice=report.problem)

    def _create(self, visit: Visit, given: Given) -> Updates:
        values = self._form.values(given)
        draft, confirmed = given.read(self._recordings.draft, str), given.flag(self._consent)
        try:
            model = visit.do(create_from_draft, draft, values, confirmed)
        except Invalid as error:
            return {self._problem: show_problems(error), self._is_refused: True}
        return {
            **self._recordings.show(visit, None),
            **self._cleared(),
            self._consent: False,
            self._kept: None,
            **self._show_report(visit, model),
        }

    def _answer(self, visit: Visit, given: Given) -> Updates:
        """Say no longer what is missing once it was filled in."""
        if not given[self._is_refused]:
            return None
        values, draft = self._form.values(given), given.read(self._recordings.draft, str)
        try:
            visit.do(refuse_incomplete, draft, values, given.flag(self._consent))
        except Invalid as error:
            return {self._problem: show_problems(error)}
        return {self._problem: silent(), self._is_refused: False}

    def _keep(self, visit: Visit, given: Given) -> Updates:
        return {self._kept: self._form.kept(given)} if given[self._is_restored] else None

    def _restore(
        self, visit: Visit, is_restored: bool, kept: Mapping[str, object] | None, draft: str | None, model: str | None
    ) -> Updates:
        updates = {self._is_restored: True, **self._report.end()}
        if draft is not None:
            updates |= self._recordings.show(visit, draft)
        if not is_restored:
            updates |= self._form.restored(kept or {})
        if model is not None:
            with suppress(NotFound):  # it may have been deleted
                updates |= self._show_report(visit, model)
        return updates

    def _fill_in(self, visit: Visit, model: str | None) -> Updates:
        """Show what is said of the voice whose report is there, and what the report found."""
        if model is None:
            return None
        values = visit.do(profile_values, model)
        return {
            **self._more.filled(values),
            **self._more.found(self._report.measured(visit, model)),
            self._save: gr.Button(visible=True),
        }

    def _show_more(self, visit: Visit, given: Given) -> Updates:
        if (model := given.read(self._report.model, str)) is None:
            return None
        kept = visit.do(profile_values, model)
        needed = {name.partition(".")[0] for name in self._needed.controls}
        stated = {name: value for name, value in kept.items() if name in needed}
        visit.do(edit_profile, model, stated | self._more.values(given))
        return {self._saved: inform(tr("Saved."))}

    def _cleared(self) -> Values:
        return self._form.filled({"consent": {"date": _today().isoformat()}})

    def _show_report(self, visit: Visit, model: str) -> Values:
        return {**self._report.begin(visit, model), self._place: gr.Column(visible=False)}

    def _begin_anew(self) -> Values:
        closed = {self._place: gr.Column(visible=True), self._save: gr.Button(visible=False), self._saved: silent()}
        return self._report.end() | closed

    def _go(self, there: str, visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        return self._page.go(there, voice=model, start=there == "convert") | self._cleared() | self._begin_anew()

    def _take_back(self, only_good: bool, visit: Visit, model: str | None) -> Updates:
        draft = self._report.reopen_as_draft(visit, model, only_good)
        return {**self._recordings.show(visit, draft.draft_id), **self._form.filled(draft.values), **self._begin_anew()}


def _today() -> date:
    """Return the local date."""
    return datetime.now().astimezone().date()
