"""The result of the Convert tab: how far it is, and then before and after, the takes in their order, and what to do
with them."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import gradio as gr

from engine.errors import EngineError
from studio.actions.downloads import offered, take_download
from studio.actions.repeats import convert_again
from studio.actions.results import result_view
from studio.actions.tasks import cancel_task
from studio.actions.voice_cards import voice_cards
from studio.errors import Invalid, NotFound, WrongState
from studio.page.parts.element import element, shown
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, sentence_of, silent, told, told_error
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar, time_left, time_until
from studio.page.tabs.convert_pitch import build_pitch
from studio.page.tabs.convert_scores import heading, kept_note, scores_table
from studio.page.tabs.pitch_editor import build_pitch_editor

_POLL_S = 0.4
_MOST_KEPT = 12
_GONE = "This result has been deleted from the history."
_MOST_BESIDE = 4  # results in other voices that are heard beside this one

Now = dict[str, Any]  # {task, recording, start_s, stop_s, label}: a conversion and what it was made from


@dataclass(frozen=True)
class Result:
    """The part of the tab with the result. now: the conversion that is shown; kept: the latest, newest first."""

    now: gr.State
    kept: gr.BrowserState
    timer: gr.Timer
    going: gr.Row
    progress: gr.HTML

    @property
    def watched(self) -> list[Any]:
        """What changes when another conversion is to be shown."""
        return [self.now, self.kept, self.timer, self.going, self.progress]

    def begun(
        self, visit: Visit, task_id: str, chosen: Mapping[str, Any], kept: Sequence[Now] | None
    ) -> dict[Any, Any]:
        """Updates that show a conversion, of the recording that is `chosen`."""
        view = result_view(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        at = time.strftime("%H.%M", time.localtime(view["created_at"]))
        now = {
            "task": task_id,
            "recording": chosen.get("id"),
            "start_s": chosen.get("start_s"),
            "stop_s": chosen.get("stop_s"),
            "label": f"{_name(view)} · {view['file_name']} · {at}",
        }
        others = [one for one in kept or [] if one["task"] != task_id]
        return {
            self.now: now,
            self.kept: [now, *others][:_MOST_KEPT],
            self.timer: gr.Timer(active=True),
            self.going: gr.Row(visible=True),
            self.progress: progress_bar(view["progress"], _how_far(view)),
        }

    def restore(self, visit: Visit, kept: Sequence[Now] | None) -> dict[Any, Any]:
        """Updates that show what was shown when this browser left."""
        return {self.now: kept[0] | {"restored": True}, self.timer: gr.Timer(active=True)} if kept else {}


def build_result(page: Page, tab: gr.Tab, progress_place: gr.Column) -> Result:
    """Layout and events. progress_place: where it is told how far it is."""
    now, tracks, played = gr.State(None), gr.State([]), gr.State(None)
    kept = remembered("convert-results", [])
    timer = gr.Timer(_POLL_S, active=False)
    with progress_place, gr.Row(visible=False) as going:
        progress = gr.HTML(elem_id="convert-bar")
        cancel = gr.Button("Cancel", size="sm", scale=0, min_width=90)
    part = Result(now, kept, timer, going, progress)
    with progress_place:
        ended = notice("convert-ended")
    with gr.Column(visible=False, elem_id="convert-result") as place:
        title = gr.HTML(elem_id="convert-title")
        player = element("player", events=("chosen", "download"), elem_id="convert-player")
        problem = notice("convert-result-problem")
        with gr.Row(elem_id="convert-next"):
            other_voice = gr.Dropdown(label="Another voice", scale=2, min_width=180)
            send = gr.Button("Convert with this voice", scale=1, min_width=150)
            earlier = gr.Dropdown(label="Earlier results", scale=2, min_width=180, visible=False)
        pitch = build_pitch(page, now)
        edited = gr.State(None)
        build_pitch_editor(page, pitch.wanted, edited)
        with gr.Accordion("Scores", open=False):
            scores = gr.HTML(elem_id="convert-scores")

    def watch(visit: Visit, of: Now | None, before: Sequence[Now]) -> Updates:
        if of is None:
            return {timer: gr.Timer(active=False)}
        try:
            view = result_view(visit.studio, visit.account, of["task"], visit.base_url, visit.now_s)
        except NotFound:  # it was deleted in the history
            return gone(of, before) | {ended: silent()}
        if view["state"] in ("queued", "running"):
            bar = progress_bar(view["progress"], _how_far(view))
            return {going: gr.Row(visible=True), progress: bar, ended: silent()}
        over = {timer: gr.Timer(active=False), going: gr.Row(visible=False)}
        if view["state"] == "cancelled":
            return over | {ended: told("The conversion was cancelled.")}
        if view["state"] == "failed":
            return over | {ended: told_error(view["error"])}
        if view["note"]:
            return over | {ended: told(view["note"]), place: gr.Column(visible=False)}
        return over | {ended: silent()} | show(visit, view, of, before)

    def gone(of: Now, before: Sequence[Now]) -> dict[Any, Any]:
        left = [one for one in before if one["task"] != of["task"]]
        still = {now: None, kept: left, timer: gr.Timer(active=False), going: gr.Row(visible=False)}
        return still | {place: gr.Column(visible=False), ended: told(_GONE)}

    def look_again(visit: Visit, of: Now | None, before: Sequence[Now]) -> Updates:
        if of is None:
            return None
        try:
            view = result_view(visit.studio, visit.account, of["task"], visit.base_url, visit.now_s)
        except NotFound:
            return gone(of, before)
        return {ended: told(view["note"]), place: gr.Column(visible=False)} if view["note"] else None

    def show(visit: Visit, view: dict[str, Any], of: Now, before: Sequence[Now]) -> dict[Any, Any]:
        beside = _beside(visit, of, before)
        heard = [{"task": None, "take": 0}, *_heard(view), *(_heard(one)[0] for one in beside)]
        data = {
            "id": f"convert-{view['id']}",
            "chosen": 1,
            "reveal": not of.get("restored"),
            "tracks": _told_apart(
                [
                    {"label": "Before", "url": view["input_url"]},
                    *(_track(view, take) for take in view["takes"]),
                    *(_track(one, one["takes"][0], _name(one)) for one in beside),
                ]
            ),
        }
        voices = voice_cards(visit.studio, visit.account, visit.base_url, visit.now_s)
        others = sorted((one for one in voices if one["id"] != view["model"]), key=lambda one: one["untrained"])
        choices = [(f"{one['name']} (untrained)" if one["untrained"] else one["name"], one["id"]) for one in others]
        labels = [(one["label"], one["task"]) for one in before]
        return {
            place: gr.Column(visible=True),
            title: heading(view),
            player: shown(data),
            played: data,
            tracks: heard,
            scores: scores_table(view["takes"]),
            other_voice: gr.Dropdown(choices=choices, value=choices[0][1] if choices else None),
            earlier: gr.Dropdown(choices=labels, value=of["task"], visible=len(labels) > 1),
            **pitch.look(view, heard[1]["take"]),
        }

    def choose(visit: Visit, told_: dict[str, Any], heard: list[dict[str, Any]]) -> Updates:
        one = heard[told_["index"]] if told_["index"] < len(heard) else None
        if not one or one["task"] is None:
            return None
        view = result_view(visit.studio, visit.account, one["task"], visit.base_url, visit.now_s)
        return pitch.look(view, one["take"])

    def download(visit: Visit, told_: dict[str, Any], heard: list[dict[str, Any]], data: Any) -> Updates:
        index, kind = told_["index"], told_["label"]
        try:
            one = heard[index]
            made = take_download(
                visit.studio, visit.account, one["task"], one["take"], kind, visit.base_url, visit.now_s
            )
        except EngineError as error:
            return {player: shown(data), problem: told_error(sentence_of(error))}  # the button can be pressed again
        changed = [dict(track) for track in data["tracks"]]
        offers = changed[index]["downloads"]
        changed[index]["downloads"] = [one | made if one["label"] == kind else one for one in offers]
        data = {name: value for name, value in data.items() if name != "chosen"} | {"tracks": changed}
        return {player: shown(data), played: data}

    def stop(visit: Visit, of: Now | None, before: Sequence[Now]) -> Updates:
        if of:
            with suppress(NotFound, WrongState):  # it has ended
                cancel_task(visit.studio, visit.account, of["task"], visit.base_url, visit.now_s)
        return watch(visit, of, before)  # ending may take a moment

    def send_on(visit: Visit, of: Now | None, model: str | None, before: Sequence[Now]) -> Updates:
        if not of or not model:
            raise Invalid([("voice", "Choose another voice first.")])
        task_id = convert_again(visit.studio, visit.account, of["task"], model)
        return part.begun(visit, task_id, {"id": of["recording"], **of}, before)

    def show_edited(visit: Visit, task_id: str | None, of: Now | None, before: Sequence[Now]) -> Updates:
        if not task_id:
            return None
        return part.begun(visit, task_id, {"id": of["recording"], **of} if of else {}, before)

    def go_back(visit: Visit, task_id: str | None, before: Sequence[Now]) -> Updates:
        found = next((one for one in before if one["task"] == task_id), None)
        return {now: found, timer: gr.Timer(active=True)} if found else None

    results = [place, title, player, played, tracks, scores, other_voice, earlier, *pitch.outputs]
    watched = [now, kept, timer, going, progress, ended, *results]
    page.on(timer.tick, watch, [now, kept], watched)
    page.on_seen(tab, look_again, [now, kept], watched)
    page.on_data(player.chosen, choose, [tracks], pitch.outputs)
    page.on_data(player.download, download, [tracks, played], [player, played], notice=problem)
    page.on(cancel.click, stop, [now, kept], watched)
    page.on(send.click, send_on, [now, other_voice, kept], part.watched, notice=problem)
    page.on(edited.change, show_edited, [edited, now, kept], part.watched, notice=problem)
    page.on(earlier.input, go_back, [earlier, kept], [now, timer])
    return part


def _name(view: dict[str, Any]) -> str:
    told = ["untrained"] if view["untrained"] else []
    told += ["edited"] if view["edited"] else []
    return ", ".join([str(view["voice"]), *told])


def _how_far(view: dict[str, Any]) -> str:
    """What is going on with a conversion that has not ended, in a line."""
    if view["is_ending"]:
        return "Cancelling"
    if view["state"] != "running":
        if not view["ahead"]:
            return "Starting"
        before_it = f"Waiting: {view['ahead']} ahead"
        return ", ".join(filter(None, [before_it, time_until(view["starts_in_s"])]))
    said = [f"{view['message'] or 'converting'} {100 * view['progress']:.0f} %".capitalize(), time_left(view["left_s"])]
    return ", ".join(filter(None, said))


def _beside(visit: Visit, of: Now, before: Sequence[Now]) -> list[dict[str, Any]]:
    """Other results of the same recording, to be heard in turn with this one."""
    found: list[dict[str, Any]] = []
    source = [of[name] for name in ("recording", "start_s", "stop_s")]
    for one in before:
        if one["task"] == of["task"] or not of["recording"] or len(found) == _MOST_BESIDE:
            continue
        if [one[name] for name in ("recording", "start_s", "stop_s")] == source:
            try:
                view = result_view(visit.studio, visit.account, one["task"], visit.base_url, visit.now_s)
            except NotFound:
                continue
            found += [view] if view["takes"] else []
    return found


def _told_apart(tracks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tracks, of which a second with the same label is numbered."""
    counted: Counter[str] = Counter()
    for track in tracks:
        counted[track["label"]] += 1
        if counted[track["label"]] > 1:
            track["label"] = f"{track['label']} ({counted[track['label']]})"
    return tracks


def _heard(view: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"task": view["id"], "take": take["number"]} for take in view["takes"]]


def _track(view: dict[str, Any], take: dict[str, Any], label: str | None = None) -> dict[str, Any]:
    several = len(view["takes"]) > 1
    is_best = several and take is view["takes"][0] and label is None
    return {
        "label": label or (f"Take {take['number']}" if several else _name(view)),
        "url": take["url"],
        "note": kept_note(take["mark"], is_best),
        "downloads": offered(),
    }
