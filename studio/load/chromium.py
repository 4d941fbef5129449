"""The browser of this machine, for what is measured on the page."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from engine.errors import EngineError


def chromium_program() -> str:
    """Return the path of the installed browser. Raises EngineError without one."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        raise EngineError("chromium is not installed (apt install chromium).")
    return program


@contextmanager
def new_page(*options: str) -> Iterator[Page]:
    """Open an empty page in a browser of its own, started with these options. Raises EngineError without a browser."""
    with (
        sync_playwright() as playwright,
        playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox", *options]) as browser,
    ):
        yield browser.new_page(viewport={"width": 1280, "height": 900})
