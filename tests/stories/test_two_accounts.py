"""Two accounts of one service: neither sees the other's data, even with the other's browser storage."""

import json
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

import engine
from studio.load.trial_service import TrialService, trial_service

SPEECH = Path(engine.__path__[0]) / "samples" / "speech.flac"
NOTHING, NOTHING_DONE = "No recordings yet", "Nothing here yet"


def logged_in(browser: Browser, service: TrialService, name: str) -> Page:
    page = browser.new_context().new_page()
    page.goto(service.base_url)
    page.get_by_label("Account").fill(name)
    page.get_by_label("Token").fill(service.token(name))
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("tab", name="Convert", exact=True).wait_for()
    return page


def test_page_hides_recordings_drafts_and_tasks_of_another_account(browser, open_tab, tmp_path):
    with trial_service(tmp_path / "home", executor="none", host="0.0.0.0") as service:
        anna, bert = logged_in(browser, service, "anna"), logged_in(browser, service, "bert")
        open_tab(anna, "Convert")
        anna.locator("#convert-drop input[type=file]").first.set_input_files(SPEECH)
        expect(anna.locator("#convert-listening")).to_contain_text("speech.flac")
        anna.get_by_role("button", name="Convert", exact=True).click()
        expect(anna.locator("#convert-progress").get_by_role("button", name="Cancel")).to_be_visible()
        open_tab(anna, "Create")
        anna.locator("#create-files input[type=file]").set_input_files(SPEECH)
        expect(anna.locator("#create-gathered")).to_contain_text("speech.flac")

        memory = anna.evaluate("({...localStorage})")
        assert {"timbre-convert-recording", "timbre-convert-results", "timbre-create-draft"} <= set(memory)
        bert.evaluate("memory => Object.assign(localStorage, JSON.parse(memory))", json.dumps(memory))
        bert.reload()
        open_tab(bert, "Create")
        expect(bert.locator("#create-gathered")).to_contain_text(NOTHING)
        open_tab(bert, "History")
        expect(bert.locator("timbre-tasks .empty")).to_contain_text(NOTHING_DONE)
        open_tab(bert, "Convert")
        expect(bert.locator("#convert-drop")).to_be_visible()
        expect(bert.locator("#convert-listening")).to_be_hidden()
        expect(bert.locator("#convert-progress").get_by_role("button", name="Cancel")).to_be_hidden()
        open_tab(anna, "History")
        expect(anna.locator("timbre-tasks .task .title")).to_have_count(1)
        for page in (anna, bert):
            page.context.close()
