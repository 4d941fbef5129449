"""Sing into a fake microphone in a real browser: the other voice comes back, and faults end in a sentence."""

import base64
import os
import re
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect, sync_playwright

from engine import read_audio
from engine.analysis.pitch import detect_pitch
from engine.audio.files import Audio
from engine.audio.resampling import resample
from engine.evaluation.evaluator import Evaluator
from engine.evaluation.scores import speaker_similarity
from engine.voices.card import DEMO_VOICES
from studio.load.trial_service import TrialService, trial_service
from tests.browsers import chromium_program
from tests.waiting import WORK_MS

pytestmark = pytest.mark.slow
SAMPLE = DEMO_VOICES.parents[1] / "samples" / "singing.flac"
TAPPED = 4096  # samples at once
STRETCHES = 10  # of listening, on a busy machine
BLOCK_S, SLACK_S = 0.06, 0.03  # so much longer than half of a block one may take on its way before it is late
# taps what is played: the destination of every AudioContext gets a recorder beside it
TAP = """
window.tracks = [];
const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async (wanted) => {
  const stream = await ask(wanted);
  window.tracks.push(...stream.getTracks());
  window.wanted = wanted;
  return stream;
};
window.works = [];
window.Worker = class extends window.Worker {
  constructor(...given) {
    super(...given);
    this.addEventListener("message", ({ data }) => { if (data.said?.meter) window.works.push(data.said.meter.work); });
  }
};
const Real = window.AudioContext;
window.heard = [];
window.AudioContext = class extends Real {
  constructor(...given) {
    super(...given);
    const tap = this.createScriptProcessor(TAPPED, 1, 1);
    tap.onaudioprocess = ({ inputBuffer }) => window.heard.push(inputBuffer.getChannelData(0).slice());
    tap.connect(this.destination);
    window.tap = tap;
    const connect = AudioNode.prototype.connect;
    const destination = this.destination;
    AudioNode.prototype.connect = function (to, ...rest) {
      if (to === destination && this !== tap) connect.call(this, tap);
      return connect.call(this, to, ...rest);
    };
  }
};
""".replace("TAPPED", str(TAPPED))
READ = """async () => {
  const reader = new FileReader();
  const read = new Promise((resolve) => { reader.onload = resolve; });
  reader.readAsDataURL(new Blob(window.heard));
  await read;
  return reader.result.split(",")[1];
}"""


@pytest.fixture(scope="module")
def service(tmp_path_factory) -> Iterator[TrialService]:
    with trial_service(tmp_path_factory.mktemp("live") / "home") as started:
        yield started


@pytest.fixture(scope="module")
def singer(service, tmp_path_factory):
    """A browser whose microphone sings the sample for ever."""
    audio = read_audio(SAMPLE)
    sung = resample(audio.mono(), audio.rate, 48_000)
    path = tmp_path_factory.mktemp("microphone") / "singing.wav"
    soundfile.write(path, sung, 48_000, subtype="PCM_16")  # the browser reads no other
    expect.set_options(timeout=WORK_MS)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=chromium_program(),
            args=[
                *("--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream"),
                *(f"--use-file-for-fake-audio-capture={path}", "--autoplay-policy=no-user-gesture-required"),
            ],
        )
        yield browser
        browser.close()


@pytest.fixture
def page(service, singer) -> Iterator[Page]:
    context = singer.new_context()
    opened = context.new_page()
    opened.set_default_timeout(WORK_MS)
    opened.add_init_script(TAP)
    opened.goto(service.base_url)
    opened.get_by_role("tab", name="Live", exact=True).click()
    opened.locator("timbre-live .start").wait_for()
    yield opened
    context.close()


def status(page: Page):
    return page.locator("timbre-live .status")


def tap(page: Page, voice: str) -> None:
    page.locator("timbre-live").get_by_role("radio", name=voice).click()


def sing(page: Page) -> None:
    page.locator("timbre-live .start").click()
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "running")
    page.wait_for_function("() => Number(document.querySelector('timbre-live').dataset.heard) > 0")


def heard(page: Page, seconds: float) -> np.ndarray:
    page.evaluate("() => { window.heard.length = 0; }")
    page.wait_for_function(f"() => window.heard.length * {TAPPED} > {seconds} * 48000")
    return np.frombuffer(base64.b64decode(page.evaluate(READ)), np.float32)


def lost(page: Page) -> int:
    """Return how many blocks came too late, or were dropped."""
    return int(page.locator("timbre-live").get_attribute("data-lost"))


def listened(page: Page, seconds: float) -> np.ndarray:
    """What is played, without a gap if the machine has time for that; a gap is a fault where nothing had to wait."""
    for _ in range(STRETCHES):
        page.evaluate("() => { window.works.length = 0; }")
        lost_before, waited_before = lost(page), waited_s()
        output = heard(page, seconds)
        gaps, waited = lost(page) - lost_before, waited_s()
        if not gaps:
            break
        slow_s = sum(max(0.0, work - 0.5) * BLOCK_S for work in page.evaluate("window.works"))
        held_up_s = slow_s + sum(max(0.0, by_now - waited_before.get(one, 0.0)) for one, by_now in waited.items())
        assert gaps * SLACK_S <= held_up_s, f"{gaps} blocks were lost, and only {held_up_s:.3f} s"
    return output


def waited_s() -> dict[str, float]:
    """How long each thread of the service and of the browser has been ready without a processor, in seconds, and how
    long the host of this machine has kept its processors to itself."""
    waited = {"host": int(Path("/proc/stat").read_text().split()[8]) / os.sysconf("SC_CLK_TCK")}
    processes = [os.getpid()]
    for process in processes:
        processes += children(process)
        for task in Path(f"/proc/{process}/task").glob("*/schedstat"):
            with suppress(OSError):  # it has ended
                waited[task.parent.name] = int(task.read_text().split()[1]) / 1e9
    return waited


def is_more_like(voice: str, output: np.ndarray) -> bool:
    """Whether the output is more like a voice's preview than like the singer, by a network that verifies speakers."""
    evaluator = Evaluator(words=False)
    found, target, singer = (
        evaluator.embed(recording)
        for recording in (Audio(output[None], 48_000), DEMO_VOICES / voice / "preview.wav", SAMPLE)
    )
    return speaker_similarity(found, target) > speaker_similarity(found, singer)


def test_live_converts_singing_switches_voices_and_records_into_history(page):
    page.locator("timbre-live .record").click()
    tap(page, "Koguchi")  # the sample is sung, so by voices that sing
    sing(page)
    heard(page, 3.0)  # until all of it is warm
    output = listened(page, 8.0)
    assert 0.02 < np.abs(output).max() <= 1.0
    pitch = detect_pitch(output, 48_000)
    assert pitch.voiced.mean() > 0.2
    assert int(page.locator("timbre-live").get_attribute("data-heard")) < 500
    assert is_more_like("koguchi", output)
    tap(page, "Safiye")  # while it runs
    page.evaluate("() => Object.defineProperty(document, 'hidden', { value: true })")
    heard(page, 2.0)
    assert is_more_like("safiye", heard(page, 8.0))
    page.locator("timbre-live .start").click()
    expect(status(page)).to_contain_text("The recording is in History.")
    page.get_by_role("tab", name="History", exact=True).click()
    expect(page.get_by_text("Live session").first).to_be_visible()


def test_live_refuses_a_second_session_and_survives_a_stalled_page(page, singer, service):
    sing(page)
    other = singer.new_page()
    other.goto(service.base_url)
    other.get_by_role("tab", name="Live", exact=True).click()
    other.locator("timbre-live .start").click()
    expect(status(other)).to_contain_text("running already")
    other.close()
    page.evaluate("() => { const end = performance.now() + 2000; while (performance.now() < end); }")
    assert np.abs(heard(page, 4.0)[-96_000:]).max() > 0.02
    page.locator("timbre-live .start").click()
    expect(status(page)).to_contain_text("Stopped.")


def test_live_reports_a_lost_microphone_and_goes_on_when_it_is_back(page):
    sing(page)
    page.evaluate("""() => {
      window.known = navigator.mediaDevices.enumerateDevices;
      navigator.mediaDevices.enumerateDevices = async () => [];
      for (const track of window.tracks) track.dispatchEvent(new Event('ended'));
    }""")
    expect(status(page)).to_contain_text("The microphone was disconnected.")
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "stopped")
    page.evaluate("""() => {
      navigator.mediaDevices.enumerateDevices = window.known;
      navigator.mediaDevices.dispatchEvent(new Event('devicechange'));
    }""")
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "running")
    assert np.abs(heard(page, 4.0)[-96_000:]).max() > 0.02
    page.locator("timbre-live .start").click()
    expect(status(page)).to_contain_text("Stopped.")


def test_live_shows_levels_notes_and_delay_and_changes_voices_by_keys(page):
    live = page.locator("timbre-live")
    live.get_by_role("button", name="Fast").click()
    expect(live.get_by_role("button", name="Fast")).to_have_attribute("aria-pressed", "true")
    live.get_by_role("button", name="Balanced").click()
    sing(page)
    note = re.compile(r"^[A-G]#?[1-6]$")
    for place in (0, 1):
        expect(live.locator(".note b").nth(place)).to_have_text(note)
        expect(live.locator(".level .db").nth(place)).to_contain_text("dB")
    expect(live.locator(".cents")).to_contain_text("cents")
    expect(live.locator(".delay")).to_contain_text("ms")
    page.keyboard.press("2")
    expect(live.get_by_role("radio").nth(1)).to_have_attribute("aria-checked", "true")
    page.keyboard.press("b")
    expect(live.get_by_role("button", name="Bypass")).to_have_attribute("aria-pressed", "true")
    assert drawn(page)
    live.locator(".start").click()
    expect(status(page)).to_contain_text("Stopped.")
    expect(live.locator(".notes")).to_have_class(re.compile("idle"))


def drawn(page: Page) -> bool:
    """Whether the curve of what is heard is in the picture, in the accent's colour, before "now"."""
    return page.evaluate("""() => {
      const canvas = document.querySelector("timbre-live canvas"), width = canvas.width - 60 * devicePixelRatio;
      const { data } = canvas.getContext("2d").getImageData(0, 0, width, canvas.height);
      for (let i = 0; i < data.length; i += 4) if (data[i] > 190 && data[i + 1] < 80 && data[i + 2] < 150) return true;
      return false;
    }""")


def test_live_shows_the_range_of_a_voice_before_anybody_sings(page):
    live = page.locator("timbre-live")
    cards = page.locator("#convert-voices .card .name").all_text_contents()
    assert live.locator(".voice span").all_text_contents() == cards  # in the order of Convert
    tap(page, "Safiye")
    expect(live.locator(".pitch p")).to_contain_text("Safiye's range: G3 to C5. While you sing")
    assert not drawn(page)
    sing(page)
    expect(live.locator(".pitch p")).to_be_hidden()
    live.locator(".start").click()
    expect(status(page)).to_contain_text("Stopped.")


def test_live_finds_the_key_by_itself_until_it_is_set_by_hand(page):
    live = page.locator("timbre-live")
    auto, key = live.get_by_role("button", name="Auto"), live.get_by_label("Transpose")
    tap(page, "Safiye")  # a woman, while a man sings
    sing(page)
    expect(key).to_have_value("+12")
    tap(page, "Koguchi")
    expect(key).to_have_value("0")
    live.get_by_role("button", name="Down a semitone").click()
    expect(key).to_have_value("-1")
    expect(auto).to_have_attribute("aria-pressed", "false")
    tap(page, "Safiye")
    heard(page, 2.0)
    expect(key).to_have_value("-1")  # it is the singer's now
    auto.click()
    expect(key).to_have_value("+12")
    key.fill("99")
    key.press("Tab")
    expect(key).to_have_value("+24")
    live.locator(".start").click()
    expect(status(page)).to_contain_text("Stopped.")


def test_live_begins_a_recording_while_it_runs_and_is_played_by_keys(page):
    live, record = page.locator("timbre-live"), page.locator("timbre-live .record")
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press(" ")
    expect(live).to_have_attribute("data-state", "running")
    expect(record.locator(".time")).to_have_text("")
    record.click()
    expect(record.locator(".time")).to_have_text(re.compile("^0:0[1-9]$"))
    expect(record).to_be_disabled()  # it ends with the session
    live.locator(".voice").nth(1).click()
    page.keyboard.press("Enter")  # on a voice, which is chosen already
    expect(status(page)).to_contain_text("The recording is in History.")
    expect(record).to_have_attribute("aria-pressed", "false")
    live.get_by_role("button", name="Speech").focus()
    page.keyboard.press("Enter")  # which presses that button; the space bar plays, whatever has the focus
    expect(live.get_by_role("button", name="Speech")).to_have_attribute("aria-pressed", "true")
    expect(live).to_have_attribute("data-state", "stopped")


def test_live_lets_the_dry_sound_through_and_plays_on_the_chosen_output(page):
    page.evaluate("""() => {
      window.sinks = [];
      AudioContext.prototype.setSinkId = async (id) => { window.sinks.push(id); };
    }""")
    live = page.locator("timbre-live")
    tap(page, "Koguchi")
    sing(page)
    live.get_by_label("Output", exact=True).select_option(index=1)  # named, as the browser has given the microphone
    page.wait_for_function("() => window.sinks.at(-1)")
    live.get_by_label("Microphone").select_option(index=1)
    expect(live).to_contain_text("This takes effect at the next start.")
    live.get_by_label("Dry/Wet").fill("0")
    heard(page, 1.0)
    assert not is_more_like("koguchi", heard(page, 8.0))
    live.locator(".start").click()
    expect(status(page)).to_contain_text("Stopped.")
    sing(page)
    assert page.evaluate("() => window.wanted.audio.deviceId.ideal.length") > 0
    assert page.evaluate("() => window.sinks.every((one) => one === window.sinks[0])")  # remembered
    live.locator(".start").click()
    expect(status(page)).to_contain_text("Stopped.")


ONE_RATE = """
const connect = AudioContext.prototype.createMediaStreamSource;
AudioContext.prototype.createMediaStreamSource = function (stream) {
  if (this.sampleRate === 48000) throw new DOMException("Connecting AudioNodes from AudioContexts with different sample-rate is currently not supported.", "NotSupportedError");
  return connect.call(this, stream);
};
const Plain = AudioContext;
window.AudioContext = class extends Plain {
  constructor(given) {
    super({ sampleRate: 44100, ...given });
  }
};
"""  # noqa: E501 - as Firefox does with a microphone of another rate


def test_live_takes_a_microphone_of_another_rate(singer, service):
    page = singer.new_page()
    page.add_init_script(ONE_RATE)
    page.goto(service.base_url)
    page.get_by_role("tab", name="Live", exact=True).click()
    page.locator("timbre-live .start").wait_for()
    sing(page)
    page.locator("timbre-live .start").click()
    expect(status(page)).to_contain_text("Stopped.")
    page.close()


CLICKS = """async ([delay, noise]) => {
  const { findDelay } = await import("/page-files/live-latency.js");
  const rate = 48000, places = [0.3, 0.7, 1.1, 1.5, 1.9].map((one) => Math.round(one * rate));
  const heard = Float32Array.from({ length: 2.6 * rate }, (_, i) => noise * Math.sin(i * i));
  if (delay !== null) for (const place of places) for (let i = 0; i < 96; i += 1) heard[place + Math.round(delay * rate) + i] += 0.1 * Math.sin(0.39 * (i + 1));
  return findDelay(heard, places, rate);
}"""  # noqa: E501


def test_measuring_finds_clicks_by_their_delay_or_says_that_it_did_not(page):
    assert page.evaluate(CLICKS, [0.0375, 0.002]) == pytest.approx(0.0375, abs=0.0005)
    assert page.evaluate(CLICKS, [0.0, 0.0]) == pytest.approx(0.0, abs=0.0005)
    assert page.evaluate(CLICKS, [None, 0.002]) is None
    page.get_by_role("button", name="Measure latency").click()  # it hears singing, and no clicks
    expect(page.locator("timbre-live")).to_contain_text("The clicks were not found.")
    sing(page)  # and can be started after that
    page.locator("timbre-live .start").click()
    expect(status(page)).to_contain_text("Stopped.")


def test_live_reports_a_killed_process_and_starts_a_new_session(page, service):
    before = children(service.process.pid)
    sing(page)
    for pid in children(service.process.pid) - before:
        os.kill(pid, signal.SIGKILL)
    expect(status(page)).to_contain_text("ended unexpectedly")
    sing(page)
    page.locator("timbre-live .start").click()
    expect(status(page)).to_contain_text("Stopped.")


def children(parent: int) -> set[int]:
    """Return the processes that a process has started."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1]) == parent:
                found.add(int(entry.name))
    return found
