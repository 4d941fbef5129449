"""What a browser remembers of the page across reloads and restarts."""

from collections.abc import Mapping

import gradio as gr
from gradio.blocks import Block

from studio.page.parts.values import Given, Values

_PREFIX = "timbre-"
_THEME = "timbre-theme"  # of no account, and kept by page/settings/theme.js
_SECRET = "timbre-studio"  # noqa: S105 - fixed, so that the memory outlives a restart
# in the browser: the next person to log in shall neither see the contents of the forms nor send the files
FORGET = f"""
for (const key of Object.keys(localStorage)) {{
  if (key.startsWith("{_PREFIX}") && key !== "{_THEME}") localStorage.removeItem(key);
}}
indexedDB.deleteDatabase("{_PREFIX}kept"); // the files that wait for the studio, of page/static/uploads.js
"""

# in place of None, which Gradio's script does not store: the browser would still have what it was to forget
_NOTHING = {"nothing": True}


def remembered(name: str, value: object = None) -> gr.BrowserState:
    """Return a state that the browser keeps under this name; value: the initial one."""
    return gr.BrowserState(value, storage_key=f"{_PREFIX}{name}", secret=_SECRET)


def stored(updates: Mapping[Block, object]) -> Values:
    """Return the updates as the browser stores them, of whatever it remembers."""
    return {
        one: _NOTHING if value is None and isinstance(one, gr.BrowserState) else value for one, value in updates.items()
    }


def recalled(value: object) -> object:
    """Return an input as it was before it was `stored`; inputs by component as `Given`."""
    if isinstance(value, dict) and any(isinstance(one, Block) for one in value):
        return Given({one: recalled(kept) for one, kept in value.items()})
    return None if value == _NOTHING else value
