"""Recordings that are made in the page, which gradio calls all alike, under names that can be told apart."""

import time
from pathlib import Path

import gradio as gr

from studio.page.parts.page import Page

_OF_GRADIO = "audio.wav"


def recorded(page: Page, audio: gr.Audio) -> gr.State:
    """Whether what comes next from this component is recorded with it, and not a file."""
    is_recorded = gr.State(False)
    page.on(audio.start_recording, lambda visit: {is_recorded: True}, [], [is_recorded])
    page.on(audio.upload, lambda visit: {is_recorded: False}, [], [is_recorded])
    return is_recorded


def name_of(path: str, is_recorded: bool, now_s: float) -> str:
    """What a recording is called: as its file, or by when it was made."""
    name = Path(path).name
    if not is_recorded or name != _OF_GRADIO:
        return name
    return f"Recording {time.strftime('%d %b %H.%M.%S', time.localtime(now_s))}.wav"
