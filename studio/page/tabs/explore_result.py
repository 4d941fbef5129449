"""What the Explore tab shows of one recording, or of two beside each other."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from studio.actions.analyses import PITCH_COLOUR, compare_analyses
from studio.page.parts.element import element, shown
from studio.page.parts.page import Visit
from studio.page.tabs.explore_facts import compared, facts

PLAYER = "explore"
_SECOND_COLOUR = "var(--range)"
_LAYERS = ["range", "waveform", "loudness"]
View = Mapping[str, Any]


class Result:
    """The components, made where this is called, and what they show."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_id="explore-result") as self.whole:
            self.facts = gr.HTML("", elem_id="explore-facts", apply_default_css=False)
            self.compared = gr.HTML("", visible=False, elem_id="explore-compared", apply_default_css=False)
            with gr.Row(elem_classes="explore-acts"):
                self.convert = gr.Button("Open in Convert", size="sm", elem_id="explore-convert")
                self.clear = gr.Button("Clear", size="sm", elem_id="explore-clear")
            self.player = element("player", elem_id="explore-player")
            self.roll = element("roll", elem_id="explore-roll")
            self.other_roll = element("roll", elem_id="explore-roll-second")
            with gr.Row():
                with gr.Column():
                    gr.HTML("<h3>Time on each note</h3>")
                    self.histogram = element("histogram")
                with gr.Column():
                    self.of_notes = gr.HTML()
                    self.notes = element("notes")

    @property
    def components(self) -> list[Any]:
        """All that `showing` may change."""
        return [
            self.whole, self.facts, self.compared, self.player, self.roll, self.other_roll, self.histogram, self.notes,
            self.of_notes, self.convert,
        ]  # fmt: skip

    def showing(self, visit: Visit, views: Sequence[View]) -> dict[Any, Any]:
        """Updates for one recording, two, or none."""
        if not views:
            return {self.whole: gr.Column(visible=False)} | {
                one: gr.HTML(value=shown(None))
                for one in (self.player, self.roll, self.other_roll, self.histogram, self.notes)
            }
        colours = [PITCH_COLOUR, _SECOND_COLOUR]
        parts = [
            {"label": view["file_name"], "colour": colour, "histogram": view["pitch_histogram"]}
            for view, colour in zip(views, colours, strict=False)
        ]
        of_first = f" of {views[0]['file_name']}" if len(views) > 1 else ""
        updates = {
            self.whole: gr.Column(visible=True),
            self.facts: gr.HTML(value=facts(views)),
            self.player: gr.HTML(value=shown(_player(views))),
            self.histogram: gr.HTML(value=shown({"parts": parts})),
            self.notes: gr.HTML(value=shown({"notes": views[0]["notes"], "follows": PLAYER})),
            self.of_notes: gr.HTML(value=f"<h3>Notes{html.escape(of_first)}</h3>"),
            self.convert: gr.Button(
                f"Open {views[0]['file_name']} in Convert" if len(views) > 1 else "Open in Convert"
            ),
        }
        return updates | (self._two(visit, views) if len(views) > 1 else self._one(views[0]))

    def _one(self, view: View) -> dict[Any, Any]:
        roll = view["roll"] | {"follows": PLAYER, "label": f"Pitch of {view['file_name']}", "shown": _LAYERS}
        return {
            self.compared: gr.HTML(value="", visible=False),
            self.roll: gr.HTML(value=shown(roll)),
            self.other_roll: gr.HTML(value=shown(None)),
        }

    def _two(self, visit: Visit, views: Sequence[View]) -> dict[Any, Any]:
        first, second = views
        comparison = compare_analyses(visit.studio, visit.account, first["id"], second["id"])
        own = [{**view["roll"]["curves"][0], "label": view["file_name"]} for view in views]
        laid_over = {**own[1], "colour": _SECOND_COLOUR, "offset_s": -comparison.offset_s}
        curves = [own[0], laid_over]
        if comparison.is_same_melody and (moved := round(comparison.semitones or 0.0)):
            curves.append(laid_over | {"label": "in the first recording's key", "semitones": -moved})
        longest_s = max(view["duration_s"] for view in views)  # so that both have the same axis
        rolls = [
            view["roll"]
            | {"follows": PLAYER, "group": PLAYER, "duration_s": longest_s, "label": f"Pitch of {view['file_name']}"}
            for view in views
        ]
        return {
            self.compared: gr.HTML(value=compared(comparison, second["file_name"]), visible=True),
            self.roll: gr.HTML(value=shown(rolls[0] | {"curves": curves, "shown": _LAYERS[1:], "hidden": [2]})),
            self.other_roll: gr.HTML(
                value=shown(rolls[1] | {"curves": [own[1] | {"colour": _SECOND_COLOUR}], "shown": _LAYERS[1:]})
            ),
        }


def _player(views: Sequence[View]) -> dict[str, Any]:
    tracks = [{"label": view["file_name"], "url": view["audio_url"], "downloads": view["downloads"]} for view in views]
    return {"id": PLAYER, "tracks": tracks, "chosen": 0}
