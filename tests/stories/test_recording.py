"""Record in a real browser with a fake microphone: what is sung arrives as it was sung, from the chosen input."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect, sync_playwright

from studio.load.trial_service import TrialService, trial_service
from tests.browsers import chromium_program
from tests.waiting import WORK_MS

pytestmark = pytest.mark.slow
RATE = 44_100  # of the fake microphone, so that nothing is resampled
RAMP_DB, RAMP_S, LOUDEST_DB = 20.0, 5.0, -20.0
CHANGES = ("autoGainControl", "noiseSuppression", "echoCancellation")
TABS = {"convert": "#convert", "create": "#create-form", "explore": "#explore-first-side"}
LISTEN = """
window.wanted = [];
window.tracks = [];
const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => {
  const stream = await ask(wanted);
  window.wanted.push(wanted.audio);
  window.tracks.push(...stream.getAudioTracks());
  return stream;
};
"""
DISOBEYS = """
const settings = MediaStreamTrack.prototype.getSettings;
MediaStreamTrack.prototype.getSettings = function () {
  return { ...settings.call(this), autoGainControl: true, echoCancellation: "all" };
};
"""
ONE_INPUT = """
navigator.mediaDevices.getUserMedia = async () => {
  const context = new AudioContext(), to = new MediaStreamAudioDestinationNode(context, { channelCount: 1 });
  const sung = new OscillatorNode(context, { frequency: 220 });
  sung.connect(new GainNode(context, { gain: 0.1 })).connect(to);
  sung.start();
  await context.resume();
  return to.stream;
};
navigator.mediaDevices.enumerateDevices = async () => [];
"""


def vowel(seconds: float) -> np.ndarray:
    """A sustained vowel on A3 that gets louder by RAMP_DB within RAMP_S, again and again."""
    time_s = np.arange(round(seconds * RATE)) / RATE
    partials = range(220, 3000, 220)
    sung = sum(np.sin(2 * np.pi * hertz * time_s) * np.exp(-(((hertz - 700) / 500) ** 2)) for hertz in partials)
    level_db = LOUDEST_DB - RAMP_DB * (1 - time_s % RAMP_S / RAMP_S)
    return np.asarray(sung / np.abs(sung).max() * 10 ** (level_db / 20))


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[TrialService]:
    with trial_service(tmp_path_factory.mktemp("recording") / "home") as started:
        yield started


@pytest.fixture(scope="module")
def singer(service, tmp_path_factory) -> Callable[..., "Iterator[Page]"]:
    """Open the page in a browser with a microphone in input 2 of two."""
    path = tmp_path_factory.mktemp("microphone") / "sung.wav"
    sung = vowel(30.0)
    soundfile.write(path, np.stack([0 * sung, sung], 1), RATE, subtype="PCM_16")
    expect.set_options(timeout=WORK_MS)

    @contextmanager
    def opened(tab: str = "convert", *scripts: str, **options) -> Iterator[Page]:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium_program(),
                args=[
                    *("--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"),
                    *(f"--use-file-for-fake-audio-capture={path}", "--autoplay-policy=no-user-gesture-required"),
                ],
            )
            page = browser.new_context(accept_downloads=True, **options).new_page()
            page.set_default_timeout(WORK_MS)
            for script in scripts:
                page.add_init_script(script)
            page.goto(f"{service.base_url}#{tab}")
            yield page
            browser.close()

    return opened


def recorder(page: Page, tab: str = "convert"):
    return page.locator(f"{TABS[tab]} timbre-recorder").first


def start(page: Page, tab: str = "convert") -> None:
    recorder(page, tab).get_by_role("button", name="Record").click()
    recorder(page, tab).get_by_role("button", name="Start recording").click()


def stop(page: Page, tab: str = "convert") -> None:
    recorder(page, tab).get_by_role("button", name="Stop").click()


def lasts(page: Page, seconds: float) -> None:
    """Wait until a recording is so long."""
    page.wait_for_function(
        """([place, least]) => {
          const [minutes, seconds] = document.querySelector(place + " timbre-recorder time").textContent.split(":");
          return 60 * Number(minutes) + Number(seconds) >= least;
        }""",
        arg=[TABS["convert"], seconds],
    )


def arrived(service: TrialService, before: set[Path]) -> np.ndarray:
    """The samples of the recording that has arrived in the service."""
    (path,) = set(service.home.glob("tasks/*/input.wav")) - before
    samples, rate = soundfile.read(path)
    assert rate == RATE
    assert samples.ndim == 1
    return np.asarray(samples)


@pytest.fixture
def before(service) -> set[Path]:
    """What has arrived already."""
    return set(service.home.glob("tasks/*/input.wav"))


def is_taken(page: Page) -> None:
    expect(page.locator("#convert-facts")).to_contain_text("LUFS")


def levels_db(samples: np.ndarray) -> np.ndarray:
    """The mean level of each tenth of a second."""
    count = len(samples) // (RATE // 10)
    return 10 * np.log10(np.mean(samples[: count * (RATE // 10)].reshape(count, -1) ** 2, axis=1) + 1e-12)


def test_a_crescendo_arrives_as_it_was_sung(singer, service, before):
    with singer("convert", LISTEN) as page:
        recorder(page).get_by_role("button", name="Record").click()
        recorder(page).get_by_label("Input", exact=True).select_option("2")
        recorder(page).get_by_role("button", name="Start recording").click()
        lasts(page, 16)
        stop(page)
        is_taken(page)
        settings = page.evaluate("() => window.tracks.at(-1).getSettings()")
    assert not any(settings[change] for change in CHANGES)
    samples = arrived(service, before)
    levels = levels_db(samples)
    source = levels_db(vowel(RAMP_S))
    assert levels.max() == pytest.approx(source.max(), abs=0.5)
    assert np.percentile(levels, 5) == pytest.approx(np.percentile(source, 5), abs=1.5)
    slope = RAMP_DB / RAMP_S / 10  # in a tenth of a second
    is_cut = np.abs(np.diff(levels) - slope) > 0.1  # where it begins anew, or a busy machine has lost some sound
    runs = np.split(levels, np.flatnonzero(is_cut) + 1)
    assert max(run[-1] - run[0] for run in runs) > RAMP_DB / 2


@pytest.mark.parametrize("tab", TABS)
def test_every_recorder_and_live_ask_for_nothing_of_the_browsers(singer, tab):
    with singer(tab, LISTEN) as page:
        recorder(page, tab).get_by_role("button", name="Record").click()
        expect(recorder(page, tab).get_by_role("meter")).to_be_visible()
        expect(recorder(page, tab).locator(".warned")).not_to_contain_text("This browser")
        page.locator("#tabs [role=tab][data-tab-id=live]").first.click()
        page.locator("timbre-live .start").click()
        page.wait_for_function("() => window.tracks.length === 2")
        wanted, settings = page.evaluate("() => [window.wanted, window.tracks.map((one) => one.getSettings())]")
    for change in CHANGES:
        assert [one[change] for one in wanted] == [False, False]
        assert [one[change] for one in settings] == [False, False]


def test_a_browser_that_changes_the_sound_all_the_same_is_named(singer):
    sentence = "This browser still changes the sound of the microphone (gain control, echo cancelling)."
    with singer("convert", DISOBEYS) as page:
        recorder(page).get_by_role("button", name="Record").click()
        expect(recorder(page).locator(".warned")).to_contain_text(sentence)
        page.locator("#tabs [role=tab][data-tab-id=live]").first.click()
        page.locator("timbre-live .start").click()
        expect(page.locator("timbre-live .warned")).to_contain_text(sentence)


def test_a_silent_input_is_named_and_another_counts_for_the_whole_recording(singer, service, before):
    with singer() as page:
        warned = recorder(page).locator(".warned")
        recorder(page).get_by_role("button", name="Record").click()
        expect(recorder(page).get_by_label("Input", exact=True).locator("option")).to_have_text(
            ["Input 1", "Input 2", "Mix of all inputs"]
        )
        expect(warned).to_have_text(re.compile("microphone is in input 2, and the mix .* choose Input 2"))
        recorder(page).get_by_label("Input", exact=True).select_option("1")
        expect(warned).to_have_text("Input 1 is silent; your microphone is in input 2: choose Input 2.")
        recorder(page).get_by_role("button", name="Start recording").click()
        lasts(page, 2)
        recorder(page).get_by_label("Input", exact=True).select_option("2")
        expect(warned).to_have_text("")
        stop(page)
        is_taken(page)
        assert (levels_db(arrived(service, before)) > LOUDEST_DB - RAMP_DB - 12).all()  # from its beginning
        page.reload()
        page.get_by_role("button", name="Replace vocal").click()
        recorder(page).get_by_role("button", name="Record").click()
        expect(recorder(page).get_by_label("Input", exact=True)).to_have_value("2")  # is remembered, also for Live
        page.locator("#tabs [role=tab][data-tab-id=live]").first.click()
        live = page.locator("timbre-live")
        live.locator(".start").click()
        expect(live).to_have_attribute("data-state", "running")
        expect(live.get_by_label("Input", exact=True)).to_have_value("2")
        expect(live.locator(".note b").first).to_have_text("A3")
        live.get_by_label("Input", exact=True).select_option("1")
        expect(live.locator(".warned")).to_contain_text("your microphone is in input 2: choose Input 2.")
        live.locator(".start").click()


def test_a_microphone_with_one_input_offers_none(singer):
    with singer("convert", ONE_INPUT) as page:
        start(page)
        lasts(page, 2)
        expect(recorder(page).get_by_label("Input", exact=True)).to_be_hidden()
        expect(recorder(page).locator(".warned")).to_have_text("")
        stop(page)
        is_taken(page)


def test_a_browser_without_track_processors_records_the_same_way(singer, service, before):
    with singer("convert", "delete window.MediaStreamTrackProcessor;") as page:
        start(page)
        recorder(page).get_by_label("Input", exact=True).select_option("2")
        lasts(page, 6)
        stop(page)
        is_taken(page)
    (path,) = set(service.home.glob("tasks/*/input.wav")) - before
    samples, _ = soundfile.read(path)
    assert np.abs(samples).max() == pytest.approx(10 ** (LOUDEST_DB / 20), rel=0.05)


def test_a_pause_is_left_out_and_another_tab_does_not_end_a_recording(singer, service, before):
    with singer() as page:
        start(page)
        lasts(page, 1)
        recorder(page).get_by_role("button", name="Pause").click()
        said = recorder(page).locator("time").inner_text()
        page.locator("#tabs [role=tab][data-tab-id=voices]").first.click()
        page.wait_for_timeout(2000)
        page.locator("#tabs [role=tab][data-tab-id=convert]").first.click()
        expect(recorder(page).locator("time")).to_have_text(said)
        recorder(page).get_by_role("button", name="Resume").click()
        page.locator("#tabs [role=tab][data-tab-id=voices]").first.click()
        page.wait_for_timeout(2000)
        page.locator("#tabs [role=tab][data-tab-id=convert]").first.click()
        expect(recorder(page).locator("time")).not_to_have_text(said)
        shown = float(recorder(page).locator("time").inner_text().rpartition(":")[2])
        stop(page)
        is_taken(page)
    assert shown <= len(arrived(service, before)) / RATE < shown + 5


def test_a_microphone_is_closed_when_nothing_is_recorded(singer):
    ended = "() => window.tracks.every((one) => one.readyState === 'ended')"
    with singer("convert", LISTEN) as page:
        recorder(page).get_by_role("button", name="Record").click()
        recorder(page).get_by_role("button", name="Close the recorder").click()
        page.wait_for_function(ended)
        recorder(page).get_by_role("button", name="Record").click()
        expect(recorder(page).get_by_role("meter")).to_be_visible()
        page.locator("#tabs [role=tab][data-tab-id=voices]").first.click()
        page.wait_for_function(ended)
        page.locator("#tabs [role=tab][data-tab-id=convert]").first.click()
        start(page)
        lasts(page, 1)
        stop(page)
        page.wait_for_function(ended)


def test_a_recording_outlives_its_microphone_and_a_failed_upload(singer, tmp_path):
    with singer("convert", LISTEN) as page:
        page.route("**/gradio_api/upload*", lambda route: route.abort())
        start(page)
        lasts(page, 2)
        page.evaluate("() => window.tracks.at(-1).dispatchEvent(new Event('ended'))")
        lost = "The microphone was disconnected. What was recorded is kept."
        expect(recorder(page).locator(".said")).to_have_text(lost)
        with page.expect_download() as download:
            recorder(page).get_by_role("link", name="Save the recording").click()
        assert re.fullmatch(r"Recording \d\d \w{3} \d\d\.\d\d\.\d\d\.wav", download.value.suggested_filename)
        download.value.save_as(tmp_path / "saved.wav")
    assert soundfile.info(tmp_path / "saved.wav").duration > 1.9


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--use-fake-ui-for-media-stream",), "No microphone was found: connect one, then try again."),
        (
            ("--use-fake-device-for-media-stream", "--deny-permission-prompts"),
            "The microphone is blocked for this page: allow it beside the page's address or in your system's settings, "
            "then try again.",
        ),
    ],
)
def test_a_missing_or_refused_microphone_is_named_and_the_page_goes_on(service, tmp_path, vocal, arguments, said):
    expect.set_options(timeout=WORK_MS)
    soundfile.write(tmp_path / "mine.wav", vocal(2.0, 200.0), RATE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_program(), args=["--no-sandbox", *arguments])
        page = browser.new_page()
        page.set_default_timeout(WORK_MS)
        page.goto(f"{service.base_url}#convert")
        record, told = recorder(page).get_by_role("button", name="Record"), recorder(page).locator(".said")
        record.wait_for()
        kinds = page.evaluate("navigator.mediaDevices.enumerateDevices().then((all) => all.map(({ kind }) => kind))")
        if len(arguments) == 1 and "audioinput" in kinds:
            pytest.skip("this machine has a microphone")
        place = record.bounding_box()
        for _ in range(2):  # it can be tried again
            record.click()
            expect(told).to_have_text(said)
            expect(record).to_be_enabled()
            assert record.bounding_box() == place
        for size in ((1280, 720), (390, 844)):
            page.set_viewport_size({"width": size[0], "height": size[1]})
            assert told.bounding_box()["height"] < 60  # no narrow column beside the button
        page.locator("#tabs [role=tab][data-tab-id=live]").first.click()
        page.locator("timbre-live .start").click()
        expect(page.locator("timbre-live").get_by_text(said)).to_be_visible()
        page.locator("#tabs [role=tab][data-tab-id=convert]").first.click()
        page.locator("#convert-drop input[type=file]").first.set_input_files(tmp_path / "mine.wav")
        is_taken(page)
        browser.close()


def test_a_microphone_that_another_program_has_is_named(singer):
    refuses = "navigator.mediaDevices.getUserMedia = async () => { throw new DOMException('no', 'NotReadableError'); };"
    with singer("convert", refuses) as page:
        recorder(page).get_by_role("button", name="Record").click()
        expect(recorder(page).locator(".said")).to_contain_text("could not be opened: close other programs that use it")
        expect(recorder(page).get_by_role("button", name="Record")).to_be_enabled()
