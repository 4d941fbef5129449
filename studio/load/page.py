"""What the page costs a browser: `python -m studio.load.page [--conversions 30] [--json]`.

A new visitor opens the page of a service of its own in chromium, drops a recording of three seconds and converts it
again and again: first paint, requests and bytes, what moved, stops of the Tab key to Convert, and the heap in the end.
"""

import argparse
import json
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import soundfile
from playwright.sync_api import CDPSession, Page

import engine
from studio.load.chromium import new_page
from studio.load.trial_service import trial_service
from studio.load.waiting import WORK_MS

SINGING = Path(engine.__path__[0]) / "samples" / "singing.flac"
_QUIET_MS = 2_000
MOST_STOPS = 100
_COLLECTIONS = 3  # what one of them finishes goes with the next
_MOVED = """window.moved = 0;
new PerformanceObserver((list) => { for (const one of list.getEntries()) if (!one.hadRecentInput) moved += one.value; })
  .observe({ type: "layout-shift", buffered: true });"""
_PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
_TAKE = "document.querySelector('timbre-instrument').data?.tracks[1]?.url ?? null"
_THERE = "([before, take]) => { const now = eval(take); return now !== null && now !== before; }"


@dataclass(frozen=True)
class Costs:
    """What was seen. moved: layout shift of the load, and while the recording was read; heap: after the conversions."""

    first_paint_ms: float
    requests: int
    transferred_mb: float
    unpacked_mb: float
    moved_by_load: float
    moved_by_reading: float
    tab_stops: int
    heap_mb: float
    heap_after_one_mb: float
    nodes: int
    listeners: int


class Traffic:
    """Counts what a page fetches from the service: what it has in itself, or makes, has other addresses."""

    def __init__(self, session: CDPSession) -> None:
        self.requests, self.transferred, self.unpacked = 0, 0, 0
        session.send("Network.enable")
        session.on("Network.requestWillBeSent", lambda asked: self._count(asked["request"]["url"].startswith("http")))
        session.on("Network.loadingFinished", lambda told: self._count(transferred=told["encodedDataLength"]))
        session.on("Network.dataReceived", lambda told: self._count(unpacked=told["dataLength"]))

    def _count(self, requests: int = 0, transferred: int = 0, unpacked: int = 0) -> None:
        self.requests += requests
        self.transferred += transferred
        self.unpacked += unpacked


def measured(url: str, recording: Path, conversions: int) -> Costs:
    """Open the page and convert."""
    with new_page() as page:
        session = page.context.new_cdp_session(page)
        traffic = Traffic(session)
        page.add_init_script(_MOVED)
        page.goto(url)
        page.locator("#convert-voices .card").first.wait_for(timeout=WORK_MS)
        _settle(page, traffic)
        loaded = traffic.requests, traffic.transferred / 1e6, traffic.unpacked / 1e6, page.evaluate("moved")
        page.set_input_files("#convert-drop input[type=file]", recording)
        page.locator("#convert-instrument .play:not([data-welcome] *)").first.wait_for(timeout=WORK_MS)
        by_reading = page.evaluate("moved") - loaded[3]
        _convert(page)
        stops, after_one = _stops(page), _memory(session)
        for _ in range(conversions - 1):
            _convert(page)
        after = _memory(session)
        heaps = (after["JSHeapUsedSize"] / 1e6, after_one["JSHeapUsedSize"] / 1e6)
        counts = (int(after["Nodes"]), int(after["JSEventListeners"]))
        return Costs(page.evaluate(_PAINT), *loaded, by_reading, stops, *heaps, *counts)


def _settle(page: Page, traffic: Traffic) -> None:
    """Wait until nothing more is asked for; a stream stays open for ever."""
    asked = -1
    while asked != traffic.requests:
        asked = traffic.requests
        page.wait_for_timeout(_QUIET_MS)


def until_made(page: Page, order: Callable[[], object]) -> None:
    """Order a take, and wait for it."""
    before = page.evaluate(_TAKE)
    order()
    page.wait_for_function(_THERE, arg=[before, _TAKE], timeout=WORK_MS)


def _convert(page: Page) -> None:
    until_made(page, page.locator("#convert-start").click)


def _stops(page: Page) -> int:
    """Return how often Tab is pressed from the top of the page until Convert has the focus."""
    page.evaluate("document.body.tabIndex = -1; document.body.focus()")
    for pressed in range(1, MOST_STOPS):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "convert-start":
            return pressed
    return MOST_STOPS


def _memory(session: CDPSession) -> dict[str, float]:
    for _ in range(_COLLECTIONS):
        session.send("HeapProfiler.collectGarbage")
    session.send("Performance.enable")
    return {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}


def main() -> None:
    """Measure, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conversions", type=int, default=30)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        recording = Path(folder) / "three seconds.wav"
        samples, rate = soundfile.read(SINGING, frames=3 * soundfile.info(SINGING).samplerate)
        soundfile.write(recording, samples, rate)
        with trial_service(Path(folder) / "home") as service:
            costs = asdict(measured(service.base_url, recording, asked.conversions))
    print(json.dumps(costs) if asked.json else "\n".join(f"{name:20} {value:.4g}" for name, value in costs.items()))


if __name__ == "__main__":
    main()
