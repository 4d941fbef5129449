"""The recording of the Convert tab: dropped, recorded or a sample; heard, trimmed, and told about."""

import html
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradio as gr

from engine.errors import EngineError
from studio.actions.analyses import analysis_view, cancel_analysis, start_analysis
from studio.actions.arrivals import take_upload, workplace
from studio.actions.samples import SAMPLES, take_sample
from studio.errors import NotFound, WrongState
from studio.page.parts.controls import STYLES
from studio.page.parts.element import element, shown
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.recorded import name_of, recorded

PLAYER = "convert-recording"
_POLL_S = 0.4


@dataclass(frozen=True)
class Recording:
    """The part of the tab with the recording.

    chosen: {id, start_s, stop_s} of an analysis, or None. looked_at: what was found in it, or None: {id, summary,
    pitch_histogram, settled}; settled: the settings belong to it already. kept: what the browser remembers of it.
    """

    chosen: gr.State
    looked_at: gr.State
    kept: gr.BrowserState
    outputs: list[Any]
    timer: gr.Timer

    def take(self, analysis: str, settled: bool = False) -> dict[Any, Any]:
        """Updates that put in a recording that is looked at, or is to be."""
        chosen = {"id": analysis, "start_s": None, "stop_s": None, "settled": settled}
        return {self.chosen: chosen, self.kept: chosen, self.looked_at: None, self.timer: gr.Timer(active=True)}

    def restore(self, visit: Visit, kept: dict[str, Any] | None) -> dict[Any, Any]:
        """Updates that put in what was there when the page was left, if it still is."""
        if not kept:
            return {}
        try:
            analysis_view(visit.studio, visit.account, kept["id"], visit.base_url, visit.now_s)
        except NotFound:
            return {self.kept: None}
        return {self.chosen: kept | {"settled": True}, self.timer: gr.Timer(active=True)}

    def stretch_of(self, chosen: Mapping[str, Any]) -> tuple[float, float] | None:
        """The part to convert, in seconds; None for the whole."""
        if chosen.get("start_s") is None or chosen.get("stop_s") is None:
            return None
        return chosen["start_s"], chosen["stop_s"]


def build_recording(page: Page, in_turn: dict[str, Any]) -> Recording:
    """Layout and events. in_turn: the options of events that fill the form."""
    chosen, looked_at = gr.State(None), gr.State(None)
    kept = remembered("convert-recording")
    timer = gr.Timer(_POLL_S, active=False)
    drop = gr.Audio(
        label="Recording", type="filepath", sources=["upload", "microphone"], buttons=[], editable=False,
        elem_id="convert-drop",
    )  # fmt: skip
    is_recorded = recorded(page, drop)
    with gr.Column(visible=False, elem_id="convert-taken") as taken:
        player = element("recording", events=("trimmed",), elem_id="convert-recording")
        with gr.Row(elem_classes="facts"):
            facts = gr.HTML(elem_id="convert-facts")
            closer = gr.Button("Open in Explore", size="sm", scale=0, min_width=130)
            other = gr.Button("Change recording", size="sm", scale=0, min_width=150)
    with gr.Row(visible=False, elem_classes="progress-line") as listening:
        progress = gr.HTML(elem_id="convert-listening")
        stop = gr.Button("Cancel", size="sm", scale=0, min_width=90)
    problem = notice("convert-recording-problem")
    with gr.Row(elem_classes="samples"):
        gr.HTML("<span>Or try a sample:</span>", elem_classes="samples-title")
        samples = [gr.Button(sample.title, size="sm", scale=0, min_width=110) for sample in SAMPLES]
    part = Recording(chosen, looked_at, kept, [chosen, looked_at, kept, timer], timer)

    def end_listening(visit: Visit, to: dict[str, Any] | None) -> None:
        if to:
            with suppress(NotFound, WrongState):  # it has ended
                cancel_analysis(visit.studio, visit.account, to["id"])

    def replace(visit: Visit, before: dict[str, Any] | None, analysis: str) -> dict[Any, Any]:
        """Take the new one; what was there is not listened to any further, so that nothing waits for it."""
        end_listening(visit, before)
        return part.take(analysis)

    def put_in(visit: Visit, path: str | None, was_recorded: bool, now: dict[str, Any] | None) -> Updates:
        if path is None:
            return {problem: gr.skip()}
        try:
            with workplace(visit.studio) as place:
                copy = take_upload(visit.studio, Path(path), place / "recording")
                name = name_of(path, was_recorded, visit.now_s)
                return replace(visit, now, start_analysis(visit.studio, visit.account, copy, name))
        except EngineError as error:  # room for another one
            return {problem: told_error(str(error)), drop: gr.Audio(value=None)}

    def put_in_sample(title: str) -> Any:
        return lambda visit, now: replace(visit, now, take_sample(visit.studio, visit.account, title))

    def look(visit: Visit, now: dict[str, Any] | None) -> Updates:
        if now is None:
            return {timer: gr.Timer(active=False)}
        view = analysis_view(visit.studio, visit.account, now["id"], visit.base_url, visit.now_s)
        if view["state"] in ("queued", "running"):
            text = f"Analysing {view['file_name']}"
            return {
                listening: gr.Row(visible=True),
                progress: progress_bar(view["progress"], text),
                drop: gr.Audio(value=None, visible=False),
                taken: gr.Column(visible=False),
            }
        ended = {timer: gr.Timer(active=False), listening: gr.Row(visible=False)}
        if view["state"] != "completed":
            why = view["error"] or "The analysis was cancelled."
            return ended | {
                problem: told_error(f"{view['file_name']}: {why}"),
                chosen: None, kept: None, looked_at: None,
                drop: gr.Audio(visible=True), taken: gr.Column(visible=False),
            }  # fmt: skip
        found = {name: view[name] for name in ("id", "file_name", "summary", "pitch_histogram", "roll", "duration_s")}
        return ended | {
            drop: gr.Audio(value=None, visible=False),
            taken: gr.Column(visible=True),
            player: shown(_player(view, now)),
            facts: gr.HTML(_facts(view)),
            looked_at: found | {"settled": now.get("settled", False)},
        }

    def trim(visit: Visit, told: dict[str, Any], now: dict[str, Any] | None) -> Updates:
        if now is None:
            return None
        trimmed = now | {"start_s": told["start_s"], "stop_s": told["stop_s"]}
        return {chosen: trimmed, kept: trimmed}

    def put_away(visit: Visit) -> Updates:
        return {
            chosen: None, kept: None, looked_at: None, player: shown(None), timer: gr.Timer(active=False),
            drop: gr.Audio(value=None, visible=True), taken: gr.Column(visible=False),
            listening: gr.Row(visible=False),
        }  # fmt: skip

    def give_up(visit: Visit, now: dict[str, Any] | None) -> Updates:
        end_listening(visit, now)
        return put_away(visit)

    def explore(visit: Visit, now: dict[str, Any] | None) -> Updates:
        return page.go("explore", recording=now["id"]) if now else None

    page.on(drop.input, put_in, [drop, is_recorded, chosen], [drop, *part.outputs], notice=problem, **in_turn)
    for button, sample in zip(samples, SAMPLES, strict=True):
        page.on(button.click, put_in_sample(sample.title), [chosen], part.outputs, notice=problem, **in_turn)
    outputs = [drop, taken, player, facts, listening, progress, *part.outputs]
    page.on(timer.tick, look, [chosen], outputs, notice=problem)
    page.on_data(player.trimmed, trim, [chosen], [chosen, kept], **in_turn)
    page.on(stop.click, give_up, [chosen], outputs, notice=problem, **in_turn)
    page.on(other.click, put_away, [], outputs, notice=problem, **in_turn)
    page.on(closer.click, explore, [chosen], [page.tabs, page.wishes["explore"]])
    return part


def _player(view: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    trimmed = chosen.get("start_s") is not None
    return {
        "id": PLAYER,
        "recording": view["id"],
        "tracks": [{"label": view["file_name"], "url": view["audio_url"]}],
        "trim": {"start_s": chosen["start_s"], "stop_s": chosen["stop_s"]} if trimmed else None,
    }


def _facts(view: dict[str, Any]) -> str:
    """What was found in a recording, in a line."""
    summary = view["summary"]
    voice = summary["vocal_range"]
    said = [view["file_name"], f"{view['duration_s']:.1f} s"]
    if voice is not None:
        said += [STYLES[summary["style"]].lower(), f"{voice['min']}–{voice['max']}"]  # noqa: RUF001 - from to
    else:
        said.append("silence" if summary["loudness_lufs"] is None else "no pitch found")
    if summary["loudness_lufs"] is not None:
        said.append(f"{summary['loudness_lufs']:.0f} LUFS")
    name, *rest = map(html.escape, said)
    return f"<p><b>{name}</b> · {' · '.join(rest)}</p>"
