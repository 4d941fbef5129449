"""What a browser remembers of the page, so that it is there again after a reload and a restart."""

from typing import Any

import gradio as gr

_PREFIX = "timbre-"
_THEME = "timbre-theme"  # which is no account's, and kept by page/static/theme.js
_SECRET = "timbre-studio"  # a fixed one, so that what is remembered outlives a restart
# in the browser: what it keeps of the forms is not for whoever logs in next
FORGET = f"""
for (const key of Object.keys(localStorage)) {{
  if (key.startsWith("{_PREFIX}") && key !== "{_THEME}") localStorage.removeItem(key);
}}
"""


def remembered(name: str, value: Any = None) -> gr.BrowserState:
    """A state that the browser keeps under this name; value: where it has none."""
    return gr.BrowserState(value, storage_key=f"{_PREFIX}{name}", secret=_SECRET)
