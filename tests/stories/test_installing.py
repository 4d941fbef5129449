"""What the studio works without is installed from its page, without a restart; here nothing of it can be fetched."""

import os
import re
import socket
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from engine.songs.separator_file import FOLDER, HTDEMUCS_FT_VOCALS
from studio.load.trial_service import trial_service


@pytest.fixture
def silent_proxy(monkeypatch):
    """A proxy that takes connections and never answers, until it is closed."""
    listening = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{listening.getsockname()[1]}")
    yield listening
    listening.close()


@pytest.fixture
def studio_page(silent_proxy, home):
    with trial_service(home) as running:
        yield running


def test_vocal_extraction_is_installed_from_the_page(visitor, studio_page, silent_proxy):
    visitor.locator("#convert-song").get_by_role("button", name="Song").first.click()
    full_mix = visitor.get_by_label("Full mix? Extract the vocal")
    expect(full_mix).to_be_disabled()
    offer = visitor.locator("#song-separator")
    for said in ("htdemucs_ft vocals", "166 MB", "MIT", "Meta"):
        expect(offer).to_contain_text(said)
    install = offer.get_by_role("button", name="Install (166 MB)")
    install.click()
    asked, _ = silent_proxy.accept()
    assert asked.recv(1000).startswith(f"CONNECT {urlsplit(HTDEMUCS_FT_VOCALS.url).hostname}:443".encode())
    expect(offer.locator("progress")).to_be_visible()
    visitor.reload()  # it goes on, and is seen to
    visitor.locator("#convert-song").get_by_role("button", name="Song").first.click()
    offer.get_by_role("button", name="Cancel").click()
    expect(offer).to_contain_text("stopping")
    asked.close()
    expect(offer).to_contain_text("Cancelled.")
    silent_proxy.close()
    install.click()
    expect(offer).to_contain_text(re.compile("could not be fetched.*separation fetch --file FILE"))
    folder = studio_page.home / FOLDER
    folder.mkdir(exist_ok=True)
    (folder / HTDEMUCS_FT_VOCALS.file_name).touch()
    os.truncate(folder / HTDEMUCS_FT_VOCALS.file_name, HTDEMUCS_FT_VOCALS.size)  # as if by the command
    visitor.reload()
    visitor.locator("#convert-song").get_by_role("button", name="Song").first.click()
    expect(full_mix).to_be_enabled()
    expect(offer).to_be_hidden()
