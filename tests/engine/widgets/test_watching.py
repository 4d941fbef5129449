import os
import signal
from collections.abc import Iterator

import pytest

from engine.errors import Cancelled
from engine.training.history import TrainingHistory, write_history
from engine.widgets import watching as module
from engine.widgets.watching import progress, watched_training


@pytest.fixture(autouse=True)
def interrupts_are_heard() -> Iterator[None]:
    """As in a notebook; where a shell runs the tests in the background, it has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def shown(monkeypatch) -> list:
    """What is put into the cell."""
    widgets: list = []
    monkeypatch.setattr(module, "display", widgets.append)
    return widgets


def history(epoch: int) -> TrainingHistory:
    scores = {"epoch": 0, "likeness": 0.8, "content": 0.7, "mel_distance": 0.4, "score": 0.9}
    return TrainingHistory("training", 4, [{"epoch": one, "envelope": 0.5} for one in range(1, epoch + 1)], [scores])


def test_progress_moves_the_bar_and_shows_the_message(shown):
    report = progress()
    report(0.25, "converting")
    bar, text = shown[0].children
    assert (bar.value, text.value) == (0.25, "converting")
    report(1.0, "converting")
    assert (bar.value, text.value) == (1.0, "done")


def test_watched_training_redraws_the_curves_after_each_epoch(shown, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LOOK_S", 0.0)
    pictures = []
    with watched_training(tmp_path) as report:
        report(0.0, "preparing")
        _, told, curves = shown[0].children
        assert not curves.children
        for epoch in (1, 2):
            write_history(history(epoch), tmp_path)
            report(epoch / 4, f"epoch {epoch}")
            pictures.append(bytes(curves.children[0].value))
    assert pictures[0] != pictures[1]
    assert told.value == ""
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_watched_training_stops_at_the_given_share(shown, tmp_path):
    write_history(history(2), tmp_path)
    seen = []
    with watched_training(tmp_path, stop_at=0.5) as report:
        for step in range(8):
            seen.append(step)
            report(step / 8, "learning")
    assert seen == [0, 1, 2, 3, 4]
    assert "Stopped after epoch 2" in shown[0].children[1].value
    assert shown[0].children[2].children  # its curves are there


def test_watched_training_stops_at_the_next_report_after_an_interrupt(shown, tmp_path):
    with watched_training(tmp_path) as report:
        report(0.1, "learning")
        os.kill(os.getpid(), signal.SIGINT)  # what the notebook's stop button sends
        with pytest.raises(Cancelled):
            report(0.2, "learning")
        raise Cancelled  # as `train` passes it on, having saved
    assert "Stopped" in shown[0].children[1].value
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_watched_training_stops_at_once_on_a_second_interrupt(shown, tmp_path):
    def press_twice():
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), watched_training(tmp_path):
        press_twice()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_watched_training_raises_errors_of_the_training(shown, tmp_path):
    with pytest.raises(ZeroDivisionError), watched_training(tmp_path):
        raise ZeroDivisionError
