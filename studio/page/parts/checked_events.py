"""A page that looks at what a browser sends before an event begins.

No file is taken but those that were uploaded to the page. A browser names files by their paths, and gradio (6.31) looks
whether such a file was uploaded only in a page that it has launched itself. In one that is mounted beside a service,
anybody could have any file of this machine read to him, and any address asked.

What is no choice of a list any more is nothing. A browser may still send what was chosen when the list has other
choices already, and gradio then refuses the whole event, with a sentence that nobody can do anything about.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

_REFUSAL = "This file was not uploaded here."


class CheckedEvents(gr.Blocks):
    """Blocks whose events are refused where they name another file, in a value or in the data of the event, and are
    given None for what is no choice any more."""

    async def process_api(self, block_fn: Any, inputs: list[Any], *positional: Any, **options: Any) -> dict[str, Any]:
        """As in gradio. Raises gr.Error for a file that was not uploaded."""
        event = options.get("event_data")
        if names_other_file([inputs, event and event._data], Path(get_upload_folder())):
            raise gr.Error(_REFUSAL, print_exception=False)
        components = self._as_seen(block_fn, positional[0] if positional else options.get("state"))
        return await super().process_api(block_fn, with_choices_left(components, inputs), *positional, **options)

    def _as_seen(self, block_fn: Any, state: Any) -> list[Any]:
        """The components an event is given the values of, as they are in the session."""
        inputs = (self.fns[block_fn] if isinstance(block_fn, int) else block_fn).inputs
        return [state[one._id] if state is not None and one._id in state else one for one in inputs]


def with_choices_left(components: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """The values, and None for each that is no choice of its dropdown."""
    pairs = zip(components, values, strict=False)  # how many there should be is for gradio to say
    seen = [None if isinstance(one, gr.Dropdown) and _is_gone(one, value) else value for one, value in pairs]
    return [*seen, *values[len(seen) :]]


def _is_gone(dropdown: gr.Dropdown, value: Any) -> bool:
    several_or_own = dropdown.multiselect or dropdown.allow_custom_value
    return not several_or_own and value not in [choice for _, choice in dropdown.choices]


def names_other_file(value: Any, folder: Path) -> bool:
    """Whether a file that does not lie in the folder is named anywhere in what a browser sent."""
    allowed = folder.resolve()
    to_see = [value]
    while to_see:
        now = to_see.pop()
        if isinstance(now, dict):
            path = now.get("path")
            # only what says of itself that it is a file is taken for one
            if "meta" in now and isinstance(path, str) and not _lies_in(path, allowed):
                return True
            to_see += now.values()
        elif isinstance(now, list | tuple):
            to_see += now
    return False


def _lies_in(path: str, folder: Path) -> bool:
    try:
        return folder in Path(path).resolve().parents
    except (OSError, ValueError):  # no path at all
        return False
