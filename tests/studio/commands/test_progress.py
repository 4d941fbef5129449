import signal
import threading

import pytest
from rich.progress import Progress

from engine.errors import Cancelled
from engine.texts import tr
from studio.commands.progress import progress_bar
from studio.commands.wording import be_quiet
from tests.catalogues import catalogue


@pytest.mark.parametrize("request_to_stop", [signal.SIGINT, signal.SIGTERM])
def test_progress_bar_raises_cancelled_at_the_next_report_after_a_signal(request_to_stop):
    with progress_bar() as report:
        report(0.1, "working")
        signal.raise_signal(request_to_stop)
        with pytest.raises(Cancelled):
            report(0.2, "working")


def test_progress_bar_raises_keyboard_interrupt_at_a_second_signal():
    with progress_bar():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_progress_bar_restores_signal_handlers():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with progress_bar():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


def test_progress_bar_draws_nothing_without_a_terminal(capsys):
    with progress_bar() as report:
        report(0.5, "working")
    assert capsys.readouterr() == ("", "")


def test_progress_bar_writes_a_line_a_minute_without_a_terminal_unless_quiet(capsys):
    seconds = iter([0.0, 30.0, 61.0, 61.0, 100.0, 122.0, 122.0])
    with progress_bar(clock=lambda: next(seconds)) as report:
        for fraction in (0.1, 0.2, 0.3, 0.4):
            report(fraction, "working")
    assert capsys.readouterr() == ("", " 20%  working\n 40%  working\n")
    be_quiet(True)
    with progress_bar(clock=lambda: 0.0) as report:
        report(0.1, "working")
    be_quiet(False)
    assert capsys.readouterr() == ("", "")


def test_progress_bar_translates_messages_in_any_thread(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(Progress, "update", lambda bar, task, **values: drawn.append(values["description"]))
    monkeypatch.setenv("TIMBRE_STUDIO_LANGUAGE", "de")
    with (
        catalogue(tmp_path, "de", {"epoch {epoch} of {epochs}": "Epoche {epoch} von {epochs}"}),
        progress_bar() as report,
    ):
        thread = threading.Thread(target=report, args=(0.5, tr("epoch {epoch} of {epochs}", epoch=3, epochs=100)))
        thread.start()
        thread.join()
    assert drawn == ["Epoche 3 von 100"]
