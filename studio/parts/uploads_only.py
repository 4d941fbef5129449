"""A page that takes no file but those that were uploaded to it.

A browser names files by their paths, and gradio (6.31) looks whether such a file was uploaded only in a page that it
has launched itself. In one that is mounted beside a service, anybody could have any file of this machine read to him,
and any address asked.
"""

from pathlib import Path
from typing import Any

import gradio as gr
from gradio.utils import get_upload_folder

_REFUSAL = "This file was not uploaded here."


class UploadsOnly(gr.Blocks):
    """Blocks whose events are refused where they name another file, in a value or in the data of the event."""

    async def process_api(self, block_fn: Any, inputs: list[Any], *positional: Any, **options: Any) -> dict[str, Any]:
        """As in gradio. Raises gr.Error for a file that was not uploaded."""
        event = options.get("event_data")
        if names_other_file([inputs, event and event._data], Path(get_upload_folder())):
            raise gr.Error(_REFUSAL, print_exception=False)
        return await super().process_api(block_fn, inputs, *positional, **options)


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
