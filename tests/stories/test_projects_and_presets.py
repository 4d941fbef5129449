"""A recording found again as a project, settings saved and heard at once, and voices told apart."""

import zipfile
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from engine import Audio, read_audio, write_audio
from tests.stories.test_accessibility import look
from tests.waiting import WORK_MS

HEARD = "() => document.querySelector('timbre-instrument').data?.tracks[1]?.url.split('?')[0]"
SINGING = Path(__file__).parents[2] / "engine" / "samples" / "singing.flac"
# when a control was moved first, and when a sound was started after that
STOPWATCH = """() => {
  window.moved = window.heard = 0;
  document.addEventListener("input", () => { window.moved ||= performance.now(); }, true);
  const start = AudioBufferSourceNode.prototype.start;
  AudioBufferSourceNode.prototype.start = function (...given) {
    window.heard ||= performance.now();
    return start.apply(this, given);
  };
}"""
pytestmark = pytest.mark.slow


@pytest.fixture
def page(new_visitor) -> Page:
    """A page on which the sample of speech was converted."""
    page = new_visitor()
    expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Speech", exact=True).click()
    expect(page.locator("timbre-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("timbre-instrument .track")).to_have_count(2, timeout=WORK_MS)
    return page


def test_history_finds_and_exports_a_named_project_and_deletes_only_one_entry(page, open_tab):
    open_tab(page, "History")
    rows, projects = page.locator("timbre-tasks .task"), page.locator("timbre-tasks .group")
    row = projects.filter(has_text="speech").first
    row.locator("> .line .task-head").click()
    row.get_by_role("button", name="Name and tempo").click()
    page.get_by_label("Project name").fill("Morning news")
    page.get_by_role("spinbutton", name="Tempo (bpm)").fill("120")
    page.get_by_label("Start (s)").fill("4")
    page.locator("#project-form").get_by_role("button", name="Save").click()
    page.get_by_role("textbox", name="Search", exact=True).fill("morning")
    page.get_by_role("textbox", name="Search", exact=True).press("Enter")
    expect(projects.locator("> .line .title")).to_have_text(["Morning news"])
    for name, file in (("Export for a DAW", "Morning news.dawproject"), ("Export stems", "Morning news.zip")):
        with page.expect_download() as got:
            projects.first.get_by_role("button", name=name).click()
        assert got.value.suggested_filename == file
    with zipfile.ZipFile(got.value.path()) as archive:
        names = archive.namelist()
    assert "stems/bar 003.1.000 Morning news - recording.wav" in names
    assert "bar 003.1.000 Morning news - melody.mid" in names
    assert look(page) == []

    page.get_by_role("textbox", name="Search", exact=True).fill("")
    page.get_by_role("textbox", name="Search", exact=True).press("Enter")
    page.get_by_role("radio", name="All work").check()
    expect(rows.first.locator(".title")).to_contain_text("speech.flac ·")
    before = rows.count()
    rows.first.get_by_role("checkbox").check()
    page.get_by_role("textbox", name="Search", exact=True).press("Enter")  # shows the list again
    page.wait_for_timeout(1500)
    expect(rows.first.get_by_role("checkbox")).to_be_checked()
    delete = page.get_by_role("group", name="Selected").get_by_role("button", name="Delete", exact=True)
    delete.click()
    page.get_by_role("button", name="Keep them").click()
    expect(rows).to_have_count(before)
    delete.click()
    page.locator(".several .sure").click()
    expect(rows).to_have_count(before - 1)


def test_convert_tab_plays_a_changed_effect_and_saves_it_in_a_preset(page):
    plain = page.evaluate(HEARD)
    page.get_by_role("button", name="More settings").click()
    page.get_by_role("radio", name="Hall").check()
    page.wait_for_function(f"plain => ({HEARD})() !== plain", arg=plain)
    hall = page.evaluate(HEARD)
    page.get_by_role("button", name="Fine-tune").click()
    reverb = page.get_by_role("spinbutton", name="Reverb", exact=False).first
    reverb.fill("0.6")
    reverb.press("Enter")
    page.wait_for_function(f"hall => ({HEARD})() !== hall", arg=hall)
    expect(page.locator("#convert-effects input:checked")).to_have_count(0)

    preset = page.get_by_label("Preset", exact=True)
    preset.fill("My hall")
    page.keyboard.press("Tab")
    page.locator("#convert-preset-save").click()
    expect(page.locator("#convert-preset-problem")).to_contain_text("Saved as 'My hall'")
    expect(preset).to_have_value("My hall")
    page.get_by_role("radio", name="Off", exact=True).check()
    page.wait_for_function(f"plain => ({HEARD})() === plain", arg=plain)
    expect(preset).to_have_value("My hall *")  # its settings were changed since
    preset.focus()
    page.keyboard.press("Tab")
    page.wait_for_timeout(1500)
    expect(reverb).to_have_value("0")  # to go through the list is to choose nothing
    page.reload()
    page.get_by_role("button", name="More settings").click()
    expect(preset).to_have_value("My hall *")
    preset.click()
    page.get_by_role("option", name="My hall").click()
    page.get_by_role("button", name="Fine-tune").click()
    expect(reverb).to_have_value("0.6")
    expect(preset).to_have_value("My hall")
    assert look(page) == []
    page.locator("#convert-preset-delete").click()
    expect(page.locator("#convert-preset-problem")).to_contain_text("deleted")


@pytest.mark.parametrize("seconds", [10, 60])
def test_effect_controls_change_the_sound_while_it_plays(new_visitor, tmp_path, seconds):
    page = new_visitor()
    page.evaluate(STOPWATCH)
    expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    singing = read_audio(SINGING)
    samples = np.tile(singing.samples, seconds)[:, : seconds * singing.rate]
    write_audio(tmp_path / "sung.wav", Audio(samples, singing.rate))
    page.locator("#convert-drop input[type=file]").first.set_input_files(tmp_path / "sung.wav")
    expect(page.locator("timbre-instrument .play:not([data-welcome] *)")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Convert", exact=True).click()
    expect(page.locator("timbre-instrument .track")).to_have_count(2, timeout=WORK_MS)
    page.locator("timbre-instrument .play:not([data-welcome] *)").click()
    page.wait_for_function("window.heard > 0")
    page.locator("timbre-instrument .repeat").click()
    reverb = page.get_by_role("slider", name="Reverb", exact=False).first
    for name, move in (
        ("Hall, the first", page.get_by_role("radio", name="Hall").check),
        ("Vocal", page.get_by_role("radio", name="Vocal").check),
        ("a slider", lambda: reverb.press("ArrowRight")),
    ):
        page.evaluate("window.heard = window.moved = 0")
        move()
        page.wait_for_function("window.heard > 0", timeout=WORK_MS)
        took_s = page.evaluate("(window.heard - window.moved) / 1000")
        print(f"\n{seconds} s of sound, {name}: heard after {took_s:.2f} s")


def test_naming_setting_names_downloads_and_refuses_unknown_fields(page, open_tab):
    open_tab(page, "Settings")
    page.get_by_label("Naming").fill("{voice}, {recording}")
    page.locator("#results-save").click()
    expect(page.locator("#results-notice")).to_contain_text("Saved")
    page.get_by_label("Naming").fill("{singer}")
    page.locator("#results-save").click()
    expect(page.locator("#results-notice")).to_contain_text("no part {singer}")
    open_tab(page, "History")
    row = page.locator("timbre-tasks .task").first
    row.locator(".task-head").click()
    with page.expect_download() as got:
        row.get_by_role("button", name="flac", exact=True).click()
    assert got.value.suggested_filename.endswith(", speech.flac")
    open_tab(page, "Settings")
    page.get_by_label("Naming").fill("{recording} - {voice} {take}")
    page.locator("#results-save").click()
    expect(page.locator("#results-notice")).to_contain_text("Saved")


def test_page_shows_avatars_and_uses_of_voices(page, open_tab):
    assert page.locator("timbre-instrument .track svg.face").count() == 1
    assert page.locator("#convert-voices svg.avatar").count() == page.locator("#convert-voices .card").count()
    open_tab(page, "Voices")
    card = page.locator("#voices-cards .card", has_text="Koguchi")
    expect(card.locator(".use").first).to_have_text("speaks and sings")
    fills = "all => all.map((one) => one.getAttribute('fill'))"
    colours = page.locator("#voices-cards svg.avatar > rect:first-child").evaluate_all(fills)
    assert len(set(colours)) == len(colours)
    card.get_by_role("radio").click()
    expect(page.locator("#voice-head .uses")).to_contain_text("min of training")
    assert look(page) == []
