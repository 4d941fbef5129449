"""The pitch of a take beside the recording's, and its spectrogram: layers of the instrument."""

from dataclasses import dataclass, replace

import gradio as gr
from gradio.blocks import Block

from engine.texts import joined, tr
from studio.actions.analysis_views import AnalysisView, NamedRange
from studio.actions.conversions.conversion import look_at_recording, look_at_take
from studio.actions.conversions.takes import ResultView
from studio.page.convert.instrument import brought, part
from studio.page.convert.state import Chosen, Now
from studio.page.parts import analyses
from studio.page.parts.element_data import ShownRoll
from studio.page.parts.notice import notice, show_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.values import Values
from studio.page.parts.watched_task import WatchedTask

_INPUT_COLOUR, _OUTPUT_COLOUR = "#8a94a0", "#d6246e"
_POLL_S = 0.4


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """The take to draw, of so many; range: of its voice; first_s: how much earlier than its recording a song begins."""

    task: str
    take: int
    range: NamedRange | None
    of: int
    first_s: float


class Pitch:
    """The part of the result with the pitch.

    wanted: the take to draw, `Wanted` or None.
    """

    def __init__(self, page: Page, now: gr.State) -> None:
        self.wanted, self.known = gr.State(None), gr.State({})  # known: ids of analyses, by what they are of
        self.watching = WatchedTask(_POLL_S)
        self.progress = gr.HTML(visible=False, elem_id="convert-drawing")
        self.part = part()
        self.problem = notice("convert-roll-problem")
        outputs = [self.watching.timer, self.progress, self.part, self.known]
        self.watching.wire(page, self.draw, [self.wanted, now, self.known], outputs, notice=self.problem)

    @property
    def outputs(self) -> list[Block]:
        """What changes when another take is chosen."""
        return [self.wanted, self.watching.timer]

    def look(self, view: ResultView, take: int) -> Values:
        """Return updates that draw a take of a conversion, as `result_view` gives it."""
        wanted = Wanted(task=view.id, take=take, range=view.range, of=len(view.takes), first_s=max(0.0, view.offset_s))
        return {self.wanted: wanted, **self.watching.begin()}

    def make_way(self, visit: Visit, chosen: Chosen | None, known: dict[str, str]) -> Updates:
        """Stop analyses of earlier takes for a new recording, whose analysis the visitor waits for; `draw` starts them
        again behind it."""
        if chosen and not chosen["settled"] and chosen["start_s"] is None:
            for analysis in set(known.values()) - {chosen["id"]}:
                analyses.cancel(visit, analysis)
        return None

    def draw(self, visit: Visit, wanted: Wanted | None, now: Now | None, known: dict[str, str | None]) -> Updates:
        still: Values = {**self.watching.end(), self.progress: gr.HTML(visible=False)}
        if wanted is None or now is None:
            return still | {self.part: brought("pitch", None)}
        task_id, take = wanted.task, wanted.take
        of_recording, of_take = f"{now['task']} recording", f"{task_id} {take}"
        known = {of_recording: now["recording"]} | known
        recording = _lasting(visit, known.get(of_recording)) or analyses.view(
            visit, visit.do(look_at_recording, task_id)
        )
        taken = _lasting(visit, known.get(of_take)) or analyses.view(visit, visit.do(look_at_take, task_id, take))
        views = (recording, taken)
        found: Values = {self.known: known | {of_recording: recording.id, of_take: taken.id}}
        if any(view.state in analyses.BUSY for view in views):
            share = sum(view.progress for view in views) / len(views)
            return found | {self.progress: gr.HTML(progress_bar(share, tr("Analysing the pitch")), visible=True)}
        if failed := [view for view in views if view.state != "completed"]:
            why = joined(" ", filter(None, [tr("The pitch cannot be shown."), failed[0].error]))
            return still | {self.problem: show_error(why)}
        # a recording that is trimmed begins later than its analysis
        trimmed_s = (now["start_s"] or 0.0) if recording.id == now["recording"] else 0.0
        drawn = {"of": f"{task_id} {take}", "roll": _roll(recording, taken, wanted, trimmed_s - wanted.first_s)}
        return still | found | {self.part: brought("pitch", drawn)}


def _lasting(visit: Visit, analysis: str | None) -> AnalysisView | None:
    found = analyses.find(visit, analysis)
    return None if found and found.state == "cancelled" else found


def _roll(recording: AnalysisView, take: AnalysisView, wanted: Wanted, trimmed_s: float) -> ShownRoll:
    """Return the data of <timbre-roll>: both curves over the take's spectrogram."""
    assert recording.roll is not None  # of analyses that are completed
    assert take.roll is not None
    before, after = recording.roll.curves[0], take.roll.curves[0]
    curves = [
        replace(before, label=tr("Recording"), colour=_INPUT_COLOUR, offset_s=-trimmed_s),
        replace(after, label=tr("Take"), colour=_OUTPUT_COLOUR),
    ]
    return ShownRoll(**vars(replace(take.roll, range=wanted.range, curves=curves)), shown=["range", "notes"])
