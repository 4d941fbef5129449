import errno
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from engine.errors import Cancelled, SettingsError, WrongFileError
from engine.progress import no_report
from engine.songs.separator_file import checked_separator
from studio.actions.fetched_models import Installs, can_install, fetch, refuse_without_separator, separator
from studio.errors import Unavailable, WrongState
from studio.settings.service import DEMO, ServiceSettings
from tests.studio.actions.pinned_files import CONTENT, Server
from tests.waiting import PATIENCE_S, wait_until


def test_fetch_downloads_the_pinned_separator_only_once(studio, pinned):
    seen = []
    path = fetch(studio, separator(studio.settings), lambda *one: seen.append(one[0]))
    assert path == checked_separator(studio.settings.separators)
    assert path.read_bytes() == CONTENT
    assert seen[-1] == 1.0
    assert fetch(studio, separator(studio.settings), no_report) == path
    assert Server.asked == [None]
    assert [one.name for one in path.parent.iterdir()] == [pinned.file_name]


def test_fetch_by_two_at_once_downloads_once_and_shows_the_progress_of_the_first(studio, pinned):
    """Both would write into the same unfinished file."""
    begun, waited = threading.Event(), threading.Event()

    def first(fraction, message):
        begun.set()
        assert waited.wait(PATIENCE_S)

    def second(fraction, message):
        assert message == f"fetching {pinned.name}"
        waited.set()

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(fetch, studio, separator(studio.settings), first)
        assert begun.wait(PATIENCE_S)
        other = pool.submit(fetch, studio, separator(studio.settings), second)
        assert one.result() == other.result() == checked_separator(studio.settings.separators)
    assert Server.asked == [None]


def test_fetch_goes_on_where_another_was_stopped_while_it_waited(studio, pinned):
    begun, waited = threading.Event(), threading.Event()

    def first(fraction, message):
        begun.set()
        assert waited.wait(PATIENCE_S)
        if fraction > 0.4:
            raise Cancelled

    with ThreadPoolExecutor(2) as pool:
        one = pool.submit(fetch, studio, separator(studio.settings), first)
        assert begun.wait(PATIENCE_S)
        other = pool.submit(fetch, studio, separator(studio.settings), lambda *_: waited.set())
        with pytest.raises(Cancelled):
            one.result()
        assert other.result().read_bytes() == CONTENT
    assert Server.asked[0] is None
    assert len(Server.asked) == 2
    assert Server.asked[1] is not None


def test_fetch_uses_a_proxy_that_works_beside_one_that_cannot_be_used(studio, pinned, monkeypatch):
    proxy = pinned.url.removesuffix("/there")
    monkeypatch.setenv("http_proxy", proxy)
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "[::1]")  # all three stopped httpx
    elsewhere = replace(separator(studio.settings), file=replace(pinned, url="http://models.invalid/there"))
    assert fetch(studio, elsewhere, no_report).read_bytes() == CONTENT


def test_fetch_names_the_variable_of_a_proxy_that_cannot_be_used(studio, pinned, monkeypatch):
    monkeypatch.setenv("all_proxy", "socks5://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "localhost")
    elsewhere = replace(separator(studio.settings), file=replace(pinned, url="http://models.invalid/there"))
    with pytest.raises(SettingsError, match="The proxy that all_proxy names cannot be used"):
        fetch(studio, elsewhere, no_report)
    assert Server.asked == []


def test_fetch_replaces_a_damaged_separator(studio, pinned):
    studio.settings.separators.mkdir()
    (studio.settings.separators / pinned.file_name).write_bytes(CONTENT[::-1])
    assert fetch(studio, separator(studio.settings), no_report).read_bytes() == CONTENT


def stop_at(share):
    def report(fraction, message):
        if fraction > share:
            raise Cancelled

    return report


def test_fetch_resumes_a_stopped_download(studio, pinned):
    wanted = separator(studio.settings)
    with pytest.raises(Cancelled):
        fetch(studio, wanted, stop_at(0.4))
    assert wanted.received > 0.4
    assert fetch(studio, wanted, no_report).read_bytes() == CONTENT
    assert Server.asked[0] is None
    assert int(Server.asked[1].removeprefix("bytes=").rstrip("-")) > 0.4 * len(CONTENT)


def test_fetch_refuses_a_wrong_checksum_and_keeps_no_file(studio, pinned):
    wanted = separator(studio.settings)
    with pytest.raises(WrongFileError, match="its checksum differs"):
        fetch(studio, replace(wanted, file=replace(pinned, sha256="0" * 64)), no_report)
    assert list(studio.settings.separators.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "sentence"),
    [("/gone", "answered 404"), (":0/nowhere", "resumes where it stopped"), ("//xn--a", "resumes where it stopped")],
)
def test_fetch_reports_an_unreachable_file_and_names_the_command_for_an_own_copy(studio, pinned, path, sentence):
    base = pinned.url.removesuffix("/there")
    url = {":0/nowhere": "http://127.0.0.1:1/nowhere", "//xn--a": "http://xn--a/"}.get(path, base + path)
    with pytest.raises(Unavailable, match=f"{sentence}.*separation fetch --file FILE") as error:
        fetch(studio, replace(separator(studio.settings), file=replace(pinned, url=url)), no_report)
    assert error.value.code == "not_reachable"


def test_fetch_says_that_the_data_folder_cannot_be_written_to(studio, pinned, monkeypatch):
    def refused(self, timeout):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("studio.actions.fetched_models.FileLock.acquire", refused)
    with pytest.raises(Unavailable, match="The data folder cannot be written to") as error:
        fetch(studio, separator(studio.settings), no_report)
    assert error.value.code == "not_writable"


def test_refuse_without_separator_names_the_fetch_command(studio):
    with pytest.raises(WrongState, match="separation fetch where the studio runs") as error:
        refuse_without_separator(studio.settings)
    assert error.value.code == "no_separator"


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
