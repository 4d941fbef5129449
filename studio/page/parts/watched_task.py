"""Something under way, which a tab looks at again and again until it has ended."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Unpack

import gradio as gr
from gradio.blocks import Block

from studio.page.parts.page import Options, Page, Updates, Visit
from studio.page.parts.values import Values


class WatchedTask:
    """A task that is looked at every `every_s` seconds while it is watched.

    timer: to be among the outputs of whatever begins or ends the watch.
    """

    def __init__(self, every_s: float) -> None:
        self.timer = gr.Timer(every_s, active=False)

    def wire(
        self,
        page: Page,
        look: Callable[..., Updates],
        inputs: Sequence[Block] | AbstractSet[Block] = (),
        outputs: Sequence[Block] = (),
        notice: gr.HTML | None = None,
        tab: gr.Tab | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Let `look` answer each time, wired as with `page.on`, but never while it is still answering.

        tab: where the watch ends as soon as another tab is shown.
        """
        once: Options = {**options, "trigger_mode": "once"}
        page.on(self.timer.tick, look, inputs, outputs, notice, **once)
        if tab is not None:

            def leave(visit: Visit, to: Mapping[str, object]) -> Updates:
                return None if to.get("value") == tab.label else self.end()

            page.on_data(page.tabs.select, leave, [], [self.timer])

    def begin(self, is_active: bool = True) -> Values:
        """Return updates that begin the watch, or end it where nothing is active."""
        return {self.timer: gr.Timer(active=is_active)}

    def end(self) -> Values:
        """Return updates that end the watch."""
        return self.begin(False)
