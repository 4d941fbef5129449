"""<timbre-live> by itself: its devices come and go, and a service that gives back what it is sent."""

import mimetypes
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.sync_api import Locator, Page, expect

from studio.actions.conversions.live import LiveVoice
from studio.actions.voice_ends import VoiceEnds
from studio.page.live.tab import _form
from studio.page.page_files import page_file
from studio.store.records.codec import plain
from tests.waiting import WORK_MS

BLANK = """<!doctype html><html><head><link rel="icon" href="data:,"><link rel="stylesheet" href="/page-files/page.css">
<script type="module" src="/page-files/live.js"></script></head><body></body></html>"""
MICROPHONE, CABLE, HEADPHONES = "microphone", "cable", "headphones"
# the devices; what each context plays on, how loud; and a service behind the worker that sends blocks back
SCRIPT = """
window.devices = ["microphone", "cable", "headphones"];
const kinds = { microphone: "audioinput", interface: "audioinput", cable: "audiooutput", headphones: "audiooutput" };
navigator.mediaDevices.enumerateDevices = async () => devices.map((deviceId) => (
  { deviceId, groupId: deviceId, kind: kinds[deviceId], label: `The ${deviceId}` }));
window.plug = (...names) => {
  window.devices = names;
  navigator.mediaDevices.dispatchEvent(new Event("devicechange"));
};
window.streams = [];
const ask = navigator.mediaDevices.getUserMedia.bind(navigator.mediaDevices);
navigator.mediaDevices.getUserMedia = async ({ audio: { deviceId } }) => {
  const stream = await ask({ audio: true }), [track] = stream.getAudioTracks(), settings = track.getSettings();
  const given = devices.includes(deviceId?.ideal) ? deviceId.ideal : "microphone"; // as browsers do
  track.getSettings = () => ({ ...settings, deviceId: given, groupId: given });
  Object.defineProperty(track, "label", { value: `The ${given}` });
  window.streams.push(stream);
  return stream;
};
window.unplug = () => {
  plug(...devices.filter((one) => one !== "microphone"));
  for (const track of streams.at(-1).getTracks()) { track.stop(); track.dispatchEvent(new Event("ended")); }
};
window.contexts = [];
window.AudioContext = class extends AudioContext {
  #sink = "";
  constructor(...given) {
    super(...given);
    contexts.push(this);
    this.peaks = this.createAnalyser();
  }
  get sinkId() { return this.#sink; }
  async setSinkId(id) { this.#sink = id; }
};
const connect = AudioNode.prototype.connect;
AudioNode.prototype.connect = function (to, ...rest) {
  if (to === this.context.destination) connect.call(this, this.context.peaks);
  return connect.call(this, to, ...rest);
};
window.playing = () => Object.fromEntries(contexts.filter((one) => one.state === "running").map((one) => {
  const samples = new Float32Array(2048);
  one.peaks.getFloatTimeDomainData(samples);
  return [one.sinkId.type ?? one.sinkId, Math.max(...samples.map(Math.abs))];
}));
window.stops = 0;
window.Worker = class {
  postMessage(given) {
    const say = (said) => setTimeout(() => this.onmessage({ data: { said } }));
    if (given.address) say({ ready: { block: 2880, lag: 0, delay_ms: 1, reserve: 0 } });
    if (given.send?.stop) { window.stops += 1; say({ finished: {} }); setTimeout(() => this.onmessage({ data: { closed: true } })); }
    if (given.port) given.port.onmessage = ({ data }) => given.port.postMessage(data);
  }
  terminate() {}
};
"""  # noqa: E501
OPEN = """async (form) => {
  await customElements.whenDefined("timbre-live");
  const live = document.createElement("timbre-live");
  window.live = live;
  live.addEventListener("tell-start", () => { live.data = { ...form, ticket: String(Math.random()) }; });
  document.body.replaceChildren(live);
  live.data = form;
}"""
ENDS = {
    "melodic": VoiceEnds(name="Koguchi", low=48, high=72, estimated=None),
    "spoken": VoiceEnds(name="Koguchi", low=45, high=60, estimated="spoken"),
}
VOICE = LiveVoice(id="koguchi", name="Koguchi", untrained=False, ends=ENDS)
FORM = plain(_form([VOICE]))
AUDIBLE = 0.005


class Files(BaseHTTPRequestHandler):
    """A blank page and the files of the page; a worklet's are fetched past what playwright routes."""

    def do_GET(self) -> None:
        name = self.path.rpartition("/")[2]
        content = BLANK.encode() if name == "blank" else page_file(name).read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", mimetypes.guess_type(name)[0] or "text/html")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"  # browsers trust it with a microphone
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(browser, address) -> Iterator[Page]:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": 1300, "height": 1000})
    opened = context.new_page()
    opened.set_default_timeout(WORK_MS)
    expect.set_options(timeout=WORK_MS)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.add_init_script(SCRIPT)
    opened.goto(f"{address}/blank")
    opened.evaluate("localStorage.clear()")
    opened.evaluate(OPEN, FORM)
    yield opened
    context.close()
    assert not complaints


def start(page: Page) -> None:
    page.locator(".start").click()
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "running")


def plays_on(page: Page, *sinks: str) -> None:
    """Wait until it is heard on exactly these outputs: "" is the default, "none" nobody's."""
    page.wait_for_function(
        "([sinks, audible]) => JSON.stringify(Object.entries(playing()).filter(([, peak]) => peak > audible)"
        ".map(([sink]) => sink).sort()) === JSON.stringify(sinks)",
        arg=[sorted(sinks), AUDIBLE],
    )


def output(page: Page) -> Locator:
    return page.get_by_label("Output", exact=True)


def beside(page: Page) -> Locator:
    return page.get_by_label("Second output, to hear yourself")


def test_a_second_output_plays_the_same_beside_the_cable(page):
    output(page).select_option(CABLE)
    beside(page).select_option(HEADPHONES)
    start(page)
    plays_on(page, CABLE, HEADPHONES)
    beside(page).select_option("")
    plays_on(page, CABLE)
    beside(page).select_option(HEADPHONES)  # while one sings
    plays_on(page, CABLE, HEADPHONES)
    page.evaluate("plug('microphone', 'cable')")
    plays_on(page, CABLE)
    page.evaluate("plug('microphone', 'cable', 'headphones')")
    plays_on(page, CABLE, HEADPHONES)
    page.locator(".start").click()
    expect(page.locator(".status")).to_have_text("Stopped.")
    plays_on(page)


def test_chosen_outputs_are_remembered(page):
    output(page).select_option(CABLE)
    beside(page).select_option(HEADPHONES)
    page.reload()
    page.evaluate(OPEN, FORM)
    expect(output(page)).to_have_value(CABLE)
    expect(beside(page)).to_have_value(HEADPHONES)
    start(page)
    plays_on(page, CABLE, HEADPHONES)


def test_a_chosen_output_that_goes_is_asked_about_and_not_replaced(page):
    output(page).select_option(CABLE)
    start(page)
    plays_on(page, CABLE)
    page.evaluate("plug('microphone', 'headphones')")
    asked = page.locator(".asked").first
    expect(asked).to_contain_text("The cable is not connected, so nothing is played.")
    expect(output(page).locator("option:checked")).to_have_text("The cable (not connected)")
    plays_on(page, "none")
    page.evaluate("plug('microphone', 'cable', 'headphones')")  # it is back
    plays_on(page, CABLE)
    expect(asked).to_be_hidden()
    page.evaluate("plug('microphone', 'headphones')")
    asked.get_by_role("button", name="Play on the default output").click()
    plays_on(page, "")
    expect(asked).to_be_hidden()
    page.evaluate("plug('microphone', 'cable', 'headphones')")
    plays_on(page, "")  # as was chosen last


@pytest.mark.parametrize("begin", ["start", "Hear yourself", "Test tone"])
def test_an_output_that_is_not_there_at_the_start_is_not_replaced(begin, page):
    output(page).select_option(CABLE)
    page.reload()
    page.evaluate("plug('microphone', 'headphones')")
    page.evaluate(OPEN, FORM)
    expect(page.locator(".asked").first).to_be_visible()
    if begin == "start":
        start(page)
        plays_on(page, "none")
    else:
        page.get_by_role("button", name=begin).click()
        if begin == "Hear yourself":
            plays_on(page, "none")
        assert page.evaluate("contexts.every(({ sinkId }) => sinkId !== '')")


def test_a_microphone_that_is_pulled_out_goes_on_when_it_is_back(page):
    page.locator(".record").click()
    start(page)
    plays_on(page, "")
    page.evaluate("unplug()")
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "stopped")
    lost = "The microphone was disconnected. Live goes on as soon as you connect it again."
    expect(page.locator(".status")).to_have_text(lost)
    page.evaluate("plug('cable')")  # another device
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "stopped")
    page.evaluate("plug('microphone', 'cable')")
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "running")
    expect(page.locator(".record")).to_have_attribute("aria-pressed", "true")
    plays_on(page, "")
    page.locator(".start").click()
    expect(page.locator(".status")).to_have_text("Stopped.")
    page.evaluate("plug('cable')")
    page.evaluate("plug('microphone', 'cable')")  # which was stopped by hand
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "stopped")
    assert page.evaluate("stops") == 2


def test_a_microphone_that_is_back_before_the_session_has_ended_goes_on(page):
    start(page)
    page.evaluate("unplug(); plug('microphone', 'cable')")
    expect(page.locator("timbre-live")).to_have_attribute("data-state", "running")
    page.wait_for_function("streams.length === 2")
    plays_on(page, "")


def microphone(page: Page) -> Locator:
    return page.get_by_label("Microphone", exact=True)


def uses(page: Page, device: str) -> None:
    """Wait until it listens to this microphone, and to no other."""
    page.wait_for_function(
        "(device) => JSON.stringify(streams.filter((one) => one.active).map((one) => "
        "one.getAudioTracks()[0].getSettings().deviceId)) === JSON.stringify([device])",
        arg=device,
    )


REPLACED = "The interface is not available, so The microphone is used until it is back."


def opened_without_the_interface(page: Page) -> Locator:
    """Open the page when the chosen microphone is not there, and return what is asked."""
    page.evaluate("plug('microphone', 'interface', 'cable')")
    microphone(page).select_option("interface")
    page.reload()
    page.evaluate(OPEN, FORM)
    expect(microphone(page).locator("option:checked")).to_have_text("The interface (not connected)")
    return page.locator(".asked").filter(has_text=REPLACED)


@pytest.mark.parametrize("begin", ["start", "Hear yourself"])
def test_a_chosen_microphone_that_is_missing_is_replaced_with_a_word_and_taken_when_it_is_back(begin, page):
    asked = opened_without_the_interface(page)
    start(page) if begin == "start" else page.get_by_role("button", name=begin).click()
    expect(asked).to_be_visible()
    uses(page, "microphone")
    page.evaluate("plug('microphone', 'interface', 'cable')")
    uses(page, "interface")
    expect(asked).to_have_count(0)
    plays_on(page, "")  # and the session goes on
    assert page.evaluate("stops") == 0


def test_what_replaces_a_microphone_can_be_kept(page):
    asked = opened_without_the_interface(page)
    start(page)
    asked.get_by_role("button", name="Keep The microphone").click()
    expect(asked).to_have_count(0)
    expect(microphone(page)).to_have_value("microphone")
    page.evaluate("plug('microphone', 'interface', 'cable')")
    plays_on(page, "")
    uses(page, "microphone")


def test_the_microphone_in_use_is_not_complained_of(page):
    page.evaluate("plug('microphone', 'interface', 'cable')")
    microphone(page).select_option("interface")
    start(page)
    uses(page, "interface")
    expect(page.locator(".asked:visible")).to_have_count(0)


def test_hear_yourself_plays_the_microphone_without_a_session(page):
    output(page).select_option(CABLE)
    beside(page).select_option(HEADPHONES)
    hear = page.get_by_role("button", name="Hear yourself")
    hear.click()
    expect(hear).to_have_attribute("aria-pressed", "true")
    plays_on(page, CABLE, HEADPHONES)
    expect(page.locator(".level .db").first).to_contain_text("dB")
    hear.click()
    expect(hear).to_have_attribute("aria-pressed", "false")
    plays_on(page)
    assert page.evaluate("streams.every((one) => one.getTracks().every(({ readyState }) => readyState === 'ended'))")
    hear.click()
    plays_on(page, CABLE, HEADPHONES)
    start(page)  # which ends it
    expect(hear).to_have_attribute("aria-pressed", "false")
    assert page.evaluate("streams.map((one) => one.active)") == [False, False, True]
    assert page.evaluate("stops") == 0


def test_test_tone_sounds_on_the_chosen_output_and_ends(page):
    output(page).select_option(CABLE)
    tone = page.get_by_role("button", name="Test tone")
    tone.click()
    plays_on(page, CABLE)
    expect(page.locator(".status")).to_have_text("A tone is playing: you should see a level in the other program.")
    expect(tone).to_be_enabled()
    plays_on(page)
    expect(page.locator(".status")).to_have_text("")
    assert page.evaluate("streams.length") == 0  # no microphone was needed


def test_guide_leads_to_the_lesson_on_cables(page, address):
    guide = page.get_by_role("link", name="Into OBS, Discord or a call")
    expect(guide).to_have_attribute("href", f"{address}/learn/live.html#into-obs-discord-or-a-call")


def test_the_range_of_a_voice_is_the_one_where_it_does_what_is_done(page):
    hint = page.locator(".pitch p")
    expect(hint).to_contain_text("Koguchi's range: C3 to C5. While you sing")
    page.get_by_role("button", name="Speech").click()
    expect(hint).to_contain_text("Koguchi's range: A2 to C4. Only singing of Koguchi was recorded")
