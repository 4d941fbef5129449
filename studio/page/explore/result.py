"""The result of the Explore tab: one recording, or two in one picture."""

from collections.abc import Sequence
from dataclasses import replace

import gradio as gr
from gradio.blocks import Block

from engine.analysis.comparison import Comparison
from engine.texts import tr
from studio.actions.analyses import compare_analyses
from studio.actions.analysis_views import PITCH_COLOUR, AnalysisView, RollData
from studio.page.explore.facts import compared, facts
from studio.page.parts.element import element, shown
from studio.page.parts.element_data import ChosenTrack, PlayerData, ShownRoll, Track
from studio.page.parts.markup import markup
from studio.page.parts.page import Updates, Visit
from studio.page.parts.track_choice import shown_choice, track_choice
from studio.page.parts.values import Values

_PLAYER = "explore"
_COLOURS = (PITCH_COLOUR, "var(--range)")


class Result:
    """Components for one recording or two; made where this is called."""

    def __init__(self) -> None:
        with gr.Column(visible=False, elem_id="explore-result") as self.whole:
            with gr.Row(elem_id="explore-told"):
                self.facts = gr.HTML("", elem_id="explore-facts", apply_default_css=False)
                with gr.Column(scale=0, elem_id="explore-beside"):
                    with gr.Row(elem_classes="explore-acts"):
                        self.convert = gr.Button(tr("Open in Convert"), size="sm", elem_id="explore-convert")
                        self.clear = gr.Button(tr("Clear"), size="sm", elem_id="explore-clear")
                    self.track = track_choice("explore-track")
                    self.compared = gr.HTML("", visible=False, elem_id="explore-compared", apply_default_css=False)
            self.player = element("player", events=("chosen",), elem_id="explore-player")
            self.roll = element("roll", elem_id="explore-roll")
            self.sides = gr.State([])  # values of the roll, for each track of the player
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
            *(self.whole, self.facts, self.compared, self.player, self.roll, self.sides, self.histogram, self.notes),
            *(self.of_notes, self.convert, self.track),
        ]

    def showing(self, visit: Visit, views: Sequence[AnalysisView]) -> Values:
        """Return updates for one recording, two, or none."""
        if not views:
            return {self.whole: gr.Column(visible=False), self.sides: []} | {
                one: shown(None) for one in (self.player, self.roll, self.histogram, self.notes)
            }
        parts = [
            {"label": view.file_name, "colour": colour, "histogram": view.pitch_histogram}
            for view, colour in zip(views, _COLOURS, strict=False)
        ]
        name = views[0].file_name
        is_alone = len(views) == 1
        of_notes = tr("Notes") if is_alone else tr("Notes of {name}", name=name)
        updates = {
            self.whole: gr.Column(visible=True),
            self.facts: facts(views),
            self.track: shown_choice(views[0]),
            self.histogram: shown({"parts": parts}),
            self.notes: shown({"notes": views[0].notes, "follows": _PLAYER}),
            self.of_notes: f"<h3>{markup(of_notes)}</h3>",
            self.convert: gr.Button(tr("Open in Convert") if is_alone else tr("Open {name} in Convert", name=name)),
        }
        return updates | (self._one(views[0]) if is_alone else self._two(visit, views))

    def _one(self, view: AnalysisView) -> Values:
        return {
            self.compared: gr.HTML(value="", visible=False),
            self.player: shown(_player([view], [0.0])),
            self.roll: shown(replace(_roll(view), shown=["range", "loudness"])),
            self.sides: [],
        }

    def turn(self, visit: Visit, track: ChosenTrack, sides: Sequence[str]) -> Updates:
        """Show the recording that is heard below both curves."""
        return {self.roll: sides[track["index"]]} if track["index"] < len(sides) else None

    def _two(self, visit: Visit, views: Sequence[AnalysisView]) -> Values:
        comparison = visit.do(compare_analyses, views[0].id, views[1].id)
        later_s = comparison.offset_s
        starts_s = [max(0.0, later_s), max(0.0, -later_s)]  # on the timeline of both, which begins with the earlier one
        sides = [shown(_side(views, place, starts_s, comparison)) for place in (0, 1)]
        return {
            self.compared: gr.HTML(value=compared(comparison, views[1].file_name), visible=True),
            self.player: shown(_player(views, starts_s)),
            self.roll: sides[0],
            self.sides: sides,
        }


def _side(views: Sequence[AnalysisView], place: int, starts_s: Sequence[float], comparison: Comparison) -> ShownRoll:
    """Return the picture of one of two recordings, with the pitch of both.

    starts_s: where each begins on the timeline of both.
    """
    curves = [
        replace(_drawn(view).curves[0], label=view.file_name, colour=colour, offset_s=start_s - starts_s[place])
        for view, colour, start_s in zip(views, _COLOURS, starts_s, strict=True)
    ]
    if comparison.is_same_melody and (moved := round(comparison.semitones or 0.0)):
        curves.append(replace(curves[1], label=tr("in the first recording's key"), semitones=-moved))
    return replace(
        _roll(views[place]),
        id="-".join(view.id for view in views),  # one picture, which keeps its place when it is turned
        duration_s=max(view.duration_s for view in views),
        origin_s=starts_s[place],
        curves=curves,
        hidden=[2],
        shown=["loudness"],
        kept=[tile.url for view in views for one in _drawn(view).pictures for tile in one.tiles],
    )


def _drawn(view: AnalysisView) -> RollData:
    assert view.roll is not None  # of an analysis that is completed
    return view.roll


def _roll(view: AnalysisView) -> ShownRoll:
    label = tr("Pitch of {file_name}", file_name=view.file_name)
    return ShownRoll(**vars(_drawn(view)), follows=_PLAYER, isClose=True, label=label)


def _player(views: Sequence[AnalysisView], starts_s: Sequence[float]) -> PlayerData:
    tracks: list[Track] = [
        Track(label=view.file_name, url=view.audio_url, downloads=view.downloads, offset_s=start_s)
        for view, start_s in zip(views, starts_s, strict=True)
    ]
    return PlayerData(id=_PLAYER, tracks=tracks, chosen=0)
