"""Our own elements in the page: a custom element of `page/static`, shown with plain data, telling plain data back.

Elements build their content with the DOM, never by putting text into HTML, so names that users gave stay text.
"""

import json
from collections.abc import Sequence
from typing import Any

import gradio as gr

FILES = "/page-files"
_CONNECT = """
const part = element.querySelector("%(tag)s");
// before its module is there it is no more than a name, and what it is given then would hide its own property for ever
const show = () => { if (customElements.get("%(tag)s")) part.data = props.value ? JSON.parse(props.value) : null; };
customElements.whenDefined("%(tag)s").then(show);
watch("value", show);
for (const name of %(events)s) part.addEventListener("tell-" + name, told => trigger(name, told.detail));
"""


def element(tag: str, events: Sequence[str] = (), data: Any = None, **options: Any) -> gr.HTML:
    """The element <timbre-`tag`>, which is given `data` as its property of that name, and again with every new value.

    events: what it may tell, by dispatching `new CustomEvent("tell-NAME", {detail: ...})`; each is an event of the
    component, as `component.NAME`. options: those of gr.HTML.
    """
    name = f"timbre-{tag}"
    return gr.HTML(
        value=shown(data),
        html_template=f"<{name}></{name}>",
        js_on_load=_CONNECT % {"tag": name, "events": json.dumps(list(events))},
        **{"apply_default_css": False, **options},  # which is for prose: it would change our buttons and tables
    )


def shown(data: Any) -> str:
    """The value of an element that shows this data; None shows nothing."""
    return "" if data is None else json.dumps(data)


def head() -> str:
    """What the page's head needs for the elements and their looks."""
    return (
        f'<link rel="stylesheet" href="{FILES}/page.css">'
        f'<link rel="icon" href="{FILES}/icon.svg" type="image/svg+xml">'
        f'<script type="module" src="{FILES}/elements.js"></script>'
    )
