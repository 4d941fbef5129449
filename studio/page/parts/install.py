"""The offer to install an addition: what it is, its size and licence, a button, its progress, and a way to stop it."""

from collections.abc import Callable
from dataclasses import dataclass

import gradio as gr

from engine.texts import joined, tr
from studio.actions.fetched_models import Addition, InstallView, can_install
from studio.page.parts.notice import inform, notice, show_error, silent
from studio.page.parts.page import Page, Updates, Visit
from studio.page.parts.progress_bar import progress_bar
from studio.page.parts.watched_task import WatchedTask

_POLL_S = 0.5


@dataclass(frozen=True)
class InstallWords:
    """What is said where an addition is missing: by a page that can install it, by one that cannot, and by a demo."""

    offer: str
    for_host: str
    for_demo: str


class InstallOffer:
    """Hidden once the addition is installed. installed: a state that tells so; outputs: what `show` changes, also
    whenever `tab` is opened."""

    def __init__(
        self, page: Page, tab: gr.Tab, addition: Callable[[], Addition], words: InstallWords, elem_id: str
    ) -> None:
        self._page, self._addition, self._words = page, addition, words
        self._may = can_install(page.studio.service)
        self.installed = gr.State(self.is_installed)
        self._install = WatchedTask(_POLL_S)
        with gr.Column(visible=not self.is_installed, elem_id=elem_id, elem_classes="install") as self._place:
            with gr.Row(elem_classes="facts"):
                gr.HTML("<p>" + self._sentence() + "</p>", elem_classes="install-what")
                self._begin = gr.Button(
                    self._label(), size="sm", scale=0, min_width=150, visible=self._may, elem_id=f"{elem_id}-begin"
                )
            with gr.Row(visible=False, elem_classes="progress-line") as self._going:
                self._progress = gr.HTML()
                self._stop = gr.Button(tr("Cancel"), size="sm", scale=0, min_width=90)
            self._problem = notice(f"{elem_id}-problem")
        self.outputs = [
            *(self.installed, self._install.timer, self._place, self._begin, self._going, self._progress),
            self._problem,
        ]
        page.on(self._begin.click, self._start, [], self.outputs)
        page.on(self._stop.click, self._cancel, [], self.outputs)
        self._install.wire(page, self.show, [], self.outputs)
        page.on(tab.select, self.show, [], self.outputs)

    @property
    def is_installed(self) -> bool:
        """Whether the addition is there already."""
        return self._addition().found() is not None

    def show(self, visit: Visit) -> Updates:
        """Return updates that show how far it is."""
        seen = self._page.installs.view(self._addition())
        message = tr("stopping") if seen.is_stopped else seen.message or tr("connecting")
        return {
            self.installed: seen.is_installed,
            **self._install.begin(seen.is_running),
            self._place: gr.Column(visible=not seen.is_installed),
            self._begin: gr.Button(self._label(), visible=self._may and not seen.is_running),
            self._going: gr.Row(visible=seen.is_running),
            self._progress: progress_bar(seen.progress, joined(": ", (message, f"{100 * seen.progress:.0f} %")))
            if seen.is_running
            else "",
            self._problem: _end(seen),
        }

    def _start(self, visit: Visit) -> Updates:
        if self._may:
            self._page.installs.begin(self._addition())
        return self.show(visit)

    def _cancel(self, visit: Visit) -> Updates:
        if self._may:
            self._page.installs.stop(self._addition())
        return self.show(visit)

    def _label(self) -> str:
        addition = self._addition()
        megabytes = addition.file.megabytes
        return (
            tr("Resume installation ({megabytes} MB)", megabytes=megabytes)
            if addition.received
            else tr("Install ({megabytes} MB)", megabytes=megabytes)
        )

    def _sentence(self) -> str:
        if self._may:
            return self._words.offer
        return self._words.for_demo if self._page.studio.service.is_demo else self._words.for_host


def _end(seen: InstallView) -> gr.HTML:
    """Return what is said of the last try."""
    if seen.is_running or seen.is_installed:
        return silent()
    if seen.error:
        return show_error(seen.error)
    return inform(tr("Cancelled. What has been received is kept.")) if seen.is_stopped else silent()
