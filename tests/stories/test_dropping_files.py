"""Files dropped anywhere on the page go where they belong; of several none is forgotten."""

from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import Page, expect

from tests.waiting import WORK_MS

SAMPLES = Path(__file__).parents[2] / "engine" / "samples"
SPEECH, SINGING = SAMPLES / "speech.flac", SAMPLES / "singing.flac"
FILES = [SPEECH, SINGING]
DROP = """([place, files]) => {
  const dataTransfer = new DataTransfer(), type = "audio/flac";
  for (const [name, bytes] of files) dataTransfer.items.add(new File([new Uint8Array(bytes)], name, { type }));
  const drop = new DragEvent("drop", { bubbles: true, cancelable: true, dataTransfer });
  document.querySelector(place).dispatchEvent(drop);
}"""
KNOWN = """async ([names, tab]) => {
  const { known } = await import(timbreModules["drop.js"]);
  const { files, jobs } = known(names.map((name) => new File(["x"], name)), tab);
  return [files.map(({ name }) => name), jobs];
}"""
ANYWHERE = "#heading"


def ready(page: Page) -> None:
    expect(page.locator("#convert-drop input[type=file]").first).to_be_attached()
    expect(page.locator("timbre-drop:defined")).to_be_attached()


def drop(page: Page, place: str, files: Sequence[Path], names: Sequence[str] = ()) -> None:
    ready(page)
    named = zip(names or [file.name for file in files], files, strict=True)
    page.evaluate(DROP, [place, [[name, list(file.read_bytes())] for name, file in named]])


def is_converted(page: Page, name: str) -> None:
    expect(page.locator("#convert-facts")).to_contain_text(name, timeout=WORK_MS)


def test_several_files_dropped_for_one_recording_become_a_batch(visitor):
    drop(visitor, "#convert-drop button", FILES)
    expect(visitor.locator("#convert-input [data-tab-id=several]")).to_have_attribute("aria-selected", "true")
    for file in FILES:
        expect(visitor.locator("#convert-files")).to_contain_text(file.stem)


def test_two_files_dropped_for_one_analysis_are_compared(new_visitor):
    page = new_visitor("Explore")
    drop(page, "#explore-first button", FILES)
    for file in FILES:
        expect(page.get_by_role("columnheader", name=file.name)).to_be_visible(timeout=WORK_MS)


def test_a_vocal_dropped_anywhere_is_taken_and_another_takes_its_place(new_visitor):
    page = new_visitor("History")
    drop(page, ANYWHERE, [SPEECH])
    expect(page.get_by_role("tab", name="Convert", exact=True)).to_have_attribute("aria-selected", "true")
    is_converted(page, "speech.flac")
    page.evaluate(DROP, [ANYWHERE, [["other.flac", list(SINGING.read_bytes())]]])
    is_converted(page, "other.flac")


def test_a_vocal_and_its_backing_dropped_anywhere_become_a_song(visitor):
    drop(visitor, ANYWHERE, FILES, ["night vocal.flac", "night instrumental.flac"])
    visitor.get_by_role("button", name="Make a song of them").click()
    is_converted(visitor, "night vocal")
    backing = visitor.locator("timbre-instrument .channel[data-lane=backing] .label")
    expect(backing).to_have_attribute("title", "night instrumental.flac", timeout=WORK_MS)
    expect(visitor.locator("#song-says")).to_contain_text("converted with its backing")
    visitor.reload()  # nothing of it is forgotten
    is_converted(visitor, "night vocal")
    expect(backing).to_have_attribute("title", "night instrumental.flac", timeout=WORK_MS)


def test_a_song_dropped_over_an_earlier_recording_keeps_all_its_parts(visitor):
    drop(visitor, ANYWHERE, [SPEECH])
    is_converted(visitor, "speech.flac")
    names = ["night vocal.flac", "night instrumental.flac", "night duet.flac"]
    for parts in (names[:2], names):  # the second time over a song
        files = [SINGING, SPEECH, SINGING][: len(parts)]
        visitor.evaluate(DROP, [ANYWHERE, [[n, list(f.read_bytes())] for n, f in zip(parts, files, strict=True)]])
        visitor.get_by_role("button", name="Make a song of them").click()
        for lane, title in zip(("backing", "stem"), parts[1:], strict=False):
            label = visitor.locator(f"timbre-instrument .channel[data-lane={lane}] .label")
            expect(label).to_have_attribute("title", title, timeout=WORK_MS)
        is_converted(visitor, "night vocal")
        expect(visitor.locator("timbre-instrument .channel[data-lane]")).to_have_count(len(parts))
        expect(visitor.locator("#song-says")).to_contain_text("converted with its backing")


def test_several_recordings_dropped_anywhere_become_a_voice_if_that_is_chosen(visitor):
    drop(visitor, ANYWHERE, FILES)
    visitor.get_by_role("button", name="Make a voice of them").click()
    expect(visitor.get_by_role("tab", name="Create", exact=True)).to_have_attribute("aria-selected", "true")
    expect(visitor.locator("#create-gathered")).to_contain_text("speech.flac", timeout=WORK_MS)


def test_a_voice_dropped_anywhere_is_imported(visitor):
    drop(visitor, ANYWHERE, [Path(__file__)], ["mia.pth"])
    expect(visitor.get_by_role("tab", name="Voices", exact=True)).to_have_attribute("aria-selected", "true")
    expect(visitor.locator("#voices-notice")).to_contain_text('"mia.pth"', timeout=WORK_MS)


def test_what_the_studio_does_not_open_is_said(visitor):
    ready(visitor)
    visitor.evaluate(DROP.replace("audio/flac", "text/plain"), [ANYWHERE, [["notes.txt", [104, 105]]]])
    expect(visitor.locator("timbre-drop")).to_contain_text("The studio opens recordings")
    visitor.keyboard.press("Escape")
    expect(visitor.locator("timbre-drop")).to_be_empty()


CASES = [
    (["mia.voice.zip"], "convert", 1, ["import"]),
    (["mia.pth", "added_mia.index"], "convert", 2, ["import"]),
    (["takes.zip"], "live", 1, ["voice"]),
    (["a.wav"], "train", 1, ["convert"]),
    (["a.wav"], "explore", 1, ["explore"]),
    (["a.wav", "b.opus", "cover.jpg"], "create", 2, ["voice"]),
    (["a.wav", "b.wav"], "explore", 2, ["compare"]),
    (["a.wav", "b.wav", "c.MP3"], "convert", 3, ["batch", "voice"]),
    (["lead.wav", "duet.wav", "song (no vocals).wav"], "convert", 3, ["song", "batch", "voice"]),
    (["cover.jpg"], "convert", 0, []),
]


def test_dropped_files_are_known_by_their_names(visitor):
    for names, tab, kept, jobs in CASES:
        files, found = visitor.evaluate(KNOWN, [names, tab])
        assert (len(files), found) == (kept, jobs), names
