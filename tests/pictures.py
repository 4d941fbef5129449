"""The pictures in the README, taken of the page as it is: `python -m tests.pictures` writes studio/page/pictures.

Each holds the version that it shows, so that a test notices those of an earlier one. Needs Debian's chromium.
"""

import io
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Page, expect, sync_playwright

from studio.load.trial_service import trial_service
from tests.browsers import chromium_program
from tests.waiting import WORK_MS

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "studio" / "page" / "pictures"
STAMP = "Version"  # of the text in each picture
SIZE = {"width": 1280, "height": 720}
_COLOURS = 256
_SETTLED_MS = 1500  # for what fades in
_VOICE = "Koguchi"
_ANALYSED = "document.querySelector('timbre-instrument timbre-roll').data.curves.at(-1)?.isSung"  # the take's own pitch


def version() -> str:
    """Return the version that the pictures are to show: of a patch there are no new ones."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return ".".join(project["version"].split(".")[:2])


def stamped(picture: Path) -> str | None:
    """Return the version that a picture shows."""
    with Image.open(picture) as image:
        return image.info.get(STAMP)


def convert(page: Page) -> None:
    """Show the sample of singing in another voice."""
    page.locator("#convert-voices").get_by_role("radio", name=_VOICE).click()
    page.get_by_role("button", name="Singing", exact=True).click()
    expect(page.locator("#convert-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("#convert-instrument .track:not([data-welcome] *)")).to_have_count(2, timeout=WORK_MS)
    page.wait_for_function(_ANALYSED, timeout=WORK_MS)


def edit_pitch(page: Page) -> None:
    """Show the notes of the take, one of them marked."""
    page.get_by_role("button", name="Edit pitch").click()
    expect(page.locator("timbre-instrument[data-editing]")).to_be_visible(timeout=WORK_MS)
    box = page.locator("timbre-instrument .roll-stage").bounding_box()
    assert box is not None
    page.mouse.dblclick(box["x"] + 0.4 * box["width"], box["y"] + 0.45 * box["height"])


def look_at_a_voice(page: Page) -> None:
    """Show the library."""
    page.get_by_role("tab", name="Voices", exact=True).click()
    page.locator("#voices-cards").get_by_role("radio", name=_VOICE).click()
    expect(page.locator("#voice-head h2")).to_have_text(_VOICE)


SHOWN: dict[str, Callable[[Page], None]] = {  # one after the other, by the names of their files
    "convert": convert,
    "pitch-editor": edit_pitch,
    "voices": look_at_a_voice,
}


def save(shot: bytes, path: Path) -> None:
    """Write a screenshot as a small file with the version that it shows."""
    text = PngInfo()
    text.add_text(STAMP, version())
    with Image.open(io.BytesIO(shot)) as image:
        image.convert("RGB").quantize(_COLOURS, Image.Quantize.MEDIANCUT).save(path, pnginfo=text, optimize=True)


def main() -> None:
    """Take all the pictures, of a page with an empty data folder."""
    with tempfile.TemporaryDirectory() as folder, trial_service(Path(folder) / "home") as service:
        _take_all(service.base_url)


def _take_all(url: str) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, locale="en-GB", color_scheme="light")
        page.goto(url)
        expect(page.get_by_role("radio", name=_VOICE).first).to_be_visible(timeout=WORK_MS)
        for name, show in SHOWN.items():
            show(page)
            expect(page.locator(".progress-bar:visible")).to_have_count(0, timeout=WORK_MS)
            page.evaluate("scrollTo(0, 0)")
            page.mouse.move(0, 0)
            page.wait_for_timeout(_SETTLED_MS)
            save(page.screenshot(), PICTURES / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
