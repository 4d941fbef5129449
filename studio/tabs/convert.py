"""The Convert tab: a recording in, the same performance in another voice out."""

import shutil
import time
from pathlib import Path
from secrets import token_hex

import gradio as gr

import engine
from engine.conversion_settings import AUTO
from engine.errors import EngineError
from studio.accounts import Account
from studio.actions.conversions import start_conversion
from studio.actions.voices import models_view
from studio.parts.page import Page
from studio.studio import Studio
from studio.tasks import find

SAMPLES = Path(engine.__path__[0]) / "samples"
_POLL_S = 0.3


def build_convert_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    studio, account_of = page.studio, page.account_of

    def choices(request: gr.Request) -> gr.Dropdown:
        voices = models_view(studio, account_of(request))["models"]
        return gr.Dropdown(choices=[(one["name"], one["id"]) for one in voices], value=voices[0]["id"])

    def convert(
        recording: str | None, voice: str | None, auto: bool, transpose: float, request: gr.Request,
        progress: gr.Progress = gr.Progress(),  # noqa: B008 - how gradio finds it
    ) -> str:  # fmt: skip
        if not recording or not voice:
            raise gr.Error("Put in a recording and choose a voice first.")
        account = account_of(request)
        given = studio.settings.work / "incoming" / token_hex(8)
        given.mkdir(parents=True)
        try:
            copy = Path(shutil.copy(recording, given / "recording"))
            settings = {"transpose": AUTO if auto else int(transpose)}
            task_id = start_conversion(studio, account, copy, Path(recording).name, model=voice, settings=settings)
            return str(_result(studio, account, task_id, progress))
        except EngineError as error:
            raise gr.Error(str(error), print_exception=False) from error
        finally:
            shutil.rmtree(given, ignore_errors=True)

    with gr.Row():
        with gr.Column():
            recording = gr.Audio(label="Recording", type="filepath", buttons=["download"])
            gr.Examples([str(SAMPLES / "singing.flac"), str(SAMPLES / "speech.flac")], recording, label="To try")
        with gr.Column():
            voice = gr.Dropdown(label="Voice", choices=[])
            auto = gr.Checkbox(label="Fit the recording to the voice's range", value=True)
            transpose = gr.Slider(-12, 12, value=0, step=1, label="Transpose (semitones)", visible=False)
            start = gr.Button("Convert", variant="primary")
            result = gr.Audio(label="Result", type="filepath", interactive=False, buttons=["download"])
    auto.change(
        lambda fits: gr.Slider(visible=not fits), auto, transpose, api_visibility="private", show_progress="hidden"
    )
    start.click(convert, [recording, voice, auto, transpose], result, api_visibility="private")
    page.blocks.load(choices, None, voice, api_visibility="private", show_progress="hidden")


def _result(studio: Studio, account: Account, task_id: str, progress: gr.Progress) -> Path:
    """The first take, once the task is done; what went wrong otherwise."""
    while True:
        task = find(studio.database, account.id, task_id)
        if task.state == "completed":
            key = (task.result or {})["outputs"][0]
            shown = studio.settings.work / "page" / task_id
            shown.mkdir(parents=True, exist_ok=True)
            # a copy: the page shows nothing but what lies in its own folder
            return Path(shutil.copy(studio.storage.fetch(key, shown), shown / f"{task.model_id}{Path(key).suffix}"))
        if task.state in ("failed", "cancelled"):
            raise gr.Error(task.error or "The conversion was cancelled.", print_exception=False)
        progress(task.progress, desc=task.message or "waiting for its turn")
        time.sleep(_POLL_S)
