"""Fixtures for the page in a real browser, on a real service with its workers. Tests are skipped without chromium."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from engine.errors import EngineError
from studio.load import chromium
from studio.load.trial_service import TrialService
from tests.waiting import WORK_MS

SCREENSHOTS = Path(__file__).parents[1] / ".screenshots"
FIRST_STORIES = (
    "test_a_new_visitor_converts_a_sample_in_three_clicks_and_compares",
    "test_axe_finds_nothing_on_any_tab",
    "test_the_page_is_shown_in_the_chosen_language",
)
LANGUAGE = "en-GB"
WIDE, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
WITHOUT_SCROLL_BARS = ["--hide-scrollbars"]  # Playwright's own wish: Windows and Linux show them
# logged by pages that are closed with open streams, and by gradio for files that are not audio
HARMLESS = (
    *("AbortError", "Connection errored out", "net::ERR_ABORTED", "ERR_CONNECTION_REFUSED", "Waveform load error"),
    # gradio forgets the messages of a session whose stream a reload cuts, and ends the next one with an error
    *("Unexpected error 404: Not Found", "ERR_INCOMPLETE_CHUNKED_ENCODING", "TypeError: network error"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests in a browser as slow, or as system if they are the first steps of every visitor."""
    for item in items:
        if "browser" not in getattr(item, "fixturenames", ()):
            continue
        early = item.path.stem == "test_page_as_a_whole" or item.name in FIRST_STORIES
        item.add_marker(pytest.mark.system if early else pytest.mark.slow)


@pytest.fixture(scope="session")
def studio_page(service) -> TrialService:
    """The service whose page all page tests share, without a log-in; each test cleans up after itself."""
    return service


@pytest.fixture(scope="module")  # its event loop must not run during other modules' tests
def browser() -> Iterator[Browser]:
    """Debian's chromium, without a window."""
    expect.set_options(timeout=WORK_MS)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=chromium_program(),
            args=["--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"],
            ignore_default_args=WITHOUT_SCROLL_BARS,
        )
        yield opened
        opened.close()


def chromium_program() -> str:
    """Return the path of the installed browser; skips without one."""
    try:
        return chromium.chromium_program()
    except EngineError as missing:
        pytest.skip(str(missing))


@contextmanager
def blank_page(browser: Browser, head: str, **options) -> Iterator[Page]:
    """A page without a service: what a test puts into it, with the files that its head asks for.

    Fails at the end if a script failed, or the console shows an error.
    """
    from studio.page.page_files import page_file

    complaints: list[str] = []
    content = f'<!doctype html><html><head><link rel="icon" href="data:,">{head}</head><body></body></html>'
    context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}} | options)
    page = context.new_page()
    page.set_default_timeout(WORK_MS)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.route("**/page-files/*", lambda route: route.fulfill(path=page_file(route.request.url.rpartition("/")[2])))
    page.route("**/blank", lambda route: route.fulfill(body=content, content_type="text/html"))
    page.goto("http://page.test/blank")
    yield page
    context.close()
    assert not complaints


@pytest.fixture
def new_visitor(browser, studio_page) -> Iterator[Callable[..., Page]]:
    """Open the page as a new visitor: `new_visitor("Voices", viewport=PHONE, color_scheme="dark")`.

    Fails at the end if a script failed, the console shows an error, or a request went to another machine.
    """
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def visit(tab: str = "Convert", **options) -> Page:
        context = browser.new_context(**{"viewport": WIDE, "locale": LANGUAGE, "accept_downloads": True} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WORK_MS)
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
    """The page, just opened by a new visitor."""
    return new_visitor()


@pytest.fixture
def open_tab() -> Callable[[Page, str], None]:
    """Open a tab and wait until it shows: `open_tab(page, "Voices")`."""
    return _open_tab


def _open_tab(page: Page, name: str) -> None:
    page.locator(f"#tabs [role=tab][data-tab-id={name.lower()}]:visible").click()
    page.locator("[role=tabpanel]:visible").first.wait_for()


@pytest.fixture
def photographed() -> Callable[[Page, str], None]:
    """Save screenshots in both themes and at a phone's width: .screenshots/NAME-{light,dark,phone}.png."""

    def photograph(page: Page, name: str) -> None:
        SCREENSHOTS.mkdir(exist_ok=True)
        for look, viewport, dark in (("light", WIDE, False), ("dark", WIDE, True), ("phone", PHONE, False)):
            page.set_viewport_size(viewport)
            page.evaluate("dark => document.body.classList.toggle('dark', dark)", dark)
            page.wait_for_timeout(300)
            page.screenshot(path=SCREENSHOTS / f"{name}-{look}.png", full_page=True)
        page.set_viewport_size(WIDE)

    return photograph
