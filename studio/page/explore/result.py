"""The result of the Explore tab: one recording, or two beside each other."""

from collections.abc import Sequence

import gradio as gr
from gradio.blocks import Block

from engine.texts import tr
from studio.actions.analyses import compare_analyses
from studio.actions.analysis_views import PITCH_COLOUR, AnalysisView
from studio.page.explore.facts import compared, facts
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import PlayerData, Track
from studio.page.parts.markup import markup
from studio.page.parts.page import Visit
from studio.page.parts.values import Values

_PLAYER = "explore"
_SECOND_COLOUR = "var(--range)"


class Result:
    """Components for one recording or two; made where this is called."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_id="explore-result") as self.whole:
            self.facts = gr.HTML("", elem_id="explore-facts", apply_default_css=False)
            self.compared = gr.HTML("", visible=False, elem_id="explore-compared", apply_default_css=False)
            with gr.Row(elem_classes="explore-acts"):
                self.convert = gr.Button(tr("Open in Convert"), size="sm", elem_id="explore-convert")
                self.clear = gr.Button(tr("Clear"), size="sm", elem_id="explore-clear")
            self.player = element("player", elem_id="explore-player")
            self.roll = element("roll", elem_id="explore-roll")
            self.other_roll = element("roll", elem_id="explore-roll-second")
            with gr.Row():
                with gr.Column():
                    gr.HTML("<h3>" + tr("Time on each note") + "</h3>")
                    self.histogram = element("histogram")
                with gr.Column():
                    self.of_notes = gr.HTML()
                    self.notes = element("notes")

    @property
    def components(self) -> list[Block]:
        """What `showing` may change."""
        return [
            self.whole, self.facts, self.compared, self.player, self.roll, self.other_roll, self.histogram, self.notes,
            self.of_notes, self.convert,
        ]  # fmt: skip

    def showing(self, visit: Visit, views: Sequence[AnalysisView]) -> Values:
        """Return updates for one recording, two, or none."""
        if not views:
            return {self.whole: gr.Column(visible=False)} | {
                one: shown(None) for one in (self.player, self.roll, self.other_roll, self.histogram, self.notes)
            }
        colours = [PITCH_COLOUR, _SECOND_COLOUR]
        parts = [
            {"label": view["file_name"], "colour": colour, "histogram": view["pitch_histogram"]}
            for view, colour in zip(views, colours, strict=False)
        ]
        name = views[0]["file_name"]
        is_alone = len(views) == 1
        of_notes = tr("Notes") if is_alone else tr("Notes of {name}", name=name)
        updates = {
            self.whole: gr.Column(visible=True),
            self.facts: facts(views),
            self.player: shown(_player(views)),
            self.histogram: shown({"parts": parts}),
            self.notes: shown({"notes": views[0]["notes"], "follows": _PLAYER}),
            self.of_notes: f"<h3>{markup(of_notes)}</h3>",
            self.convert: gr.Button(tr("Open in Convert") if is_alone else tr("Open {name} in Convert", name=name)),
        }
        return updates | (self._one(views[0]) if is_alone else self._two(visit, views))

    def _one(self, view: AnalysisView) -> Values:
        return {
            self.compared: gr.HTML(value="", visible=False),
            self.roll: shown(_roll(view) | {"shown": ["range", "waveform", "loudness"]}),
            self.other_roll: shown(None),
        }

    def _two(self, visit: Visit, views: Sequence[AnalysisView]) -> Values:
        first, second = views
        comparison = visit.do(compare_analyses, first["id"], second["id"])
        own = [{**view["roll"]["curves"][0], "label": view["file_name"]} for view in views if view["roll"]]
        laid_over = {**own[1], "colour": _SECOND_COLOUR, "offset_s": -comparison.offset_s}
        curves = [own[0], laid_over]
        if comparison.is_same_melody and (moved := round(comparison.semitones or 0.0)):
            curves.append(laid_over | {"label": tr("in the first recording's key"), "semitones": -moved})
        longest_s = max(view["duration_s"] for view in views)  # so that both have the same axis
        both = {"group": _PLAYER, "duration_s": longest_s, "shown": ["waveform", "loudness"]}
        rolls = [_roll(view) | both for view in views]
        return {
            self.compared: gr.HTML(value=compared(comparison, second["file_name"]), visible=True),
            self.roll: shown(rolls[0] | {"curves": curves, "hidden": [2]}),
            self.other_roll: shown(rolls[1] | {"curves": [own[1] | {"colour": _SECOND_COLOUR}]}),
        }


def _roll(view: AnalysisView) -> dict[str, object]:
    return {**(view["roll"] or {})} | {"follows": _PLAYER, "label": tr(
        "Pitch of {file_name}",
        file_name=view["file_name"],
    )}


def _player(views: Sequence[AnalysisView]) -> PlayerData:
    tracks: list[Track] = [
        {"label": view["file_name"], "url": view["audio_url"], "downloads": view["downloads"]} for view in views
    ]
    return {"id": _PLAYER, "tracks": tracks, "chosen": 0}
