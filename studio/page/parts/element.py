"""Our custom elements of `studio/page` in the page: plain data goes in, events with plain data come out.

Elements build their content through the DOM, never from HTML text, so names given by users stay text.
"""

import json
from collections.abc import Callable, Sequence
from typing import cast

import gradio as gr
from starlette.datastructures import Headers

from engine.texts import Speaker, Text
from studio.page.catalogues import language_script
from studio.page.served_files import SCRIPTS, STYLES
from studio.store.records.codec import plain

FILES = "/page-files"
_CONNECT = """
const part = element.querySelector("%(tag)s");
// data assigned before its module is loaded would shadow the property for ever
const show = () => { if (customElements.get("%(tag)s")) part.data = props.value ? JSON.parse(props.value) : null; };
customElements.whenDefined("%(tag)s").then(show);
watch("value", show);
for (const name of %(events)s) part.addEventListener("tell-" + name, event => trigger(name, { told: event.detail }));
"""


# until our style is there, which Gradio adds to the page when it has begun: nothing moves then
_FULL_WIDTH = "<style>.gradio-container > .main { padding: 0 !important; max-width: none !important; }</style>"


class _Data(Text):
    """The data of an element."""

    data: object

    def __new__(cls, data: object) -> "_Data":
        made = cast(_Data, super().__new__(cls, json.dumps(data := plain(data))))
        made.data = data
        return made

    def said(self, speaker: Speaker) -> str:
        """Return the data with its texts in the language."""
        return json.dumps(speaker.say_all(self.data))


def element(
    tag: str, events: Sequence[str] = (), data: object = None, *, elem_id: str | None = None,
    elem_classes: str | list[str] | None = None, visible: bool = True, render: bool = True,
) -> gr.HTML:  # fmt: skip
    """Make the element <timbre-`tag`>; its property `data` is set now and with every new value.

    events: the NAMEs of its `new CustomEvent("tell-NAME", {detail: ...})`; each becomes an event `component.NAME`.
    """
    name = f"timbre-{tag}"
    return gr.HTML(
        value=shown(data),
        html_template=f"<{name}></{name}>",
        js_on_load=_CONNECT % {"tag": name, "events": json.dumps(list(events))},
        apply_default_css=False,  # gradio's style for prose would change our buttons and tables
        elem_id=elem_id,
        elem_classes=elem_classes,
        visible=visible,
        render=render,
    )


def shown(data: object) -> str:
    """Return the value of an element with this data, whose texts are said when it is shown; None shows nothing."""
    return "" if data is None else _Data(data)


def first_scripts(path_prefix: str) -> Callable[[Headers], str]:
    """Return what makes the scripts, for a request, of a page under this path that must run before Gradio's."""
    files = path_prefix + FILES
    early = (
        f'<script src="{files}/frames.js"></script>'
        f'<link rel="preload" as="style" href="{files}/{STYLES}"><link rel="modulepreload" href="{files}/{SCRIPTS}">'
    )

    def scripts(headers: Headers) -> str:
        return _FULL_WIDTH + early + language_script(path_prefix, f"{files}/first.js", headers)

    return scripts


def head(path_prefix: str) -> str:
    """Return the elements' part of the head of a page under this path."""
    files = path_prefix + FILES
    return (
        f'<link rel="stylesheet" href="{files}/{STYLES}">'
        f'<link rel="icon" href="{files}/icon.svg" type="image/svg+xml">'
        f'<link rel="apple-touch-icon" href="{files}/icon-192.png">'
        f'<link rel="manifest" href="{files}/app.webmanifest">'
        f'<script type="module" src="{files}/{SCRIPTS}"></script>'
    )
