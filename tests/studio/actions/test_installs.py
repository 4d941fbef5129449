import threading
from dataclasses import replace

import pytest

from studio.actions.installs import Installs, can_install
from studio.actions.separators import separator
from studio.settings.service import DEMO, ServiceSettings
from tests.studio.actions.pinned_files import CONTENT, Server
from tests.waiting import wait_until


@pytest.fixture
def installs(studio):
    return Installs(studio)


def test_install_fetches_in_the_background_and_is_seen_when_done(studio, installs, pinned):
    wanted = separator(studio.settings)
    assert not installs.view(wanted).is_installed
    installs.begin(wanted)
    wait_until(lambda: installs.view(wanted).is_installed)
    assert wanted.found().read_bytes() == CONTENT
    assert installs.view(wanted).error == ""


def test_stopped_install_keeps_what_it_received_and_goes_on(studio, installs, pinned, monkeypatch):
    wanted, held, go = separator(studio.settings), threading.Event(), threading.Event()

    def write_half(self):
        self.send_response(200)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(CONTENT[: len(CONTENT) // 2])
        held.set()
        go.wait()

    with monkeypatch.context() as patched:
        patched.setattr(Server, "do_GET", write_half)
        installs.begin(wanted)
        installs.begin(wanted)  # another window: still one fetch
        held.wait()
        wait_until(lambda: wanted.received > 0)
        installs.stop(wanted)
        go.set()
        wait_until(lambda: not installs.view(wanted).is_running)
    seen = installs.view(wanted)
    assert (seen.is_installed, seen.is_stopped, seen.error) == (False, True, "")
    assert wanted.partial.exists()
    installs.begin(wanted)
    wait_until(lambda: installs.view(wanted).is_installed)
    (asked,) = Server.asked
    assert asked.startswith("bytes=")


def test_failed_install_shows_why(studio, installs, pinned):
    wanted = separator(studio.settings)
    wanted = replace(wanted, file=replace(pinned, url=pinned.url.replace("there", "gone")))
    installs.begin(wanted)
    wait_until(lambda: not installs.view(wanted).is_running)
    assert "answered 404" in installs.view(wanted).error


def test_only_a_page_of_this_machine_installs():
    here = ServiceSettings()
    assert can_install(here)
    for other in (DEMO, replace(here, host="0.0.0.0"), replace(here, executor="none"), replace(here, demo="on")):
        assert not can_install(other)
