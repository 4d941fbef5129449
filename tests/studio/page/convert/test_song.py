"""A song on the page: a vocal with its backing in, and the finished track out, with a fader for each lane."""

import zipfile
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest
from playwright.sync_api import expect

from engine.audio.files import read_audio
from tests.engine.songs.conftest import chords, save
from tests.waiting import WORK_MS, wait_until

BACKING_METER, VOCAL_METER = (f"timbre-instrument [data-lane={name}] .meter" for name in ("backing", "recording"))

# which voices' colours are on the edge of the vocal's lane at these seconds, within what smoothing changes
DRAWN = """async (asked) => {
  await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  const roll = document.querySelector("timbre-instrument timbre-roll"), lane = roll.strips[0];
  const { data: { voices } } = document.querySelector("#convert-voices timbre-voices");
  const colourOf = (name) => voices.find((one) => one.name === name).avatar.colour;
  const parsed = (colour) => {
    const one = new OffscreenCanvas(1, 1).getContext("2d");
    one.fillStyle = colour;
    one.fillRect(0, 0, 1, 1);
    return [...one.getImageData(0, 0, 1, 1).data];
  };
  const canvases = [...roll.querySelectorAll("canvas")].filter((one) => one.clientWidth);
  const isAt = (colour, seconds) => canvases.some((canvas) => {
    const scale = canvas.width / canvas.clientWidth, x = Math.round(roll.plot.x(seconds) * scale);
    const edge = canvas.getContext("2d").getImageData(x, Math.round(lane.y * scale), 1, Math.ceil(3 * scale)).data;
    return [...Array(edge.length / 4).keys()].some((row) => edge[4 * row + 3] > 60 &&
      parsed(colour).slice(0, 3).every((part, place) => Math.abs(edge[4 * row + place] - part) < 24));
  });
  const names = asked.map(([name]) => name);
  return Object.fromEntries(asked.map(([name, at]) => [name, names.filter((other) => isAt(colourOf(other), at))]));
}"""


@pytest.fixture
def stems(vocal, tmp_path):
    sung, played = vocal(3.0, 200.0).astype(np.float32), chords(3.0)
    return save(tmp_path / "vocal.wav", sung), save(tmp_path / "backing.wav", played, played)


def take(page, lead, **files):
    """Drop a vocal, and add files to it by their lanes."""
    page.locator("#convert-drop input[type=file]").first.set_input_files(lead)
    expect(page.locator("#convert-facts")).to_contain_text(lead.name, timeout=WORK_MS)
    for name, file in files.items():
        page.locator(f"#song-{name} input[type=file]").set_input_files(file)
        expect(channel(page, name).locator(".label")).to_have_attribute("title", file.name, timeout=WORK_MS)


def channel(page, name):
    return page.locator(f"timbre-instrument .channel[data-lane={name}]")


def is_mixed(page):
    """Wait for the vocal in its new voice, with what it was mixed with beside it."""
    expect(page.locator("timbre-instrument .track")).to_have_count(2, timeout=WORK_MS)
    expect(channel(page, "backing").get_by_role("button", name="Remove Backing")).to_have_count(0)


def open_fold(page):
    page.locator("#convert-song").get_by_role("button", name="Song").first.click()


def colour(button):
    return button.evaluate("(one) => getComputedStyle(one).backgroundColor")


def test_song_converts_a_vocal_and_its_backing_into_a_mix_with_faders(visitor, stems, tmp_path, photographed):
    take(visitor, stems[0], backing=stems[1])
    open_fold(visitor)
    changes = visitor.locator("#song-parts")
    visitor.evaluate("document.querySelector('timbre-instrument').seek(1.5)")
    changes.get_by_role("button", name="Change the voice at the playhead").click()
    changes.get_by_label("Voice from 0:01.5").select_option("Kathleen")
    expect(visitor.locator("#song-says")).to_contain_text("A song")
    visitor.keyboard.press("Control+Enter")
    is_mixed(visitor)
    assert "Kathleen" in visitor.locator("#convert-title h2").inner_text()
    solo = channel(visitor, "backing").get_by_role("button", name="Solo Backing")
    before = colour(solo)
    solo.click()
    assert colour(solo) != before  # that it is pressed is seen
    photographed(visitor, "song")
    with visitor.expect_download() as download:
        visitor.locator("#convert-instrument").get_by_text("wav", exact=True).click()
    download.value.save_as(tmp_path / "mix.wav")
    assert download.value.suggested_filename.startswith("vocal - ")
    visitor.locator("#convert-instrument").get_by_label("Other formats").click()
    with visitor.expect_download() as stem:
        visitor.get_by_role("link", name="Backing (wav)").click()
    stem.value.save_as(tmp_path / "lane.wav")
    soloed, backing = (read_audio(tmp_path / name).samples for name in ("mix.wav", "lane.wav"))
    np.testing.assert_allclose(soloed, backing, atol=1e-5)
    visitor.reload()
    is_mixed(visitor)  # still there
    expect(visitor.locator("#convert-title h2")).to_contain_text("vocal.wav")
    visitor.get_by_role("button", name="Replace vocal").click()
    take(visitor, stems[1])  # another one: nothing of the song before is left beside it
    expect(channel(visitor, "backing")).to_have_count(0)
    open_fold(visitor)
    expect(visitor.locator("#song-parts select")).to_have_count(0)


def test_faders_of_a_song_are_set_after_converting_kept_and_in_its_project_for_a_daw(visitor, stems, open_tab):
    take(visitor, stems[0], backing=stems[1], stem=stems[0])
    level = channel(visitor, "backing").get_by_role("slider", name="Level of Backing")
    pan = channel(visitor, "stem").get_by_role("slider", name="Pan of Second vocal")
    level.fill("-12")
    visitor.locator("#convert-start").click()
    is_mixed(visitor)
    expect(level).to_have_value("-12")  # as it was set before
    level.fill("-6")
    pan.fill("0.5")
    visitor.keyboard.press("Control+z")
    expect(pan).to_have_value("0")
    visitor.keyboard.press("Control+y")
    expect(pan).to_have_value("0.5")
    channel(visitor, "stem").get_by_role("button", name="Mute Second vocal").click()
    visitor.reload()
    is_mixed(visitor)
    expect(level).to_have_value("-6")
    expect(pan).to_have_value("0.5")
    open_tab(visitor, "History")
    project = visitor.locator("timbre-tasks .group").first
    project.locator("> .line .task-head").click()
    with visitor.expect_download(timeout=WORK_MS) as download:
        project.get_by_role("button", name="Export for a DAW").click()
    with zipfile.ZipFile(download.value.path()) as archive:
        tracks = {one.get("name"): one.find("Channel") for one in fromstring(archive.read("project.xml")).iter("Track")}
    values = {
        name: [one.find(what).get("value") for what in ("Mute", "Volume", "Pan")]
        for name, one in tracks.items()
        if name != "Master"
    }
    [heard] = [name for name, (mute, *_) in values.items() if mute == "false" and not name.endswith("backing")]
    own = {name.removeprefix(heard): one for name, one in values.items() if name.startswith(heard)}
    assert {name: (mute, round(float(gain), 3), pan) for name, (mute, gain, pan) in own.items()} == {
        "": ("false", 1.0, "0.5"),
        " backing": ("false", 0.501, "0.5"),
        " vocal 2": ("true", 1.0, "0.75"),
    }


def test_backing_of_a_vocal_survives_a_reload_is_heard_with_it_and_can_be_removed(visitor, stems):
    take(visitor, stems[0], backing=stems[1])
    expect(visitor.locator("#song-says")).to_contain_text("converted with its backing")
    visitor.reload()
    backing = channel(visitor, "backing")
    expect(backing.locator(".label")).to_have_attribute("title", "backing.wav", timeout=WORK_MS)
    fader = backing.get_by_role("slider", name="Level of Backing")
    fader.fill("-12")
    channel(visitor, "recording").get_by_role("button", name="Mute Original").click()
    visitor.locator("timbre-instrument .play").click()
    visitor.wait_for_function(f"document.querySelector({BACKING_METER!r}).style.getPropertyValue('--level') > 0.2")
    assert visitor.evaluate(f"document.querySelector({VOCAL_METER!r}).style.getPropertyValue('--level')") == "0.00"
    backing.get_by_role("button", name="Remove Backing").click()
    expect(backing).to_have_count(0)
    expect(visitor.locator("#song-says")).to_be_hidden()


def test_second_singer_without_a_backing_names_the_missing_part(visitor, stems):
    take(visitor, stems[0], stem=stems[1])
    visitor.locator("#convert-start").click()
    expect(visitor.locator("#convert-problem")).to_contain_text("Add a backing track")
    open_fold(visitor)
    expect(visitor.get_by_label("Full mix? Extract the vocal")).to_be_disabled()  # and below it why
    expect(visitor.locator("#song-separator")).to_contain_text("Extracting a vocal needs")


def test_song_can_be_started_again_after_cancelling(visitor, stems):
    take(visitor, stems[0], backing=stems[1])
    visitor.locator("#convert-start").click()
    visitor.locator("#convert-progress").get_by_role("button", name="Cancel").click()
    expect(visitor.locator("#convert-ended")).to_contain_text("cancelled")
    visitor.locator("#convert-start").click()
    is_mixed(visitor)


def test_all_parts_sing_in_the_octave_of_the_chosen_voice_where_that_is_wished(visitor, vocal, tmp_path):
    take(visitor, save(tmp_path / "low.wav", vocal(4.0, 120.0).astype(np.float32)))
    visitor.get_by_role("radio", name="Gökhan").click()
    open_fold(visitor)
    changes, said = visitor.locator("#song-parts"), visitor.locator("#convert-ended")
    visitor.evaluate("document.querySelector('timbre-instrument').seek(2)")
    changes.get_by_role("button", name="Change the voice at the playhead").click()
    changes.get_by_label("Voice from 0:02.0").select_option("Kathleen")
    expect(visitor.locator("#song-says")).to_contain_text("Several voices")
    visitor.locator("#convert-start").click()
    expect(visitor.locator("timbre-instrument .track")).to_have_count(2, timeout=WORK_MS)
    expect(said).to_contain_text("different octaves")
    visitor.locator("#song-same-octave input").check()
    visitor.locator("#convert-start").click()
    expect(visitor.locator("timbre-instrument .track")).to_have_count(3, timeout=WORK_MS)
    expect(visitor.get_by_text("different octaves")).to_have_count(0)


def test_each_part_is_drawn_in_the_colour_of_its_voice(new_visitor, vocal, tmp_path):
    visitor = new_visitor(device_scale_factor=2)  # a line is whole pixels
    take(visitor, save(tmp_path / "low.wav", vocal(4.0, 120.0).astype(np.float32)))
    open_fold(visitor)
    changes = visitor.locator("#song-parts")
    for start_s, name in ((1, "Kathleen"), (3, "Kerstin")):
        visitor.evaluate("(seconds) => document.querySelector('timbre-instrument').seek(seconds)", start_s)
        changes.get_by_role("button", name="Change the voice at the playhead").click()
        changes.get_by_label(f"Voice from 0:0{start_s}.0").select_option(name)
    asked = [("Kathleen", 2.0), ("Kerstin", 3.5), ("Gökhan", 0.5)]
    own = {"Kathleen": ["Kathleen"], "Kerstin": ["Kerstin"], "Gökhan": []}
    wait_until(lambda: visitor.evaluate(DRAWN, asked) == own)
