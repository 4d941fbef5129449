"""The choice of a sound track, where a recording has several."""

import gradio as gr

from engine.texts import joined, tr
from studio.actions.analysis_views import AnalysisView
from studio.actions.voices.drafts import TrackChoice


def track_choice(elem_id: str) -> gr.Dropdown:
    """Return a drop-down list that is shown where there is a choice."""
    return gr.Dropdown(
        choices=[], label=tr("Sound track"), visible=False, filterable=False, scale=0, min_width=220, elem_id=elem_id
    )


def shown_choice(view: AnalysisView | None) -> gr.Dropdown:
    """Return the list for a recording; hidden for one with a single track, and for none."""
    found = view.tracks if view else None
    if found is None:
        return gr.Dropdown(visible=False)
    choices = [_choice(one.number, one.title, one.language, one.encoding) for one in found.tracks if one.is_readable]
    return gr.Dropdown(choices=choices, value=found.read, visible=True)


def offered_choice(found: TrackChoice | None) -> gr.Dropdown:
    """Return the list for a recording of a draft; hidden for none."""
    if found is None:
        return gr.Dropdown(visible=False)
    choices = [_choice(one.number, one.title, one.language, one.encoding) for one in found.tracks if one.is_readable]
    label = tr("Sound track of {name}", name=found.name)
    return gr.Dropdown(choices=choices, value=found.read, label=label, visible=True)


def _choice(number: int, *facts: str) -> tuple[str, int]:
    return joined(" · ", filter(None, (str(number), *facts))), number
