"""The choice of a sound track, where a recording has several."""

import gradio as gr

from engine.texts import joined, tr
from studio.actions.analysis_views import AnalysisView


def track_choice(elem_id: str) -> gr.Dropdown:
    """Return a drop-down list that is shown where there is a choice."""
    return gr.Dropdown(
        choices=[], label=tr("Sound track"), visible=False, filterable=False, scale=0, min_width=220, elem_id=elem_id
    )


def shown_choice(view: AnalysisView | None) -> gr.Dropdown:
    """Return the list for a recording; hidden for one with a single track, and for none."""
    found = view["tracks"] if view else None
    if found is None:
        return gr.Dropdown(visible=False)
    choices = [
        (joined(" · ", filter(None, (str(one["number"]), one["title"], one["language"], one["encoding"]))), one["number"])
        for one in found["tracks"]
        if one["is_readable"]
    ]
    return gr.Dropdown(choices=choices, value=found["read"], visible=True)
