"""All voices on the recording: a few seconds of it in each, which the cards play one after the other."""

from collections.abc import Mapping
from contextlib import suppress

import gradio as gr

from engine.conversion.settings import AUTO
from studio.actions.conversions.conversion import ConversionRequest, convert_recording
from studio.actions.tasks import delete_tasks
from studio.errors import NotFound
from studio.page.convert.instrument import brought, part
from studio.page.convert.recording import Recording, Stretch
from studio.page.convert.settings import Settings
from studio.page.convert.state import Chosen
from studio.page.convert.takes import view_of
from studio.page.convert.voice import Voice
from studio.page.parts.analyses import BUSY
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.values import Given
from studio.page.parts.watched_task import WatchedTask

_POLL_S = 0.4


class Auditions:
    """What the cards play of all voices. problem: the notice that says why they cannot."""

    def __init__(self, page: Page, recording: Recording, voice: Voice, settings: Settings, problem: gr.HTML) -> None:
        self.recording, self.voice, self.settings = recording, voice, settings
        self.tasks = gr.State({})  # ids of conversions by their voices
        self.watching = WatchedTask(_POLL_S)
        self.part = part()
        outputs = [self.tasks, self.watching.timer, self.part]
        asked = {recording.chosen, self.tasks, *settings.controls}
        page.on_data(voice.cards.auditioned, self.begin, asked, outputs, notice=problem)
        self.watching.wire(page, self.look, [self.tasks], outputs)

    def begin(self, visit: Visit, asked: Stretch, given: Given) -> Updates:
        """Convert a stretch of the recording with each trained voice; no stretch takes away what was made of one."""
        visit.do(delete_tasks, list((given.read(self.tasks, dict[str, str]) or {}).values()))
        chosen, start_s, stop_s = given.read(self.recording.chosen, Chosen), asked["start_s"], asked["stop_s"]
        if chosen is None or start_s is None or stop_s is None:
            return {self.tasks: {}, **self.watching.end()}
        settings = {**self.settings.asked(given), "takes": 1, "transpose": AUTO}
        preset, effects = self.settings.preset_of(given), self.settings.effects_of(given)
        tasks = {
            model: visit.do(
                convert_recording,
                chosen["id"],
                ConversionRequest(model, settings, preset, effects=effects),
                (start_s, stop_s),
            )
            for model in self.voice.trained(visit)
        }
        return {self.tasks: tasks, **self.watching.begin()}

    def look(self, visit: Visit, tasks: Mapping[str, str]) -> Updates:
        """Bring the cards what is there by now."""
        heard, is_busy = [], False
        for model, task in tasks.items():
            with suppress(NotFound):  # it was deleted in another window
                view = view_of(visit, task)
                is_busy = is_busy or view.state in BUSY
                url = next((take.url for take in view.takes), None)
                heard.append({"id": model, "url": url, "isDone": view.state not in BUSY})
        return {self.part: brought("auditions", heard), **self.watching.begin(is_busy)}
