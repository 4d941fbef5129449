"""The Train tab: how long it takes, watching and hearing a voice improve, stopping and going on."""

from typing import Any

import gradio as gr

from engine.training.plan import TrainingPlan
from studio.actions.tasks import cancel_task
from studio.actions.trainings import forget_training, queue_view, start_estimate, start_training, trainable_view
from studio.page.parts.controls import controls
from studio.page.parts.element import element
from studio.page.parts.memory import remembered
from studio.page.parts.notice import notice, told
from studio.page.parts.page import Page, Visit
from studio.page.tabs.train_course import given_settings, is_active
from studio.page.tabs.train_panel import CHOOSE, Given, Panel

_POLL_S = 1.0
_SETTINGS = ("patience", "evaluate_epochs", "batch", "learning_rate", "foreign", "seed")
_GONE = "This voice is no longer here: it was deleted meanwhile."
# the tab is shown and a voice is wished at the same moment; one after the other, so that the wish is what is shown
_IN_TURN: dict[str, Any] = {"concurrency_id": "train", "concurrency_limit": 1}
_STOPS = "It stops, and keeps what it has learned: it can go on from there."
_FORGOTTEN = "What was learned is forgotten: the next training begins anew."


def build_train_tab(page: Page, tab: gr.Tab) -> None:
    """Layout and events; to be called inside `tab`."""
    with gr.Row(equal_height=False):
        with gr.Column(scale=2, min_width=320):
            voice = gr.Dropdown([], label="Voice", info="Those that were made of recordings here.")
            state = element("facts", elem_id="train-state")
            made = controls(TrainingPlan, ["epochs"])
            estimate = gr.HTML(elem_id="train-estimate")
            with gr.Row():
                start = gr.Button("Start training", variant="primary", interactive=False)
                stop = gr.Button("Stop", variant="stop", visible=False)
            said = notice("train-notice")
            with gr.Accordion("More settings", open=False):
                made |= controls(TrainingPlan, _SETTINGS)
                measure = gr.Button("Measure the time with these", size="sm")
                afresh = gr.Button("Begin afresh …", size="sm", visible=False)
                with gr.Group(visible=False) as question:
                    gr.Markdown("Forget all that was learned so far? The recordings and the voice as it is now stay.")
                    with gr.Row():
                        sure = gr.Button("Forget it", variant="stop", size="sm")
                        keep = gr.Button("Keep it", size="sm")
        with gr.Column(scale=5, min_width=360):
            queue = element("tasks", events=("asked",), elem_id="train-queue")
            course = element("curves", events=("chosen",), elem_id="train-curves")
            part = gr.Dropdown([], label="Listen to", visible=False, filterable=False)
            player = element("player", elem_id="train-player")
            scores = element("facts", elem_id="train-scores")
    timer, drawn, chosen = gr.Timer(_POLL_S, active=False), gr.State([]), gr.State(None)
    kept, wish = remembered("train", {}), page.wishes["train"]
    panel = Panel(
        voice, state, estimate, start, stop, afresh, queue, course, part, player, scores, timer, drawn, chosen, made
    )  # fmt: skip

    def come(visit: Visit, given: Given) -> Any:
        """With the voice that another tab asks for; else with what was there when the tab was left, or the page; else
        with the voice that is in training."""
        if asked_for := visit.just_wished(given[wish]).get("voice"):
            return panel.choose(visit, given, asked_for)
        if panel.view(visit, given[voice]):
            return panel.show(visit, given, again=True)
        voices = trainable_view(visit.studio, visit.account)
        before = given[kept] or {}
        if view := panel.view(visit, before.get("voice")):
            values = {made[name]: value for name, value in before["settings"].items() if name in made}
            return panel.restore(visit, {**given, voice: before["voice"], **values}, view)
        busy = [one["id"] for one in voices if one["state"] == "training" or len(voices) == 1]
        return panel.choose(visit, given, busy[0] if busy else None)

    def remember(visit: Visit, given: Given) -> Any:
        return {kept: {"voice": given[voice], "settings": {name: given[one] for name, one in made.items()}}}

    def estimated(visit: Visit, given: Given) -> Any:
        view = panel.view(visit, given[voice])
        return {estimate: panel.estimated(given, view)} if view else None

    def begin(visit: Visit, given: Given) -> Any:
        view = panel.view(visit, given[voice])
        if view is None:
            return panel.show(visit, given, again=True) | {said: told(_GONE if given[voice] else CHOOSE)}
        epochs, settings = panel.values(given)
        answer = start_training(visit.studio, visit.account, view["id"], epochs, given_settings(view, settings))
        now = panel.show(visit, given, again=True)
        if answer["status"] == "completed":
            now[said] = told(f"{view['name']} has been trained for {view['epochs']} epochs already: ask for more.")
        return now | {control: gr.update(interactive=False) for control in panel.fixed}

    def end(visit: Visit, given: Given) -> Any:
        view = panel.view(visit, given[voice])
        if view is not None and is_active(view):
            cancel_task(visit.studio, visit.account, view["task"]["id"], visit.base_url, visit.now_s)
        return panel.show(visit, given) | {said: told(_STOPS)}

    def measured(visit: Visit, given: Given) -> Any:
        if not given[voice]:
            return {said: told(CHOOSE)}
        start_estimate(visit.studio, visit.account, given[voice], panel.values(given)[1])
        return panel.show(visit, given)

    def forget(visit: Visit, given: Given) -> Any:
        forget_training(visit.studio, visit.account, given[voice])
        now = panel.choose(visit, given, given[voice])
        return now | {question: gr.Group(visible=False), said: told(_FORGOTTEN)}

    def of_queue(visit: Visit, data: dict[str, Any], given: Given) -> Any:
        task_id = str(data.get("id"))
        if data.get("action") == "train":
            waiting = queue_view(visit.studio, visit.account, visit.base_url, visit.now_s)
            model = next((task["model"] for task in waiting if task["id"] == task_id), given[voice])
            return panel.choose(visit, given, model)
        cancel_task(visit.studio, visit.account, task_id, visit.base_url, visit.now_s)
        return panel.show(visit, given)

    def listen(visit: Visit, given: Given) -> Any:
        view = panel.view(visit, given[voice])
        return panel.heard(view, given[part], given[chosen])

    def hear(visit: Visit, data: dict[str, Any], given: Given) -> Any:
        return {chosen: data.get("epoch"), **listen(visit, {**given, chosen: data.get("epoch")})}

    def watch(visit: Visit, given: Given) -> Any:
        """What was sent of another voice than is shown by now is late."""
        late = given[drawn] and given[drawn][0] != given[voice]
        return None if late else panel.show(visit, given)

    def leave(visit: Visit, to: dict[str, Any]) -> Any:
        return {timer: gr.Timer(active=False)} if to.get("value") != "Train" else None

    asked, seen = panel.asked, panel.seen
    page.on(tab.select, come, asked | {kept, wish}, panel.all, **_IN_TURN)
    page.on(wish.change, come, asked | {kept, wish}, panel.all, **_IN_TURN)
    page.on(timer.tick, watch, asked, seen, trigger_mode="once")
    page.on_return(tab, panel.come_back, asked, seen)
    page.on(
        voice.input, lambda visit, given: panel.choose(visit, given, given[voice]), asked, panel.all, notice=said
    )  # fmt: skip
    for control in (voice, *made.values()):
        page.on(control.change, remember, asked, [kept])
    for name in ("epochs", "evaluate_epochs"):
        page.on(made[name].change, estimated, asked, [estimate])
    page.on(start.click, begin, asked, [*seen, *panel.fixed], notice=said)
    page.on(stop.click, end, asked, seen, notice=said)
    page.on(measure.click, measured, asked, seen, notice=said)
    page.on(afresh.click, lambda visit: {question: gr.Group(visible=True)}, [], [question])
    page.on(keep.click, lambda visit: {question: gr.Group(visible=False)}, [], [question])
    page.on(sure.click, forget, asked, [*panel.all, question], notice=said)
    page.on_data(queue.asked, of_queue, asked, panel.all, notice=said)
    page.on(part.input, listen, asked, [player, scores])
    page.on_data(course.chosen, hear, asked, [player, scores, chosen])
    page.on_data(page.tabs.select, leave, [], [timer])
