"""A page that checks what a browser sends before an event begins.

Only files uploaded to the page are accepted. A browser names files by their paths, and gradio (6.31) checks that such a
file was uploaded only in a page that it has launched itself. In a page mounted beside a service, anybody could read any
file of this machine and request any address.

A value that is no longer a choice of its list becomes None. A browser may still send the old choice after the list has
changed, and gradio would then refuse the whole event with an error that the visitor cannot act on.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

_REFUSAL = "This file was not uploaded here."


class CheckedEvents(gr.Blocks):
    """Blocks that refuse events naming other files, in a value or in the event's data, and pass None for choices that
    are gone."""

    async def process_api(self, block_fn: Any, inputs: list[Any], *positional: Any, **options: Any) -> dict[str, Any]:
        """Run the event as gradio does. Raises gr.Error for a file that was not uploaded."""
        event = options.get("event_data")
        if names_other_file([inputs, event and event._data], Path(get_upload_folder())):
            raise gr.Error(_REFUSAL, print_exception=False)
        components = self._as_seen(block_fn, positional[0] if positional else options.get("state"))
        return await super().process_api(block_fn, with_choices_left(components, inputs), *positional, **options)

    def _as_seen(self, block_fn: Any, state: Any) -> list[Any]:
        """Return the input components of an event as they are in the session."""
        inputs = (self.fns[block_fn] if isinstance(block_fn, int) else block_fn).inputs
        return [state[one._id] if state is not None and one._id in state else one for one in inputs]


def with_choices_left(components: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """Replace values that are no choice of their dropdown by None."""
    pairs = zip(components, values, strict=False)  # gradio checks their number
    seen = [None if isinstance(one, gr.Dropdown) and _is_gone(one, value) else value for one, value in pairs]
    return [*seen, *values[len(seen) :]]


def _is_gone(dropdown: gr.Dropdown, value: Any) -> bool:
    several_or_own = dropdown.multiselect or dropdown.allow_custom_value
    return not several_or_own and value not in [choice for _, choice in dropdown.choices]


def names_other_file(value: Any, folder: Path) -> bool:
    """Whether a value sent by a browser names a file outside the folder anywhere."""
    allowed = folder.resolve()
    to_see = [value]
    while to_see:
        now = to_see.pop()
        if isinstance(now, dict):
            path = now.get("path")
            # only marked as a file counts as one
            if "meta" in now and isinstance(path, str) and not _lies_in(path, allowed):
                return True
            to_see += now.values()
        elif isinstance(now, list | tuple):
            to_see += now
    return False


def _lies_in(path: str, folder: Path) -> bool:
    try:
        return folder in Path(path).resolve().parents
    except (OSError, ValueError):  # not a path
        return False
