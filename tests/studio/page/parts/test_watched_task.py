import gradio as gr

from studio.page.parts.watched_task import WatchedTask


def test_watched_task_begins_and_ends_its_timer():
    with gr.Blocks():
        task = WatchedTask(0.5)
    assert (task.timer.value, task.timer.active) == (0.5, False)
    states = [updates[task.timer].active for updates in (task.begin(), task.begin(False), task.end())]
    assert states == [True, False, False]
