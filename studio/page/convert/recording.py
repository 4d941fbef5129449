"""The recording of the Convert tab: uploaded, recorded or a sample; to be heard and trimmed, with what was found."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import gradio as gr
from gradio.blocks import Block

from engine.errors import EngineError
from engine.texts import joined, tr
from studio.actions.analyses import take_sample
from studio.actions.analysis_views import AnalysisView, RollData
from studio.page.convert.instrument import brought, instrument, part
from studio.page.convert.layout import Layout
from studio.page.convert.state import Analysed, Chosen
from studio.page.parts import analyses
from studio.page.parts.browser_memory import remembered
from studio.page.parts.controls import STYLES
from studio.page.parts.markup import markup
from studio.page.parts.notice import notice, show_error
from studio.page.parts.numbers import duration_text, signed
from studio.page.parts.page import LATEST, InTurn, Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.recorder import recorder
from studio.page.parts.sample_row import sample_row
from studio.page.parts.track_choice import shown_choice, track_choice
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask
from studio.store.records.codec import Record

# what fills the form is done one after the other, so that nobody is too quick for it
IN_TURN: InTurn = {"concurrency_id": "convert", "concurrency_limit": 1}
_POLL_S = 0.4

Stretch = Mapping[Literal["start_s", "stop_s"], float | None]  # what the instrument tells


@dataclass(frozen=True, kw_only=True)
class _Lane(Record):
    """The recording in the instrument."""

    id: str
    label: str
    url: str
    duration_s: float
    roll: RollData | None
    trim: Stretch | None


class Recording:
    """The part of the tab with the recording.

    chosen: {id, start_s, stop_s, settled} of an analysis, or None; settled: the settings belong to it already.
    analysed: what was found in it, or None: {id, summary, pitch_histogram, ..., settled}. kept: what the browser
    remembers of it.
    """

    def __init__(self, page: Page, layout: Layout) -> None:
        self.page = page
        self.chosen, self.analysed = page.recording, gr.State(None)
        self.kept = remembered("convert-recording")
        self.watching = WatchedTask(_POLL_S)
        with layout.head:
            self.drop = gr.Audio(
                label=tr("Recording"), type="filepath", sources=["upload"], buttons=[], editable=False,
                elem_id="convert-drop",
            )  # fmt: skip
            recorder(page, "convert-drop")
            with gr.Row(visible=False, elem_classes="facts", elem_id="convert-taken") as self.taken:
                self.facts = gr.HTML(elem_id="convert-facts")
                self.track = track_choice("convert-track")
                self.explore = gr.Button(
                    tr("Open in Explore"), size="sm", scale=0, min_width=100, elem_id="convert-explore"
                )
                self.change = gr.Button(
                    tr("Replace vocal"), size="sm", scale=0, min_width=100, elem_id="convert-change"
                )
            with gr.Row(visible=False, elem_classes="progress-line") as self.analysing:
                self.progress = gr.HTML(elem_id="convert-listening")
                self.cancel = gr.Button(tr("Cancel"), size="sm", scale=0, min_width=90, elem_id="convert-give-up")
        with layout.notices:
            self.problem = notice("convert-recording-problem")
        with layout.stage:
            self.instrument, self.part = instrument(), part()
        with layout.result:
            self.offered, self.samples = sample_row()
        self._wire()

    def _wire(self) -> None:
        page, problem, chosen = self.page, self.problem, self.chosen
        uploaded = [self.drop, chosen]
        page.on(self.drop.input, self.put_in, uploaded, [self.drop, *self.outputs], notice=problem, **IN_TURN)
        for title, button in self.samples.items():
            page.on(button.click, self.put_in_sample(title), [chosen], self.outputs, notice=problem, **IN_TURN)
        outputs = [self.drop, self.offered, self.taken, self.part, self.facts, self.track, self.analysing]
        outputs += [self.progress, *self.outputs]
        self.watching.wire(page, self.look, [chosen], outputs, notice=problem)
        trimmed = page.on_data(self.instrument.trimmed, self.trim, [chosen], [chosen, self.kept], **IN_TURN, **LATEST)
        self.part_chosen = trimmed.then
        page.on(self.cancel.click, self.give_up, [chosen], outputs, notice=problem, **IN_TURN)
        page.on(self.track.input, self.change_track, [self.track, chosen], self.outputs, notice=problem, **IN_TURN)
        page.on(self.change.click, self.put_away, [], outputs, notice=problem, **IN_TURN)
        page.on(self.explore.click, self.go_and_explore, [chosen], [page.tabs, page.wishes["explore"]])

    @property
    def outputs(self) -> list[Block]:
        """What changes when another recording is taken."""
        return [self.chosen, self.analysed, self.kept, self.watching.timer]

    def take(self, analysis: str, settled: bool = False) -> Values:
        """Return updates that take a recording, whose analysis may still be running."""
        chosen: Chosen = {"id": analysis, "start_s": None, "stop_s": None, "settled": settled}
        return {self.chosen: chosen, self.kept: chosen, self.analysed: None, **self.watching.begin()}

    def restore(self, visit: Visit, kept: Chosen | None) -> Values:
        """Return updates that take what this browser had when it left, if it is still there."""
        if not kept or analyses.find(visit, kept["id"]) is None:
            return {self.part: brought("away", None)}
        return {self.chosen: {**kept, "settled": True}, **self.watching.begin()}

    def stretch_of(self, chosen: Chosen) -> tuple[float, float] | None:
        """Return the part to convert, in seconds; None for the whole."""
        start_s, stop_s = chosen["start_s"], chosen["stop_s"]
        return None if start_s is None or stop_s is None else (start_s, stop_s)

    def put_in(self, visit: Visit, path: str | None, now: Chosen | None) -> Updates:
        if path is None:
            return {self.problem: gr.skip()}
        try:
            return self._replace(visit, now, analyses.start(visit, path))
        except EngineError as error:  # room for another one
            return {self.problem: show_error(str(error)), self.drop: gr.Audio(value=None)}

    def put_in_sample(self, title: str) -> Callable[..., Updates]:
        return lambda visit, now: self._replace(visit, now, visit.do(take_sample, title))

    def look(self, visit: Visit, now: Chosen | None) -> Updates:
        if now is None:
            return self.watching.end()
        view = analyses.view(visit, now["id"])
        if view.state in analyses.BUSY:
            return {
                self.analysing: gr.Row(visible=True),
                self.progress: progress_bar(view.progress, analyses.progress_line(view)),
                self.drop: gr.Audio(value=None, visible=False),
                self.taken: gr.Row(visible=False),
                self.offered: gr.Row(visible=False),
                self.part: brought("away", True),
            }
        if view.state != "completed":
            why = view.error or tr("The analysis was cancelled.")
            return self._nothing() | {self.problem: show_error(joined(": ", (view.file_name, why)))}
        return {
            **self.watching.end(),
            self.analysing: gr.Row(visible=False),
            self.drop: gr.Audio(value=None, visible=False),
            self.offered: gr.Row(visible=False),
            self.taken: gr.Row(visible=True),
            self.part: brought("recording", _lane(view, now)),
            self.facts: gr.HTML(_facts(view)),
            self.track: shown_choice(view),
            self.analysed: _found(view, now.get("settled", False)),
        }

    def change_track(self, visit: Visit, track: int, now: Chosen | None) -> Updates:
        """Take another sound track of the recording."""
        return self._replace(visit, now, analyses.change_track(visit, now["id"], track)) if now else None

    def trim(self, visit: Visit, stretch: Stretch, now: Chosen | None) -> Updates:
        if now is None:
            return None
        trimmed: Chosen = {**now, "start_s": stretch["start_s"], "stop_s": stretch["stop_s"]}
        return {self.chosen: trimmed, self.kept: trimmed}

    def put_away(self, visit: Visit) -> Updates:
        return self._nothing() | {self.drop: gr.Audio(value=None, visible=True)}

    def give_up(self, visit: Visit, now: Chosen | None) -> Updates:
        analyses.cancel(visit, now["id"] if now else None)
        return self.put_away(visit)

    def go_and_explore(self, visit: Visit, now: Chosen | None) -> Updates:
        return self.page.go("explore", recording=now["id"]) if now else None

    def _replace(self, visit: Visit, before: Chosen | None, analysis: str) -> Values:
        """Take another recording; the analysis of the one before is cancelled, so that nothing waits for it."""
        analyses.cancel(visit, before["id"] if before else None)
        return self.take(analysis)

    def _nothing(self) -> Values:
        """Return updates that wait for a recording again."""
        offered: Values = {self.drop: gr.Audio(visible=True), self.offered: gr.Row(visible=True)}
        hidden: Values = {self.taken: gr.Row(visible=False), self.analysing: gr.Row(visible=False)}
        forgotten: Values = {self.chosen: None, self.kept: None, self.analysed: None, self.part: brought("away", True)}
        return forgotten | self.watching.end() | offered | hidden


def _found(view: AnalysisView, settled: bool) -> Analysed:
    """Return what other parts of the tab need of an analysis."""
    return Analysed(
        id=view.id,
        file_name=view.file_name,
        summary=view.summary,
        pitch_histogram=view.pitch_histogram,
        roll=view.roll,
        duration_s=view.duration_s,
        settled=settled,
    )


def _lane(view: AnalysisView, chosen: Chosen) -> _Lane:
    trimmed: Stretch = {"start_s": chosen["start_s"], "stop_s": chosen["stop_s"]}
    return _Lane(
        id=view.id,
        label=tr("Original"),
        url=view.audio_url,
        duration_s=view.duration_s,
        roll=view.roll,
        trim=trimmed if chosen.get("start_s") is not None else None,
    )


def _facts(view: AnalysisView) -> str:
    """Return what was found in a recording, in a line of HTML."""
    summary = view.summary
    assert summary is not None  # of an analysis that is completed
    voice, loudness = summary.vocal_range, summary.loudness_lufs
    facts = [view.file_name, duration_text(view.duration_s)]
    if voice is not None:
        facts += [STYLES[summary.style], f"{voice.min}–{voice.max}"]  # noqa: RUF001 - from to
    else:
        facts.append(tr("silence") if loudness is None else tr("no pitch found"))
    if loudness is not None:
        facts.append(tr("{loudness} LUFS", loudness=signed(loudness)))
    name, *rest = facts
    return f'<p><b translate="no">{markup(name)}</b><span> · </span>{markup(joined(" · ", rest))}</p>'
