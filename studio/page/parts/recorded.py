"""Distinct names for recordings made in the page, which gradio all calls the same."""

import time
from pathlib import Path

import gradio as gr

from engine.texts import tr
from studio.page.parts.page import Page

_OF_GRADIO = "audio.wav"


def recorded(page: Page, audio: gr.Audio) -> gr.State:
    """Return a state: whether the next audio of this component is a recording rather than a file."""
    is_recorded = gr.State(False)
    page.on(audio.start_recording, lambda visit: {is_recorded: True}, [], [is_recorded])
    page.on(audio.upload, lambda visit: {is_recorded: False}, [], [is_recorded])
    return is_recorded


def name_of(path: str, is_recorded: bool, now_s: float) -> str:
    """Return the file's name, or for a recording one with its time."""
    name = Path(path).name
    if not is_recorded or name != _OF_GRADIO:
        return name
    named = tr("Recording {value}.wav", value=time.strftime("%d %b %H.%M.%S", time.localtime(now_s)))
    return str.__str__(named)  # of a file, which is the same in every language
