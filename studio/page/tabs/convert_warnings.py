"""What is wrong with the recording of the Convert tab, said before it is converted."""

from collections.abc import Mapping
from typing import Any

from studio.page.parts.element import element
from studio.page.parts.notice import inform, notice, silent
from studio.page.parts.page import Page, Updates, Visit
from studio.page.tabs.convert_layout import Layout
from studio.page.tabs.convert_recording import Recording

_CLIPPED = "This recording is clipped: the level was too high. Record it again more softly, if you can."


class Warnings:
    """The sentences below the recording; a dry vocal has none."""

    def __init__(self, page: Page, layout: Layout, recording: Recording) -> None:
        self.recording = recording
        with layout.notices:
            element("level", elem_id="convert-level")  # of the microphone, while it records
            self.warning = notice("convert-warning")
        page.on(recording.analysed.change, self.tell, [recording.analysed], [self.warning])

    def tell(self, visit: Visit, analysed: Mapping[str, Any] | None) -> Updates:
        """Show what is wrong with the recording, or nothing."""
        summary = (analysed or {}).get("summary") or {}
        sentences = [summary.get("warning"), _CLIPPED if summary.get("clipped_runs") else None]
        text = " ".join(filter(None, sentences))
        return {self.warning: inform(text) if text else silent()}
