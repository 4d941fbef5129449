"""Hear a changed effect on the take that is there, without converting again."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import gradio as gr

from engine.errors import AudioError
from studio.actions.downloads import load_effects, take_with_effects
from studio.page.parts.page import LATEST, Page, Updates, Visit
from studio.page.tabs.convert_effects import EffectControls
from studio.page.tabs.convert_takes import Takes
from studio.page.tabs.instrument import brought


def hear_effects(page: Page, effects: EffectControls, takes: Takes, instrument: gr.HTML) -> None:
    """Wire the controls of the effects to the takes: the chosen one is heard with them at once, and another one as soon
    as it is chosen."""
    chosen = gr.State(1)  # the track that is heard, 0 for the recording
    known = {takes.tracks, takes.brought, takes.effects, chosen, *effects.controls}

    def prepare(visit: Visit) -> None:
        """Load what the effects need once there is a take to hear them on, where they will be applied."""
        with suppress(AudioError):  # it is said when one is chosen
            visit.apart(load_effects)

    def hear(visit: Visit, given: Mapping[Any, Any]) -> Updates:
        """Bring the take with the effects as they are set now."""
        return _heard(visit, given, max(1, given[chosen]), effects.chosen(given))

    def turn(visit: Visit, event: Mapping[str, Any], given: Mapping[Any, Any]) -> Updates:
        """Bring the take that was turned to, with the effects that are being tried."""
        index = int(event["index"])
        tried = given[takes.effects]
        updates = {} if tried is None or index == 0 else _heard(visit, given, index, tried)
        return updates | {chosen: index}

    def _heard(visit: Visit, given: Mapping[Any, Any], index: int, tried: Any) -> dict[Any, Any]:
        tracks, data = given[takes.tracks], given[takes.brought]
        if not data or not 1 <= index < len(tracks):
            return {}
        track = tracks[index]
        made = visit.apart(
            take_with_effects, visit.account, track["task"], track["take"], tried, visit.base_url, visit.now_s
        )
        lanes = [dict(lane) for lane in data["tracks"]]
        offers = [{"label": one["label"]} for one in lanes[index - 1]["downloads"]]  # not those with other effects
        lanes[index - 1] |= {"url": made["url"], "downloads": offers}
        data = {name: value for name, value in data.items() if name != "chosen"} | {"tracks": lanes}
        return {takes.part: brought("takes", data), takes.brought: data, takes.effects: tried}

    page.on(takes.tracks.change, prepare)
    changed = [takes.part, takes.brought, takes.effects]
    for event in effects.changes:
        page.on(event, hear, known, changed, notice=takes.problem, trigger_mode="always_last")
    page.on_data(instrument.chosen, turn, known, [*changed, chosen], notice=takes.problem, **LATEST)
