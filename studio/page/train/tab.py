"""The Train tab: estimate, start, follow, hear, stop and continue the training of a voice."""

import gradio as gr
from typing_extensions import TypedDict  # pydantic reads it, which needs this one before Python 3.12

from engine.texts import ntr, tr
from studio.actions.tasks import cancel_task
from studio.actions.trainings.estimates import start_estimate
from studio.actions.trainings.training import TrainingView, forget_training, queue_view, start_training, trainable_view
from studio.page.parts.browser_memory import remembered
from studio.page.parts.element_data import AskedOfTask, ChosenEpoch, ChosenTrack
from studio.page.parts.notice import inform
from studio.page.parts.page import LATEST, InTurn, Page, Updates, Visit, Wish
from studio.page.parts.values import Given, Values
from studio.page.train.course import audible_epoch, given_settings, is_active, playable
from studio.page.train.panel import CHOOSE, Panel
from studio.page.train.use_epoch import use_epoch

_GONE = tr("This voice has been deleted.")
# one at a time: another tab's wish arrives together with the event of showing this one, and should win
_IN_TURN: InTurn = {"concurrency_id": "train", "concurrency_limit": 1}
_STOPPING = tr("Stopping. The progress is saved: training can continue later.")
_FORGOTTEN = tr("Training progress deleted. The next training starts from scratch.")


class _Kept(TypedDict):
    """What the browser remembers of this tab."""

    voice: str | None
    settings: dict[str, int | float | str | None]


class TrainTab:
    """Events and wiring of a `Panel`; made inside the tab."""

    def __init__(self, page: Page, tab: gr.Tab) -> None:
        self._page, self._panel = page, Panel()
        self._kept, self._wish = remembered("train", {}), page.wishes["train"]
        self._wire(tab)

    def _wire(self, tab: gr.Tab) -> None:
        page, panel = self._page, self._panel
        asked, seen, said = panel.asked, panel.seen, panel.notice
        for event in (tab.select, self._wish.change):
            page.on(event, self._open, asked | {self._kept, self._wish}, panel.all, **_IN_TURN)
        panel.training.wire(page, self._follow, asked, [*seen, said], tab=tab)
        page.on_return(tab, panel.come_back, asked, seen)
        page.on(panel.voice.input, self._choose, asked, panel.all, notice=said)
        for control in (panel.voice, *panel.made.values()):
            page.on(control.change, self._keep, asked, [self._kept])
        for name in ("epochs", "evaluate_epochs"):
            page.on(panel.made[name].change, self._estimate, asked, [panel.estimate])
        page.on(panel.start.click, self._start, asked, [*seen, *panel.fixed], notice=said)
        page.on(
            panel.convert.click,
            lambda visit, model: page.go("convert", voice=model, start=True),
            [panel.voice],
            [page.tabs, page.wishes["convert"]],
        )
        page.on(panel.create.click, lambda visit: page.go("create"), [], [page.tabs, page.wishes["create"]])
        page.on(panel.stop.click, self._stop, asked, seen, notice=said)
        page.on(panel.measure.click, self._measure, asked, seen, notice=said)
        for button, visible in ((panel.afresh, True), (panel.keep, False)):
            page.on(
                button.click,
                lambda visit, visible=visible: {panel.question: gr.Group(visible=visible)},
                [],
                [panel.question],
            )
        page.on(panel.forget.click, self._forget, asked, [*panel.all, panel.question], notice=said)
        page.on_data(panel.queue.asked, self._act_on_queue, asked, panel.all, notice=said)
        page.on(panel.part.input, self._listen, asked, panel.audition)
        heard = [*panel.audition, panel.chosen]
        page.on_data(panel.course.chosen, self._choose_epoch, asked, heard, **LATEST)
        page.on_data(panel.player.chosen, self._choose_track, asked, [panel.use, panel.chosen], **LATEST)
        page.on(panel.use.click, self._use, asked, seen, notice=said)

    def _open(self, visit: Visit, given: Given) -> Updates:
        """Show the voice another tab asks for, or the current one, the remembered one, or the one in training."""
        panel = self._panel
        if wished := visit.just_wished(given.read(self._wish, Wish)).get("voice"):
            return panel.choose(visit, given, wished)
        if panel.view(visit, given.read(panel.voice, str)):
            return panel.show(visit, given, again=True)
        kept = given.read(self._kept, _Kept)
        if kept and (view := panel.view(visit, kept.get("voice"))):
            values: Values = {panel.made[name]: value for name, value in kept["settings"].items() if name in panel.made}
            return panel.restore(visit, Given({**given, panel.voice: kept["voice"], **values}), view)
        voices = visit.do(trainable_view)
        busy = [one.id for one in voices if one.state == "training" or len(voices) == 1]
        return panel.choose(visit, given, busy[0] if busy else None)

    def _choose(self, visit: Visit, given: Given) -> Updates:
        drawn, voice = given.read(self._panel.drawn, list[str | int]), given.read(self._panel.voice, str)
        if drawn and drawn[0] == voice:  # the list was only left: what was set stays
            return None
        return self._panel.choose(visit, given, voice)

    def _keep(self, visit: Visit, given: Given) -> Updates:
        settings = {name: given[control] for name, control in self._panel.made.items()}
        return {self._kept: {"voice": given[self._panel.voice], "settings": settings}}

    def _estimate(self, visit: Visit, given: Given) -> Updates:
        view = self._view(visit, given)
        return {self._panel.estimate: self._panel.estimated(given, view)} if view else None

    def _start(self, visit: Visit, given: Given) -> Updates:
        panel, view = self._panel, self._view(visit, given)
        if view is None:
            sentence = _GONE if given[panel.voice] else CHOOSE
            return panel.show(visit, given, again=True) | {panel.notice: inform(sentence)}
        epochs, settings = panel.values(given)
        answer = visit.do(start_training, view.id, epochs, given_settings(view, settings))
        now = panel.show(visit, given, again=True)
        if answer["status"] == "completed":
            sentence = ntr(
                "{name} is already trained for {epochs} epoch. Set a higher number to continue.",
                "{name} is already trained for {epochs} epochs. Set a higher number to continue.",
                epochs=view.epochs,
                name=view.name,
            )
            now[panel.notice] = inform(sentence)
        return now | {control: gr.update(interactive=False) for control in panel.fixed}

    def _stop(self, visit: Visit, given: Given) -> Updates:
        view = self._view(visit, given)
        if view is not None and view.task and is_active(view):
            visit.do(cancel_task, view.task.id, visit.base_url, visit.now_s)
        return self._panel.show(visit, given) | {self._panel.notice: inform(_STOPPING)}

    def _measure(self, visit: Visit, given: Given) -> Updates:
        panel = self._panel
        voice = given.read(panel.voice, str)
        if not voice:
            return {panel.notice: inform(CHOOSE)}
        visit.do(start_estimate, voice, panel.values(given)[1])
        return panel.show(visit, given)

    def _forget(self, visit: Visit, given: Given) -> Updates:
        panel = self._panel
        voice = given.text(panel.voice)
        visit.do(forget_training, voice)
        now = panel.choose(visit, given, voice)
        return now | {panel.question: gr.Group(visible=False), panel.notice: inform(_FORGOTTEN)}

    def _act_on_queue(self, visit: Visit, data: AskedOfTask, given: Given) -> Updates:
        panel, task_id = self._panel, str(data.get("id"))
        if data.get("action") == "train":
            waiting = visit.do(queue_view, visit.base_url, visit.now_s)
            model = next((task.model for task in waiting if task.id == task_id), given.read(panel.voice, str))
            return panel.choose(visit, given, model)
        visit.do(cancel_task, task_id, visit.base_url, visit.now_s)
        return panel.show(visit, given)

    def _listen(self, visit: Visit, given: Given) -> Values:
        panel = self._panel
        return panel.sounds_of(self._view(visit, given), given.read(panel.part, str), given.read(panel.chosen, int))

    def _choose_epoch(self, visit: Visit, data: ChosenEpoch, given: Given) -> Updates:
        chosen: Values = {self._panel.chosen: data.get("epoch")}
        return chosen | self._listen(visit, Given({**given, **chosen}))

    def _choose_track(self, visit: Visit, data: ChosenTrack, given: Given) -> Updates:
        """Offer the checkpoint that is heard; the first track is the original."""
        panel, view = self._panel, self._view(visit, given)
        part, place = given.read(panel.part, str), int(data["index"]) - 1
        lines = playable(view, part, given.read(panel.chosen, int)) if view else []
        if view is None or not 0 <= place < len(lines):
            return None
        epoch = lines[place]["epoch"]
        return {panel.chosen: epoch, panel.use: panel.offer(view, part, epoch)}

    def _use(self, visit: Visit, given: Given) -> Updates:
        panel, view = self._panel, self._view(visit, given)
        part, chosen = given.read(panel.part, str), given.read(panel.chosen, int)
        said = use_epoch(visit, given.read(panel.voice, str), audible_epoch(view, part, chosen) if view else None)
        return panel.show(visit, given, again=True) | {panel.notice: inform(said)}

    def _follow(self, visit: Visit, given: Given) -> Updates:
        """Update the panel, unless another voice has been chosen since the request."""
        drawn, voice = given.read(self._panel.drawn, list[str | int]), given[self._panel.voice]
        if drawn and drawn[0] != voice:
            return None
        told = {self._panel.notice: inform(_GONE)} if voice and self._view(visit, given) is None else {}
        return self._panel.show(visit, given) | told

    def _view(self, visit: Visit, given: Given) -> TrainingView | None:
        return self._panel.view(visit, given.read(self._panel.voice, str))
