"""The Convert tab in a browser, with real conversions."""

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect

from engine.audio.files import read_audio
from tests.engine.audio.encoded import several, tone
from tests.stories.test_dropping_files import DROP, SPEECH
from tests.waiting import WORK_MS

RATE = 16_000
LABELS = "String(document.querySelector('#convert-instrument timbre-roll').data.curves.map((one) => one.label))"
COUNTED_S = "document.querySelector('timbre-fit').data.histogram.reduce((sum, one) => sum + one.seconds, 0)"
LEFT_MS = 2000  # after a list was left, which chose again what it had


@pytest.fixture
def page(visitor) -> Page:
    """The page just opened, with its voices."""
    expect(visitor.get_by_role("radio", name="Kathleen")).to_be_visible(timeout=WORK_MS)
    return visitor


@pytest.fixture
def recording(tmp_path):
    """Write a file to drop: a note of the given hertz that swells and fades."""

    def make(name: str = "vocal.wav", seconds: float = 2.0, hertz: float = 220.0) -> Path:
        time_s = np.arange(round(seconds * RATE)) / RATE
        tone = sum(np.sin(2 * np.pi * hertz * k * time_s) / k for k in range(1, 6))
        soundfile.write(tmp_path / name, 0.1 * tone * np.sin(np.pi * time_s / seconds), RATE)
        return tmp_path / name

    return make


def drop(page: Page, *files: Path, into: str = "#convert-drop") -> None:
    page.locator(f"{into} input[type=file]").first.set_input_files(files if len(files) > 1 else files[0])


def is_taken(page: Page) -> None:
    taken = "timbre-instrument:not([data-welcome], [data-away]) .play"
    expect(page.locator(taken)).to_be_visible(timeout=WORK_MS)


def convert(page: Page) -> None:
    page.get_by_role("button", name="Convert", exact=True).click()


def result(page: Page, voice: str) -> None:
    """Wait for a result in this voice."""
    expect(page.locator("#convert-title h2")).to_contain_text(f"by {voice}", timeout=WORK_MS)
    expect(page.locator("#convert-instrument .time")).to_contain_text(re.compile(r"/ 0:0[1-9]"))


def seconds(page: Page) -> float:
    return page.evaluate("document.querySelector('timbre-instrument').seconds")


def slider(page: Page, name: str):
    return page.locator("#convert").get_by_role("slider", name=re.compile(name))


def test_a_new_visitor_converts_a_sample_in_three_clicks_and_compares(page, photographed, tmp_path):
    clicks = ["Speech", "Convert"]  # a voice is chosen already
    there = page.locator("#convert-listening").or_(page.locator("#convert-instrument .play:not([data-welcome] *)"))
    for name in clicks:
        page.get_by_role("button", name=name, exact=True).click()
        # wait until the click has had its effect
        expect(there.first).to_be_visible()
    assert len(clicks) <= 3
    chosen = page.locator("timbre-voices [aria-checked=true] .name").text_content()
    result(page, chosen)
    tracks = page.locator("#convert-instrument .track")
    expect(tracks).to_have_count(2)
    expect(tracks.nth(1)).to_have_attribute("aria-checked", "true")
    expect(tracks.nth(1)).to_have_attribute("title", re.compile(r"\d+ % of the melody kept"))

    # before and after play at the same position
    page.locator("#convert-instrument").get_by_role("button", name="Play").click()
    page.wait_for_function("document.querySelector('timbre-instrument').seconds > 0.3")
    page.keyboard.press("0")
    expect(tracks.nth(0)).to_have_attribute("aria-checked", "true")
    assert 0.3 < seconds(page) < 4.5
    page.locator("#convert-instrument").get_by_role("button", name="Pause").click()
    stopped = seconds(page)
    page.keyboard.press("1")
    expect(tracks.nth(1)).to_have_attribute("aria-checked", "true")
    assert seconds(page) == pytest.approx(stopped, abs=0.05)

    # pitch of both over the spectrogram
    page.wait_for_function(LABELS + " == 'Recording,Take'", timeout=WORK_MS)
    photographed(page, "convert-result")

    # no more requests once all is done
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(5):
        page.wait_for_timeout(300)
    assert not [url for url in asked if "/queue/" in url]

    for kind in ("wav", "flac", "mp3", "m4a"):
        if kind != "wav":  # the preferred one, which is not in the menu
            page.locator("#convert-instrument").get_by_label("Other formats").click()
        with page.expect_download() as coming:
            page.locator("#convert-instrument").get_by_text(kind, exact=True).click()
        assert coming.value.suggested_filename == f"speech - {chosen}.{kind}"
        coming.value.save_as(tmp_path / f"got.{kind}")
        original = read_audio(Path("engine/samples/speech.flac")).duration_s
        assert read_audio(tmp_path / f"got.{kind}").duration_s == pytest.approx(original, abs=0.1)


def test_convert_button_pressed_just_before_the_upload_converts_the_recording(page, recording):
    convert(page)
    drop(page, recording("my vocal.wav", 3.0))
    expect(page.locator("#convert-title h2")).to_be_visible(timeout=WORK_MS)
    expect(page.locator("#convert-problem")).to_be_hidden()
    # the voice that sings is still the marked one, also where another suits the recording better
    is_taken(page)
    expect(page.locator("timbre-fit .picture")).to_be_visible(timeout=WORK_MS)  # it is analysed
    voice = page.locator("#convert-voices .card.chosen .name").inner_text()
    expect(page.locator("#convert-title h2")).to_contain_text(f"by {voice}", timeout=WORK_MS)


def test_convert_tab_keeps_its_settings_after_errors_reloads_and_another_voice(page, open_tab, recording, tmp_path):
    convert(page)
    expect(page.locator("#convert-problem")).to_contain_text("Add a recording first")
    page.get_by_role("radio", name="Kerstin").click()
    slider(page, "Takes").fill("2")
    slider(page, "Voice strength").fill("0.7")
    soundfile.write(tmp_path / "telephone.wav", np.zeros(4000), 4000)
    drop(page, tmp_path / "telephone.wav")
    expect(page.locator("#convert-recording-problem")).to_contain_text('"telephone.wav" has a sample rate of 4000 Hz')
    page.wait_for_timeout(2000)  # longer than Convert is still meant
    drop(page, recording("my vocal.wav", 3.0))
    is_taken(page)
    expect(page.locator("#convert-recording-problem")).to_be_hidden()
    expect(page.locator("#convert-problem")).to_be_hidden()  # there is a recording now
    expect(page.locator("#convert-facts")).to_contain_text("my vocal.wav · 3.0 s · Singing")
    expect(page.get_by_label("Singing (detected)")).to_be_checked()
    page.get_by_label("Rap").check()
    expect(slider(page, "Voice strength")).to_have_value("0.8")  # of the preset
    slider(page, "Voice strength").fill("0.7")
    handle = page.locator("#convert-instrument").get_by_role("slider", name="Start")
    page.wait_for_function(f"{COUNTED_S} > 2.1")
    handle.focus()
    for _ in range(10):
        handle.press("ArrowRight")
    expect(page.locator("#convert-instrument .kept")).to_contain_text("1.0 s to 3.0 s")
    page.wait_for_function(f"{COUNTED_S} < 2.1")  # what is left alone is compared with the voice
    slider(page, "Transpose").fill("3")
    expect(page.get_by_label("Auto", exact=False).first).not_to_be_checked()
    convert(page)
    result(page, "Kerstin")

    page.reload()
    result(page, "Kerstin")
    is_taken(page)
    expect(page.get_by_role("radio", name="Kerstin").first).to_have_attribute("aria-checked", "true")
    expect(page.locator("#convert-instrument .kept")).to_contain_text("1.0 s to 3.0 s")
    expect(page.get_by_label("Rap")).to_be_checked()
    expect(slider(page, "Takes")).to_have_value("2")
    expect(slider(page, "Transpose")).to_have_value("3")
    expect(slider(page, "Voice strength")).to_have_value("0.7")
    expect(page.locator("#convert-title")).to_contain_text("Up 3 semitones")
    takes = page.locator("#convert-instrument .track")
    expect(takes).to_have_count(3)
    expect(takes.locator(".label")).to_have_text(["Original", "Kerstin, take 1", "Kerstin, take 2"])
    expect(takes.locator(".number")).to_have_text(["0", "1", "2"])
    expect(takes.and_(page.locator("[aria-checked=true]"))).to_contain_text("take")  # the best one, by a little
    stretch = page.evaluate("document.querySelector('timbre-instrument').stretch")  # a take begins where it was cut
    assert stretch == {"start": pytest.approx(1.0, abs=0.02), "stop": pytest.approx(3.0, abs=0.02)}

    page.get_by_role("button", name="Convert with Kathleen").click()
    result(page, "Kathleen")
    expect(page.locator("#convert-instrument").get_by_role("radio", name="Kerstin")).to_be_visible()  # to compare with
    page.get_by_label("Previous results").click()
    page.get_by_role("option", name=re.compile("Kerstin")).click()
    result(page, "Kerstin")
    recorded = takes.first
    recorded.locator(".label").click()
    expect(recorded).to_have_attribute("aria-checked", "true")
    page.get_by_label("Previous results").focus()
    page.keyboard.press("Tab")
    page.wait_for_timeout(LEFT_MS)
    expect(recorded).to_have_attribute("aria-checked", "true")  # to go through the list is to choose nothing

    restores_from_the_history(page, open_tab)


def restores_from_the_history(page: Page, open_tab) -> None:
    """Change the form, and have the recording, voice and settings of the first conversion back."""
    page.get_by_label("Speech").first.check()
    slider(page, "Transpose").fill("-1")
    page.get_by_role("radio", name="Gökhan").click()
    open_tab(page, "History")
    page.locator("timbre-tasks .within .task-head", has_text="Kerstin").first.click()
    page.get_by_role("button", name="Open in Convert").first.click()
    expect(page.locator("#convert-facts")).to_contain_text("my vocal.wav · 2.0 s", timeout=WORK_MS)
    expect(page.get_by_role("radio", name="Kerstin").first).to_have_attribute("aria-checked", "true")
    expect(page.get_by_label("Rap")).to_be_checked()
    expect(slider(page, "Transpose")).to_have_value("3")


def test_fit_text_follows_the_transpose_slider_offline(page, recording):
    said = page.locator("timbre-fit p")
    page.get_by_role("radio", name="Kerstin").click()
    expect(said).to_contain_text("Kerstin's range: B2 to B3")
    drop(page, recording(hertz=220.0))  # A3
    is_taken(page)
    expect(said).to_contain_text("Auto: same key.")
    page.context.set_offline(True)  # no request to the server
    slider(page, "Transpose").fill("14")  # she was recorded speaking: where she sings is estimated
    expect(said).to_contain_text(re.compile("Up 14 semitones.*too high for Kerstin \\(above A4\\)"))
    slider(page, "Transpose").fill("-12")
    expect(said).to_contain_text("below B2")
    page.get_by_label("Auto", exact=False).first.check()
    expect(said).to_contain_text("Auto: same key.")
    page.context.set_offline(False)


def test_convert_tab_records_with_the_microphone(page):
    recorder = page.locator("#convert timbre-recorder")
    recorder.get_by_role("button", name="Record").click()
    recorder.get_by_role("button", name="Start recording").click()
    expect(recorder.locator("time")).not_to_have_text("0:00")
    recorder.get_by_role("button", name="Stop").click()
    is_taken(page)
    expect(page.locator("#convert-facts")).to_contain_text(re.compile(r"Recording \d\d \w{3} \d\d\.\d\d\.\d\d\.wav"))
    page.get_by_role("button", name="Replace vocal").click()
    expect(recorder.get_by_role("button", name="Record")).to_be_visible()


@pytest.mark.parametrize("name", ["vocal.webm", "vocal"])
def test_convert_tab_accepts_webm_and_files_without_a_suffix(page, recording, name):
    drop(page, recording().rename(recording().with_name(name)))  # chromium takes .webm for a video
    is_taken(page)
    expect(page.locator("#convert-facts")).to_contain_text(f"{name} · 2.0 s")


def test_analysis_of_a_long_recording_can_be_cancelled_or_replaced(page, recording, tmp_path):
    minute, _ = soundfile.read(recording(seconds=60.0))
    soundfile.write(tmp_path / "concert.flac", np.tile(minute, 20), RATE)
    listening = page.locator("#convert-listening")
    drop(page, tmp_path / "concert.flac")
    expect(listening).to_contain_text("Analysing concert.flac")
    page.locator("#convert").get_by_role("button", name="Cancel", exact=True).click()
    expect(listening).to_be_hidden()
    expect(page.locator("#convert-recording-problem")).to_be_hidden()
    drop(page, tmp_path / "concert.flac")
    expect(listening).to_contain_text("Analysing concert.flac")
    page.evaluate(DROP, ["#heading", [["speech.flac", list(SPEECH.read_bytes())]]])
    expect(page.locator("#convert-facts")).to_contain_text("speech.flac", timeout=WORK_MS)


def test_dropping_a_file_that_is_not_audio_shows_an_error(page):
    page.locator("#convert-drop").evaluate(
        """place => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File(["x"], "letter.pdf", { type: "application/pdf" }));
          place.querySelector("button").dispatchEvent(new DragEvent("drop", { bubbles: true, dataTransfer }));
        }"""
    )
    expect(page.locator("#convert-recording-problem")).to_contain_text('"letter.pdf" is not an audio file')


def test_cancel_button_cancels_a_conversion(page):
    page.get_by_role("button", name="Singing", exact=True).click()
    is_taken(page)
    slider(page, "Takes").fill("10")
    convert(page)
    page.locator("#convert-progress").get_by_role("button", name="Cancel").click()
    expect(page.locator("#convert-ended")).to_contain_text("was cancelled", timeout=WORK_MS)
    expect(page.locator("#convert-progress").get_by_role("button", name="Cancel")).to_be_hidden()


def test_convert_tab_shows_detected_style_and_range_only_for_one_recording(page, recording, tmp_path):
    page.get_by_role("radio", name="Kathleen").click()
    page.get_by_role("button", name="Singing", exact=True).click()
    is_taken(page)
    expect(page.get_by_label("Singing (detected)")).to_be_checked()
    expect(page.locator("timbre-fit")).to_contain_text("Auto: ")
    expect(page.locator("#convert-voices .recording")).to_have_count(page.locator("#convert-voices .card").count())
    told = page.get_by_role("radio", name="Kathleen").locator(".range:has(.estimated)")
    expect(told).to_have_attribute("title", re.compile("where Kathleen sings is estimated"))
    expect(page.get_by_role("radio", name="Safiye").locator(".estimated")).to_have_count(0)
    page.get_by_role("button", name="Batch").click()
    expect(page.get_by_label("Singing", exact=True)).not_to_be_checked()
    expect(page.get_by_text("each recording's style is detected")).to_be_hidden()
    page.get_by_role("button", name="Help").click()
    expect(page.get_by_text("each recording's style is detected")).to_be_visible()
    expect(page.locator("timbre-fit p")).to_have_text(re.compile("^Kathleen's range:"))
    expect(page.locator("#convert-voices .recording")).to_have_count(0)  # its range
    page.get_by_role("button", name="One recording").click()
    expect(page.get_by_label("Singing (detected)")).to_be_checked()
    expect(page.locator("timbre-fit")).to_contain_text("Auto: ")
    page.get_by_label("Rap").check()  # a choice of the visitor's stays
    page.get_by_role("button", name="Batch").click()
    expect(page.get_by_label("Rap", exact=True)).to_be_checked()
    page.get_by_role("button", name="One recording").click()
    expect(page.get_by_label("Rap", exact=True)).to_be_checked()

    soundfile.write(tmp_path / "silent.wav", np.zeros(RATE), RATE)
    page.get_by_role("button", name="Replace vocal").click()
    drop(page, tmp_path / "silent.wav")
    is_taken(page)
    expect(page.locator("#convert-facts")).to_contain_text("silent.wav · 1.0 s · silence")
    expect(page.locator("timbre-fit")).to_contain_text("No notes found in the recording. Kathleen's range")
    expect(slider(page, "Transpose")).to_have_value("0")


def test_convert_all_converts_several_recordings_and_downloads_a_zip(page, recording, tmp_path, photographed):
    page.get_by_role("radio", name="Kathleen").click()
    page.get_by_role("button", name="Batch").click()
    (tmp_path / "broken.wav").write_text("no sound")
    drop(page, recording("one.wav"), recording("two.wav"), tmp_path / "broken.wav", into="#convert-files")
    expect(page.locator("#convert-files").get_by_text("two")).to_be_visible()
    page.get_by_role("button", name="Convert all").click()
    rows = page.locator("#convert-batch .task")
    expect(rows).to_have_count(3)
    expect(rows.nth(2)).to_contain_text("is not an audio file")
    expect(page.get_by_text("2 of 3 done, 1 failed")).to_be_visible(timeout=WORK_MS)
    expect(rows.nth(0)).to_contain_text("Kathleen")
    expect(rows.locator(".outline path[d*=M]")).to_have_count(2)
    expect(rows.get_by_role("button", name="Play", exact=False)).to_have_count(2)
    photographed(page, "convert-batch")
    with page.expect_download() as coming:
        page.get_by_role("button", name="Download all as ZIP").click()
    assert coming.value.suggested_filename == "Kathleen - 2 recordings.zip"
    coming.value.save_as(tmp_path / "got.zip")
    with zipfile.ZipFile(tmp_path / "got.zip") as archive:
        assert archive.namelist() == ["one - Kathleen.wav", "two - Kathleen.wav"]
    for _ in range(2):  # as often as one likes
        with page.expect_download() as coming:
            page.get_by_role("button", name="Download: two.wav").click()
        assert coming.value.suggested_filename == "two - Kathleen.wav"
        assert soundfile.info(coming.value.path()).duration == pytest.approx(2.0, abs=0.01)
    page.get_by_role("button", name="Open: one.wav").click()
    expect(page.locator("#convert-title h2")).to_contain_text("one.wav", timeout=WORK_MS)
    expect(page.locator("#convert-instrument .track")).to_have_count(2)


def test_convert_tab_offers_the_sound_tracks_of_a_film(page, tmp_path):
    film = tmp_path / "film.mkv"
    sounds = [tone(96_000, 48_000, hertz=hertz) for hertz in (220.0, 440.0)]
    film.write_bytes(several(sounds, default=1, titles=["Music", "Voice"]))
    drop(page, film)
    is_taken(page)
    expect(page.locator("#convert-facts")).to_contain_text("A4")
    expect(page.locator("#convert-warning")).to_contain_text("Track 2, the one that players play, is read")
    page.locator("#convert-track input").click()
    page.get_by_role("option", name=re.compile("1 · Music")).click()
    expect(page.locator("#convert-facts")).to_contain_text("A3", timeout=WORK_MS)
    expect(page.locator("#convert-track input")).to_have_value(re.compile("1 · Music"))
    expect(page.locator("#convert-warning")).not_to_contain_text("Track 2")
