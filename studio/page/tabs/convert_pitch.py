"""Pitch of recording and take over the take's spectrogram, and the place where the take's pitch is edited."""

from dataclasses import dataclass
from typing import Any

import gradio as gr

from studio.actions.analyses import analysis_view
from studio.actions.repeats import look_at_recording, look_at_take
from studio.errors import NotFound
from studio.page.parts.element import element, shown
from studio.page.parts.notice import notice, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar

INPUT_COLOUR, OUTPUT_COLOUR = "#8a94a0", "#d6246e"
_POLL_S = 0.4


@dataclass(frozen=True)
class Pitch:
    """The part of the result with the pitch.

    wanted: the take that is to be drawn, {task, take, range}, with the id of its `analysis` once it is drawn; or None.
    """

    wanted: gr.State
    timer: gr.Timer

    @property
    def outputs(self) -> list[Any]:
        """What changes when another take is looked at."""
        return [self.wanted, self.timer]

    def look(self, view: dict[str, Any], take: int) -> dict[Any, Any]:
        """Updates that have a take drawn, as `result_view` gives its task."""
        wanted = {"task": view["id"], "take": take, "range": view["range"], "of": len(view["takes"])}
        return {self.wanted: wanted, self.timer: gr.Timer(active=True)}


def build_pitch(page: Page, now: gr.State) -> Pitch:
    """Layout and events. now: the conversion that is shown."""
    wanted, looks = gr.State(None), gr.State({})  # looks: the analyses that were made, by what they are of
    timer = gr.Timer(_POLL_S, active=False)
    progress = gr.HTML(visible=False, elem_id="convert-drawing")
    roll = element("roll", elem_id="convert-roll")
    problem = notice("convert-roll-problem")

    def draw(visit: Visit, what: dict[str, Any] | None, of: dict[str, Any] | None, known: dict[str, str]) -> Updates:
        still = {timer: gr.Timer(active=False), progress: gr.HTML(visible=False)}
        if what is None or of is None:
            return still | {roll: shown(None)}
        task_id, take = what["task"], what["take"]
        of_recording, of_take = f"{of['task']} recording", f"{task_id} {take}"
        names = {of_recording: of["recording"]} if of["recording"] else {}
        made = {**names, **known}
        for name, look in (
            (of_recording, lambda: look_at_recording(visit.studio, visit.account, task_id)),
            (of_take, lambda: look_at_take(visit.studio, visit.account, task_id, take)),
        ):
            made[name] = _looked_at(visit, made.get(name)) or look()
        views = [
            analysis_view(visit.studio, visit.account, made[name], visit.base_url, visit.now_s)
            for name in (of_recording, of_take)
        ]
        if any(view["state"] in ("queued", "running") for view in views):
            share = sum(view["progress"] for view in views) / len(views)
            return {looks: made, progress: gr.HTML(progress_bar(share, "Analysing the pitch"), visible=True)}
        if any(view["state"] != "completed" for view in views):
            why = next(view["error"] for view in views if view["state"] != "completed")
            return still | {problem: told_error(f"The pitch cannot be shown. {why or ''}".strip())}
        # a recording that is trimmed begins later than its analysis
        trimmed_s = (of["start_s"] or 0.0) if made[of_recording] == of["recording"] else 0.0
        drawn = _roll(views[0], views[1], what, f"convert-{of['task']}", trimmed_s)
        return still | {looks: made, roll: shown(drawn), wanted: what | {"analysis": made[of_take]}}

    page.on(timer.tick, draw, [wanted, now, looks], [timer, progress, roll, looks, wanted], notice=problem)
    return Pitch(wanted, timer)


def _looked_at(visit: Visit, analysis: str | None) -> str | None:
    """The analysis, if it is still there: they are kept for a day."""
    if analysis is None:
        return None
    try:
        analysis_view(visit.studio, visit.account, analysis, visit.base_url, visit.now_s)
    except NotFound:
        return None
    return analysis


def _roll(
    recording: dict[str, Any], take: dict[str, Any], what: dict[str, Any], player: str, trimmed_s: float
) -> dict[str, Any]:
    """Data of <timbre-roll>: both curves over the take's spectrogram."""
    before, after = recording["roll"]["curves"][0], take["roll"]["curves"][0]
    return take["roll"] | {
        "id": f"convert-roll-{what['task']}-{what['take']}",
        "follows": player,
        "range": what["range"],
        "shown": ["range"],
        "curves": [
            before | {"label": "Recording", "colour": INPUT_COLOUR, "offset_s": -trimmed_s},
            after | {"label": "Take", "colour": OUTPUT_COLOUR},
        ],
    }
