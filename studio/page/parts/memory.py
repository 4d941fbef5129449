"""What a browser remembers of the page across reloads and restarts."""

from typing import Any

import gradio as gr

_PREFIX = "timbre-"
_THEME = "timbre-theme"  # of no account, and kept by page/static/theme.js
_SECRET = "timbre-studio"  # noqa: S105 - fixed, so that the memory outlives a restart
# in the browser: the next person to log in shall not see the contents of the forms
FORGET = f"""
for (const key of Object.keys(localStorage)) {{
  if (key.startsWith("{_PREFIX}") && key !== "{_THEME}") localStorage.removeItem(key);
}}
"""


def remembered(name: str, value: Any = None) -> gr.BrowserState:
    """Return a state that the browser keeps under this name; value: the initial one."""
    return gr.BrowserState(value, storage_key=f"{_PREFIX}{name}", secret=_SECRET)
