"""What the main jobs take on the page: `python -m studio.load.jobs [--without-training] [--json]`.

A new visitor of a service of its own does them in chromium, one after the other and each in the shortest way there is.
An action is a drop, a click, a drag, or a field that is filled in; to turn to another tab is none. The seconds end when
what was wanted is on the page, so they include the work of the engine.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Locator, Page

import engine
from engine import Audio, read_audio, write_audio
from engine.research.benchmark.mixes import chords
from studio.load.chromium import new_page
from studio.load.page import until_made
from studio.load.trial_service import trial_service
from studio.load.waiting import WORK_MS

SAMPLES = Path(engine.__path__[0]) / "samples"
RECORDINGS = [SAMPLES / "singing.flac", SAMPLES / "speech.flac", SAMPLES / "foreign" / "singing-high.flac"]
SINGING = RECORDINGS[0]
BATCH, EPOCHS, TAKES = 4, 3, 3  # one more than the recordings of a voice
NAME = "Zoe"
TRAINED_MS = 3_600_000.0
PLAY = "#convert-instrument .play:not([data-welcome] *)"
_WITH_MICROPHONE = ("--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
# the middle of the longest note of the take, and how far up a semitone is, in pixels of the picture
_NOTE = """() => {
  const { plot, data } = document.querySelector("timbre-pitch-editor timbre-roll");
  const { start_s, end_s, midi } = data.notes.toSorted((a, b) => b.end_s - b.start_s - (a.end_s - a.start_s))[0];
  const y = (note) => plot.y(440 * 2 ** ((note - 69) / 12));
  return [plot.x((start_s + end_s) / 2), y(midi), y(midi + 1)];
}"""


class Job:
    """Counts actions and seconds."""

    def __init__(self) -> None:
        self.actions, self.seconds, self.began_s = 0, 0.0, time.monotonic()

    def do(self, act: Callable[[], object]) -> None:
        self.actions += 1
        act()

    def ended(self) -> "Job":
        self.seconds = time.monotonic() - self.began_s
        return self

    def report(self, name: str, work_s: float | None = None) -> int:
        beside = "" if work_s is None else f": {self.seconds - work_s:.1f} s and {work_s:.1f} s of conversion"
        print(f"\n{name}: {self.actions} actions, {self.seconds:.1f} s{beside}")
        return self.actions


@dataclass(frozen=True)
class Took:
    """What a job took."""

    job: str
    actions: int
    seconds: float


def drop(page: Page, *files: Path, into: str = "#convert-drop") -> None:
    page.locator(f"{into} input[type=file]").first.set_input_files(files)


def is_read(page: Page) -> None:
    page.locator(PLAY).first.wait_for(timeout=WORK_MS)


def put_in(page: Page) -> None:
    """Put the recording in anew, alone."""
    turn_to(page, "Convert")
    page.get_by_role("button", name="Replace vocal").click()
    drop(page, SINGING)
    is_read(page)


def turn_to(page: Page, tab: str) -> None:
    page.locator(f"#tabs [role=tab][data-tab-id={tab.lower()}]:visible").click()
    page.locator("[role=tabpanel]:visible").first.wait_for()


def choose(page: Page, voice: str) -> None:
    page.locator("#convert-voices").get_by_role("radio", name=voice).click()


def button(page: Page, name: str) -> Locator:
    return page.locator("[role=tabpanel]:visible").get_by_role("button", name=name, exact=True).first


def read_it(page: Page) -> Job:
    choose(page, "Kerstin")
    job = Job()
    job.do(lambda: drop(page, SINGING))
    is_read(page)
    return job.ended()


def convert(page: Page) -> Job:
    job = Job()
    until_made(page, lambda: job.do(page.locator("#convert-start").click))
    return job.ended()


def take_three(page: Page) -> Job:
    job = Job()
    job.do(lambda: page.get_by_role("spinbutton", name="Takes").fill(str(TAKES)))
    until_made(page, lambda: job.do(page.locator("#convert-start").click))
    return job.ended()


def comp(page: Page) -> Job:
    """Take the first phrase of another take than the others."""
    job = Job()
    job.do(button(page, "Comp").click)
    stage = page.locator("#convert-instrument .roll-stage").bounding_box()
    assert stage
    lane = page.evaluate("document.querySelector('#convert-instrument timbre-roll').strips.at(-1)")
    job.do(lambda: page.mouse.click(stage["x"] + lane["x"] + 40, stage["y"] + lane["y"] + lane["height"] / 2))
    until_made(page, lambda: job.do(button(page, "Build comp").click))
    return job.ended()


def take_another_voice(page: Page) -> Job:
    job = Job()
    until_made(page, lambda: job.do(page.get_by_role("button", name="Convert with Kathleen").click))
    return job.ended()


def find_key(page: Page) -> Job:
    choose(page, "Kerstin")
    best = page.locator("timbre-fit .best")
    best.wait_for(timeout=WORK_MS)
    job = Job()
    job.do(best.click)
    best.wait_for(state="detached", timeout=WORK_MS)
    return job.ended()


def move_note(page: Page) -> Job:
    editor = page.locator("timbre-pitch-editor")
    job = Job()
    job.do(button(page, "Edit pitch").click)
    stage = editor.locator(".roll-stage")
    stage.wait_for(timeout=WORK_MS)
    page.wait_for_function("document.querySelector('timbre-pitch-editor timbre-roll')?.data?.notes?.length")
    x, y, higher = page.evaluate(_NOTE)
    until_made(page, lambda: job.do(lambda: drag(page, stage, x, y, higher)))
    job.ended()
    button(page, "Edit pitch").click()
    return job


def drag(page: Page, stage: Locator, x: float, y: float, to: float) -> None:
    box = stage.bounding_box()
    assert box
    page.mouse.move(box["x"] + x, box["y"] + y)
    page.mouse.down()
    page.mouse.move(box["x"] + x, box["y"] + to, steps=6)
    page.mouse.up()


def make_song(page: Page) -> Job:
    with tempfile.TemporaryDirectory() as folder:
        backing = Path(folder) / "backing.wav"
        sung = read_audio(SINGING)
        played = chords(sung.samples.shape[1], np.random.default_rng(1))
        write_audio(backing, Audio((0.1 * played / np.abs(played).max())[None].astype(np.float32), sung.rate))
        page.get_by_role("button", name="Replace vocal").click()
        job = Job()
        job.do(lambda: drop(page, SINGING))
        is_read(page)
        job.do(lambda: drop(page, backing, into="#song-backing"))
        page.locator("#convert-instrument .channel[data-lane=backing]").wait_for(timeout=WORK_MS)
        until_made(page, lambda: job.do(page.locator("#convert-start").click))
        return job.ended()


def convert_batch(page: Page) -> Job:
    job = Job()
    job.do(button(page, "Batch").click)
    job.do(lambda: drop(page, *RECORDINGS, SAMPLES / "foreign" / "speech-high.flac", into="#convert-files"))
    job.do(button(page, "Convert all").click)
    page.get_by_text(f"{BATCH} of {BATCH} done").wait_for(timeout=WORK_MS)
    job.ended()
    button(page, "One recording").click()
    return job


def make_voice(page: Page) -> Job:
    turn_to(page, "Create")
    job = Job()
    job.do(lambda: drop(page, *RECORDINGS, into="#create-files"))
    page.locator("#create-gathered .row").nth(len(RECORDINGS) - 1).wait_for(timeout=WORK_MS)
    job.do(lambda: page.get_by_label("Name", exact=True).fill(NAME))
    job.do(page.get_by_role("radio", name="My own voice").check)
    job.do(page.locator("#create-sure").get_by_role("checkbox").check)
    job.do(button(page, "Analyse recordings").click)
    button(page, "Train this voice").wait_for(timeout=WORK_MS)
    return job.ended()


def train_it(page: Page) -> Job:
    job = Job()
    job.do(button(page, "Train this voice").click)
    epochs = page.get_by_label("Epochs", exact=True)
    epochs.wait_for(timeout=WORK_MS)
    page.wait_for_timeout(1000)  # what is proposed comes a moment later
    job.do(lambda: epochs.fill(str(EPOCHS)))
    job.do(button(page, "Start training").click)
    button(page, "Convert with this voice").wait_for(timeout=TRAINED_MS)
    return job.ended()


def convert_with_it(page: Page) -> Job:
    put_in(page)
    turn_to(page, "Train")
    job = Job()
    until_made(page, lambda: job.do(button(page, "Convert with this voice").click))
    return job.ended()


def sing_live(page: Page) -> Job:
    turn_to(page, "Live")
    start = page.locator("timbre-live .start")
    job = Job()
    job.do(start.click)
    page.wait_for_function("Number(document.querySelector('timbre-live').dataset.heard) > 0", timeout=WORK_MS)
    job.ended()
    start.click()
    return job


def play_again(page: Page) -> Job:
    turn_to(page, "History")
    play = page.locator("#history-tasks .play:visible").first
    play.wait_for(timeout=WORK_MS)
    job = Job()
    job.do(play.click)
    page.locator("#history-tasks .playing").first.wait_for(timeout=WORK_MS)
    return job.ended()


JOBS: dict[str, Callable[[Page], Job]] = {
    "drop a recording: it is read": read_it,
    "convert it": convert,
    f"{TAKES} takes": take_three,
    "comp of phrases": comp,
    "another voice": take_another_voice,
    "best key": find_key,
    "a note a semitone up, rendered": move_note,
    "song of vocal and backing": make_song,
    f"batch of {BATCH}": convert_batch,
    "own voice, from files to its report": make_voice,
    f"{EPOCHS} epochs of training": train_it,
    "convert with the trained voice": convert_with_it,
    "Live, until it sounds": sing_live,
    "History, until a take plays": play_again,
}
OF_TRAINING = (train_it, convert_with_it)


def measured(url: str, jobs: Iterable[str] = JOBS) -> list[Took]:
    """Do jobs on the page at this address, in this order, after one that nobody measures: workers start with it."""
    with new_page(*_WITH_MICROPHONE) as page:
        page.set_default_timeout(WORK_MS)
        page.goto(url)
        page.locator("#convert-voices .card").first.wait_for()
        drop(page, SINGING)
        is_read(page)
        convert(page)
        page.get_by_role("button", name="Replace vocal").click()
        found = []
        for name in jobs:
            job = JOBS[name](page)
            found.append(Took(name, job.actions, job.seconds))
        return found


def main() -> None:
    """Measure, and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-training", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    jobs = [name for name, does in JOBS.items() if not (asked.without_training and does in OF_TRAINING)]
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as folder, trial_service(Path(folder) / "home") as service:
        found = measured(service.base_url, jobs)
    if asked.json:
        print(json.dumps([asdict(one) for one in found]))
        return
    print(f"load average {load:.1f} before, {os.getloadavg()[0]:.1f} after")
    print("\n".join(f"{one.job:36} {one.actions:3} actions {one.seconds:8.1f} s" for one in found))


if __name__ == "__main__":
    main()
