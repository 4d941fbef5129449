"""Several files dropped where one is expected: none is forgotten."""

from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, expect

SAMPLES = Path(__file__).parents[2] / "engine" / "samples"
FILES = [SAMPLES / "speech.flac", SAMPLES / "singing.flac"]
WORK_MS = 120_000
DROP = """([place, files]) => {
  const dataTransfer = new DataTransfer(), type = "audio/flac";
  for (const [name, bytes] of files) dataTransfer.items.add(new File([new Uint8Array(bytes)], name, { type }));
  const drop = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer });
  document.querySelector(`${place} button`).dispatchEvent(drop);
}"""


def drop(page: Page, place: str, files: Sequence[Path]) -> None:
    expect(page.locator(f"{place} input[type=file]").first).to_be_attached()
    page.evaluate(DROP, [place, [[file.name, list(file.read_bytes())] for file in files]])


def test_several_files_dropped_for_one_recording_become_a_batch(visitor):
    drop(visitor, "#convert-drop", FILES)
    expect(visitor.locator("#convert-input [data-tab-id=several]")).to_have_attribute("aria-selected", "true")
    for file in FILES:
        expect(visitor.locator("#convert-files")).to_contain_text(file.stem)


def test_two_files_dropped_for_one_analysis_are_compared(new_visitor):
    page = new_visitor("Explore")
    drop(page, "#explore-first", FILES)
    for file in FILES:
        expect(page.get_by_role("columnheader", name=file.name)).to_be_visible(timeout=WORK_MS)
