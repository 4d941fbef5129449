"""What is wrong with the recording of the Convert tab, said before it is converted."""

import gradio as gr

from engine.texts import joined, tr
from studio.page.convert.layout import Layout
from studio.page.convert.recording import Recording
from studio.page.convert.state import Analysed
from studio.page.parts.notice import notice, silent, warn
from studio.page.parts.page import Page, Updates, Visit

_CLIPPED = tr("This recording is clipped: the level was too high. Record it again more softly, if you can.")


class Warnings:
    """The sentences below the recording; a dry vocal has none. to_song: opens the recording as a whole song."""

    def __init__(self, page: Page, layout: Layout, recording: Recording) -> None:
        self.recording = recording
        with layout.notices, gr.Row(elem_id="convert-warnings", visible=False) as self.row:
            self.warning = notice("convert-warning")
            self.to_song = gr.Button(
                tr("Open as a song"), size="sm", scale=0, min_width=150, visible=False, elem_id="convert-to-song"
            )
        page.on(recording.analysed.change, self.show, [recording.analysed], [self.row, self.warning, self.to_song])

    def show(self, visit: Visit, analysed: Analysed | None) -> Updates:
        """Show what is wrong with the recording, or nothing."""
        summary = analysed.summary if analysed else None
        sentences = [summary.warning, _CLIPPED if summary.clipped_runs else None] if summary else []
        text = joined(" ", filter(None, sentences))
        return {
            self.row: gr.Row(visible=bool(text)),
            self.warning: warn(text) if text else silent(),
            self.to_song: gr.Button(visible=summary is not None and summary.is_mix),
        }
