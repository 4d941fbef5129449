"""Hear a changed effect on the take that is there, without converting again."""

from contextlib import suppress
from dataclasses import replace

import gradio as gr

from engine.effects.settings import Effects
from engine.errors import AudioError
from studio.actions.conversions.downloads import load_effects, take_with_effects
from studio.page.convert.effects import EffectControls
from studio.page.convert.instrument import brought
from studio.page.convert.takes import Brought, Takes, TrackOf, without_links
from studio.page.parts.element_data import ChosenTrack
from studio.page.parts.page import LATEST, Page, Updates, Visit
from studio.page.parts.values import Given, Values


def preview_effects(page: Page, effects: EffectControls, takes: Takes, instrument: gr.HTML) -> None:
    """Wire the controls of the effects to the takes: the chosen one is heard with them at once, and another one as soon
    as it is chosen."""
    chosen = gr.State(1)  # the track that is heard, 0 for the recording
    known = {takes.tracks, takes.brought, takes.effects, chosen, *effects.controls}

    def prepare(visit: Visit) -> None:
        """Load what the effects need once there is a take to hear them on, where they will be applied."""
        with suppress(AudioError):  # it is said when one is chosen
            visit.do(load_effects)

    def preview(visit: Visit, given: Given) -> Updates:
        """Bring the take with the effects as they are set now."""
        return _with_effects(visit, given, max(1, int(given.number(chosen))), effects.chosen(given))

    def turn(visit: Visit, event: ChosenTrack, given: Given) -> Updates:
        """Bring the take that was turned to, with the effects that are being tried."""
        index = int(event["index"])
        tried = given[takes.effects]
        if index == 0 or not isinstance(tried, str | dict):
            return {chosen: index}
        return _with_effects(visit, given, index, tried) | {chosen: index}

    def _with_effects(visit: Visit, given: Given, index: int, tried: Effects) -> Values:
        tracks, data = given.read(takes.tracks, list[TrackOf]) or [], given.read(takes.brought, Brought)
        if not data or not 1 <= index < len(tracks):
            return {}
        track = tracks[index]
        made = visit.do(take_with_effects, track.task or "", track.take, tried, visit.base_url, visit.now_s)
        lanes = without_links(data.tracks)
        lanes[index - 1] = replace(lanes[index - 1], url=made.url)
        data = replace(data, tracks=lanes, chosen=None)
        return {takes.part: brought("takes", data), takes.brought: data, takes.effects: tried}

    page.on(takes.tracks.change, prepare)
    changed = [takes.part, takes.brought, takes.effects]
    for event in effects.changes:
        page.on(event, preview, known, changed, notice=takes.problem, trigger_mode="always_last")
    page.on_data(instrument.chosen, turn, known, [*changed, chosen], notice=takes.problem, **LATEST)
