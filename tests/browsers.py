"""Fixtures for the page in a real browser, on a real service with its workers. Tests are skipped without chromium."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.load.trial_service import TrialService, trial_service

SCREENSHOTS = Path(__file__).parents[1] / ".screenshots"
FIRST_STORY = "test_a_new_visitor_converts_a_sample_in_three_clicks_and_compares"
LANGUAGE = "en-GB"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
PATIENCE_MS = 60_000  # for what is no work of the engine, where other tests keep the machine busy
# a page that was left before its stream of events ended says so, and gradio what is put in and is no audio
HARMLESS = ("AbortError", "Connection errored out", "net::ERR_ABORTED", "ERR_CONNECTION_REFUSED", "Waveform load error")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests in a browser as slow, except the first steps of every visitor."""
    for item in items:
        in_browser = "browser" in getattr(item, "fixturenames", ())
        if in_browser and item.path.stem != "test_page_as_a_whole" and item.name != FIRST_STORY:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def studio_page(tmp_path_factory) -> Iterator[TrialService]:
    """A service with its page and workers, for all tests of the page; each should leave it as it found it."""
    with trial_service(tmp_path_factory.mktemp("page") / "home") as service:
        yield service


@pytest.fixture(scope="module")  # while a browser is open its event loop runs, which other modules' tests cannot have
def browser() -> Iterator[Browser]:
    """Debian's chromium, without a window."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("There is no chromium here: tests of the page in a browser are left out (apt install chromium)")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=program,
            args=["--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"],
        )
        yield opened
        opened.close()


@pytest.fixture
def new_visitor(browser, studio_page) -> Iterator[Callable[..., Page]]:
    """Makes visitors of the page: `new_visitor("Voices", viewport=PHONE, color_scheme="dark")` has it open there.

    At the end no script has failed, nothing was complained of, and nothing was asked of any other machine.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def visit(tab: str = "Convert", **options) -> Page:
        context = browser.new_context(**{"viewport": WIDE, "locale": LANGUAGE, "accept_downloads": True} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("pageerror", lambda error: complaints.append(f"script: {error}"))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("request", lambda asked: complaints.append(f"outside: {asked.url}") if _outside(asked.url) else None)
        page.goto(studio_page.base_url)
        _open_tab(page, tab)
        return page

    def _outside(url: str) -> bool:
        return not url.startswith((studio_page.base_url, "data:", "blob:", "about:"))

    yield visit
    for context in contexts:
        context.close()
    assert not [text for text in complaints if not any(part in text for part in HARMLESS)]


@pytest.fixture
def visitor(new_visitor) -> Page:
    """Somebody who has just opened the page."""
    return new_visitor()


@pytest.fixture
def open_tab() -> Callable[[Page, str], None]:
    """Goes to a tab, and waits until it is there: `open_tab(page, "Voices")`."""
    return _open_tab


def _open_tab(page: Page, name: str) -> None:
    page.get_by_role("tab", name=name, exact=True).click()
    page.locator("[role=tabpanel]:visible").first.wait_for()


@pytest.fixture
def photographed() -> Callable[[Page, str], None]:
    """Saves what a visitor sees, in both themes and at a phone's width, as .screenshots/NAME-{light,dark,phone}.png."""

    def photograph(page: Page, name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        for look, viewport, dark in (("light", WIDE, False), ("dark", WIDE, True), ("phone", PHONE, False)):
            page.set_viewport_size(viewport)
            page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
            page.wait_for_timeout(300)
            page.screenshot(path=SCREENSHOTS / f"{name}-{look}.png", full_page=True)
        page.set_viewport_size(WIDE)

    return photograph
