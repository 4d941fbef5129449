"""The Voices tab: the library: heard, looked at, changed, carried elsewhere, blended and deleted."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr

from studio.actions.arrivals import refuse_large
from studio.actions.creations import examine_again
from studio.actions.packages import import_model
from studio.actions.voice_cards import voice_cards, voice_details
from studio.actions.voices import delete_model
from studio.errors import NotFound
from studio.page.parts.element import element, shown
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, told
from studio.page.parts.page import Page, Updates, Visit
from studio.page.tabs.voices_blend import build_blend
from studio.page.tabs.voices_edit import build_edit
from studio.page.tabs.voices_moments import build_moments
from studio.page.tabs.voices_panel import build_details, build_panel
from studio.page.tabs.voices_report import BADGES

# what shows a voice is done one after the other, so that the last that was asked for is shown
IN_TURN: dict[str, Any] = {"concurrency_id": "voices", "concurrency_limit": 1}
_POLL_S = 2.0
_GONE = "This voice is no longer here."


def build_voices_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    chosen = remembered("voices")
    # what is shown of all voices and of the chosen one, as far as it changes by itself or in another window
    listed, looked_at = gr.State(None), gr.State(None)
    timer = gr.Timer(_POLL_S, active=False)
    with gr.Row(elem_id="voices", equal_height=False):
        with gr.Column(scale=4, min_width=320):
            with gr.Row(elem_id="voices-begin"):
                bring = gr.UploadButton("Import", file_types=[".zip"], size="sm", min_width=90, elem_id="voices-import")
                to_blend = gr.Button("Blend two", size="sm", min_width=90, elem_id="voices-to-blend")
                create = gr.Button("New voice", size="sm", min_width=90, elem_id="voices-create")
            said = notice("voices-notice")
            blend = build_blend(page, to_blend)
            cards = element("voices", events=("chosen",), elem_id="voices-cards")
        with gr.Column(scale=7, min_width=320, elem_id="voices-panel"):
            panel = build_panel()
            edit = build_edit(page, chosen)
            details = build_details()
            moments = build_moments(page, chosen)

    def library(visit: Visit, model: str | None) -> dict[Any, Any]:
        """Updates that show the voices there are, and this one of them, or the first."""
        voices = voice_cards(visit.studio, visit.account, visit.base_url, visit.now_s, ready_only=False)
        known = [voice["id"] for voice in voices]
        model = model if model is not None and model in known else str(known[0])  # the demo voices are always there
        return {chosen: model, **listing(voices, model), **one(visit, model)}

    def listing(voices: Sequence[dict[str, Any]], model: str | None) -> dict[Any, Any]:
        """Updates that show the cards, this one chosen or, where it is None, the one that is."""
        told_states = [voice | {"state": BADGES.get(voice["state"], voice["state"])} for voice in voices]
        data = {"voices": told_states, **({"chosen": model} if model else {})}
        return {cards: shown(data), **blend.offered(voices), listed: _changing(voices)}

    def one(visit: Visit, model: str) -> dict[Any, Any]:
        """Updates that show a voice. Raises NotFound."""
        voice = voice_details(visit.studio, visit.account, model, visit.base_url, visit.now_s)
        return {**known_of(visit, voice), **edit.offer(voice)}

    def known_of(visit: Visit, voice: Mapping[str, Any]) -> dict[Any, Any]:
        return {
            **panel.show(voice), **details.show(visit, voice), **moments.show(visit, voice),
            looked_at: _changing([voice]), timer: gr.Timer(active=True),  # it stops by itself where nothing is going on
        }  # fmt: skip

    def look_again(visit: Visit, model: str | None, listed_before: Any, looked_at_before: Any) -> Updates:
        """What is another by now than is shown; what somebody plays, searches or writes is left alone."""
        if model is None or (looked_at_before and looked_at_before[0][0] != model):  # another was chosen meanwhile
            return None
        voices = voice_cards(visit.studio, visit.account, visit.base_url, visit.now_s, ready_only=False)
        if model not in [voice["id"] for voice in voices]:
            return library(visit, None) | {said: told(_GONE)}
        updates = listing(voices, None) if _changing(voices) != listed_before else {}
        voice = voice_details(visit.studio, visit.account, model, visit.base_url, visit.now_s)
        if _changing([voice]) != looked_at_before:
            updates |= known_of(visit, voice) | edit.offered(voice)
        return updates | {timer: gr.Timer(active=_is_busy(voice) or any(map(_is_busy, voices)))}

    def leave(visit: Visit, to: dict[str, Any]) -> Updates:
        return {timer: gr.Timer(active=False)} if to.get("value") != tab.label else None

    def choose(visit: Visit, data: dict[str, Any]) -> Updates:
        try:
            return {chosen: data["id"], **one(visit, str(data["id"]))}
        except NotFound:
            return library(visit, None) | {said: told(_GONE)}

    def come(visit: Visit, model: str | None, wish: dict[str, Any] | None) -> Updates:
        return library(visit, visit.just_wished(wish).get("voice") or model)

    def take_in(visit: Visit, package: str | None) -> Updates:
        if package is None:
            return None
        refuse_large(visit.studio, Path(package))
        model = import_model(visit.studio, visit.account, Path(package))
        voice = voice_details(visit.studio, visit.account, model, "", visit.now_s)
        stated = f"Licence: {voice['licence'] or 'not stated'}; made from: {voice['source'] or 'not stated'}."
        return library(visit, model) | {said: told(f"{voice['name']} is here now. {stated}")}

    def save(visit: Visit, given: dict[Any, Any]) -> Updates:
        if given[chosen] is None:
            return None
        edit.save(visit, given, given[chosen])
        return library(visit, given[chosen])

    def delete(visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        delete_model(visit.studio, visit.account, model)
        return library(visit, None) | {said: told("The voice is deleted.")}

    def examine(visit: Visit, model: str | None) -> Updates:
        if model is None:
            return None
        examine_again(visit.studio, visit.account, model)
        return library(visit, model)

    def take_moment(visit: Visit, model: str | None, epoch: int | None) -> Updates:
        sentence = moments.take(visit, model, epoch)
        return library(visit, model) | {moments.said: told(sentence)}

    def blended(visit: Visit, task: str | None) -> Updates:
        updates, new = blend.look(visit, task)
        return updates | library(visit, new) | {said: told("The blend is ready: hear it.")} if new else updates

    all_of_it = [
        chosen, cards, listed, looked_at, timer, *panel.outputs, *edit.outputs, *details.outputs, *moments.outputs,
        *blend.choices,
    ]  # fmt: skip
    wish = page.wishes["voices"]
    page.on(tab.select, come, [chosen, wish], all_of_it, notice=said, **IN_TURN)
    page.on(wish.change, come, [chosen, wish], all_of_it, notice=said, **IN_TURN)
    for again in (partial(page.on, timer.tick), partial(page.on_return, tab)):
        again(look_again, [chosen, listed, looked_at], [*all_of_it, said], trigger_mode="once", **IN_TURN)
    page.on_data(page.tabs.select, leave, [], [timer])
    page.on_data(cards.chosen, choose, [], all_of_it, notice=said, **IN_TURN)
    page.on(bring.upload, take_in, [bring], all_of_it, notice=said, show_progress="minimal", **IN_TURN)
    page.on(edit.sure.click, save, {chosen, *edit.form.components}, all_of_it, notice=edit.problem, **IN_TURN)
    page.on(details.examine.click, examine, [chosen], all_of_it, notice=said, **IN_TURN)
    page.on(edit.delete.click, delete, [chosen], [*all_of_it, said], notice=edit.problem, **IN_TURN)
    page.on(moments.choose.click, take_moment, [chosen, moments.heard], all_of_it, notice=moments.said, **IN_TURN)
    page.on(
        blend.timer.tick, blended, [blend.task], [*all_of_it, *blend.outputs, said],
        notice=blend.problem, trigger_mode="once", **IN_TURN,
    )  # fmt: skip
    for button, there in ((panel.convert, "convert"), (panel.train, "train")):
        page.on(
            button.click, lambda visit, model, there=there: page.go(there, voice=model) if model else None,
            [chosen], [page.tabs, page.wishes[there]],
        )  # fmt: skip
    page.on(create.click, lambda visit: {page.tabs: gr.Tabs(selected="create")}, [], [page.tabs])


def _changing(voices: Sequence[Mapping[str, Any]]) -> list[list[Any]]:
    """What is another one when a voice was changed, or a worker is done with it."""
    return [[voice["id"], voice["name"], voice["state"], voice.get("data_report") is None] for voice in voices]


def _is_busy(voice: Mapping[str, Any]) -> bool:
    """Whether a worker may have it: it is in training, or its recordings are to be examined."""
    unexamined = voice.get("has_recordings") and voice["data_report"] is None
    return voice["state"] == "training" or bool(unexamined)
