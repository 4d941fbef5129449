"""The Settings tab as visitors use it."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, expect

import engine
from studio.client import Client
from tests.waiting import PATIENCE_S, WORK_MS

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"


@pytest.fixture
def page(visitor, open_tab) -> Page:
    """Somebody who looks at the settings."""
    visitor.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_tab(visitor, "Settings")
    expect(visitor.locator("#storage .fact").first).to_be_visible()
    return visitor


def status(service, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    return httpx.get(f"{service.base_url}/models", headers=headers, trust_env=False, timeout=PATIENCE_S).status_code


def test_settings_tab_creates_shows_copies_and_revokes_a_token(studio_page, page, open_tab):
    name = "my <b>program</b>"
    page.get_by_label("Token name").fill(name)
    page.get_by_role("button", name="Create token").click()
    shown = page.get_by_label(f"New token {name}")
    token = shown.input_value()
    assert status(studio_page, token) == 200
    page.locator("#tokens .made .copy").click()
    assert page.evaluate("navigator.clipboard.readText()") == token

    page.get_by_role("button", name="Done").click()
    expect(shown).to_have_count(0)
    open_tab(page, "History")
    open_tab(page, "Settings")
    expect(page.locator("#tokens tbody tr").filter(has_text=name)).to_have_count(1)
    assert token not in page.content()
    assert token not in studio_page.log.read_text(encoding="utf-8")

    page.get_by_role("button", name=f"Revoke {name}").click()
    page.get_by_role("button", name="Cancel").click()
    assert status(studio_page, token) == 200
    page.get_by_role("button", name=f"Revoke {name}").click()
    page.locator("#tokens .sure").click()
    expect(page.locator("#tokens-notice")).to_contain_text("has been revoked")
    assert status(studio_page, token) == 401
    expect(page.locator("#tokens details")).to_contain_text("No longer valid")


def test_settings_tab_hides_a_new_token_after_leaving_the_tab(page, open_tab):
    page.get_by_role("button", name="Create token").click()
    expect(page.locator("#tokens .made")).to_have_count(1)
    open_tab(page, "Convert")
    expect(page.locator("#tokens .made")).to_have_count(0)
    open_tab(page, "Settings")
    expect(page.locator("#tokens tbody tr").first).to_be_visible()
    expect(page.locator("#tokens .made")).to_have_count(0)


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed here")
def test_settings_tab_offers_the_last_call_for_a_terminal(studio_page, page, open_tab, tmp_path, photographed):
    token = studio_page.token()
    with Client(studio_page.base_url, token) as client:
        client.convert(SPEECH, "kathleen", transpose="auto")
        open_tab(page, "History")
        open_tab(page, "Settings")
        expect(page.locator("#last-call")).to_contain_text("Converting speech.flac to kathleen")
        photographed(page, "settings")
        page.locator("#last-call .copy").click()
        lines = page.evaluate("navigator.clipboard.readText()")
        assert studio_page.base_url in lines
        assert token not in lines
        shutil.copy(SPEECH, tmp_path)
        environment = {"PATH": "/usr/bin:/bin", "TOKEN": token}
        ran = subprocess.run(["sh", "-c", lines], cwd=tmp_path, env=environment, capture_output=True, check=True)
        started = json.loads(ran.stdout[: ran.stdout.index(b"}") + 1])  # what the second line says comes behind it
        again = client.task(started["task_id"])
        assert (again["file_name"], again["model"]) == ("speech.flac", "kathleen")
        client.cancel(started["task_id"])


def test_settings_tab_keeps_the_theme_after_a_reload(page, open_tab):
    is_dark = "document.body.classList.contains('dark')"
    assert not page.evaluate(is_dark)
    page.get_by_label("Dark", exact=True).check()
    assert page.evaluate(is_dark)
    page.reload()
    page.get_by_role("tab", name="Settings", exact=True).wait_for()
    page.wait_for_function(is_dark)
    open_tab(page, "Settings")
    expect(page.get_by_label("Dark", exact=True)).to_be_checked()
    page.get_by_label("System", exact=True).check()
    assert not page.evaluate(is_dark)


def test_settings_tab_light_theme_overrides_a_dark_system(new_visitor, open_tab):
    page = new_visitor("Settings", color_scheme="dark")
    page.wait_for_function("document.body.classList.contains('dark')")
    page.get_by_label("Light", exact=True).check()
    page.wait_for_function("!document.body.classList.contains('dark')")
    page.reload()
    page.get_by_role("tab", name="Settings", exact=True).wait_for()
    page.wait_for_function("!document.body.classList.contains('dark')")


def test_settings_tab_shows_machine_storage_and_limits(studio_page, page):
    expect(page.locator("#machine")).to_contain_text(re.compile(r"\d+ for conversions, 1 for trainings"))
    expect(page.locator("#storage")).to_contain_text(str(studio_page.home))
    expect(page.locator("#storage")).to_contain_text("cache")
    page.get_by_role("button", name="Clear cache").click()
    expect(page.locator("#storage-notice")).to_contain_text("Cleared.")
    expect(page.locator("#limits")).to_contain_text("60 minutes")
    page.get_by_role("button", name="Check this machine").click()
    expect(page.locator("#findings")).to_contain_text("device cpu", timeout=WORK_MS)
    expect(page.get_by_role("button", name="Check this machine")).to_be_enabled()
