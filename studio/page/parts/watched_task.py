"""Something under way, which a tab looks at again and again until it has ended."""

from collections.abc import Callable
from typing import Any

import gradio as gr

from studio.page.parts.page import Page, Updates, Visit


class WatchedTask:
    """A task that is looked at every `every_s` seconds while it is watched.

    timer: to be among the outputs of whatever begins or ends the watch.
    """

    def __init__(self, every_s: float) -> None:
        self.timer = gr.Timer(every_s, active=False)

    def wire(
        self, page: Page, look: Callable[..., Updates], *wiring: Any, tab: gr.Tab | None = None, **options: Any
    ) -> None:
        """Let `look` answer each time, wired as with `page.on`, but never while it is still answering.

        tab: where the watch ends as soon as another tab is shown.
        """
        page.on(self.timer.tick, look, *wiring, trigger_mode="once", **options)
        if tab is not None:

            def leave(visit: Visit, to: dict[str, Any]) -> Updates:
                return None if to.get("value") == tab.label else self.end()

            page.on_data(page.tabs.select, leave, [], [self.timer])

    def begin(self, is_active: bool = True) -> dict[Any, Any]:
        """Return updates that begin the watch, or end it where nothing is active."""
        return {self.timer: gr.Timer(active=is_active)}

    def end(self) -> dict[Any, Any]:
        """Return updates that end the watch."""
        return self.begin(False)
