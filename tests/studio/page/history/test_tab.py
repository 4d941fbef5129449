"""The History tab as visitors use it, with a real conversion."""

import re
import secrets
from collections.abc import Callable, Iterator

import numpy as np
import pytest
import soundfile
from playwright.sync_api import Page, expect
from sqlalchemy import Connection, update

from studio.client import Client
from studio.executors.retries import retry
from studio.store.accounts import local_account
from studio.store.database import Database, Now, database_url, open_database
from studio.store.kinds import UNLISTED
from studio.store.tables import tasks as rows
from studio.store.tasks import submit
from tests.waiting import WORK_MS

RATE = 16_000
ODD = "<img src=x onerror=alert(1)>.wav"


@pytest.fixture
def database(studio_page) -> Iterator[Database]:
    """The service's own, in which is put what would take long to happen."""
    database = open_database(database_url("", studio_page.home))
    yield database
    database.close()


@pytest.fixture(scope="module")
def song(tmp_path_factory):
    """Two seconds of a note."""
    path = tmp_path_factory.mktemp("song") / "My song.wav"
    time_s = np.arange(2 * RATE) / RATE
    soundfile.write(path, 0.1 * sum(np.sin(2 * np.pi * 220 * k * time_s) / k for k in range(1, 6)), RATE)
    return path


@pytest.fixture
def page(visitor) -> Page:
    return visitor


@pytest.fixture
def clean(studio_page, database) -> Iterator[None]:
    """Nothing is in the history before and after."""

    def forget(connection: Connection) -> None:
        connection.execute(rows.delete().where(rows.c.kind.not_in(UNLISTED)))

    written(database, forget)
    yield
    written(database, forget)


def written(database: Database, change: Callable[[Connection], None]) -> None:
    """Make a change in one transaction; workers that hardly get on may keep the database busy for a while."""

    def write() -> None:
        with database.write() as connection:
            change(connection)

    retry(write, 60.0)


def put(database: Database, *names: str, **values) -> None:
    """Conversions that nobody carries out, in whatever state, one after the other."""
    account = local_account(database)

    def change(connection: Connection) -> None:
        for number, name in enumerate(names):
            task_id = secrets.token_hex(12)
            parameters = {"input_key": f"tasks/{task_id}/input.wav", "file_name": name, "settings": {"takes": 1}}
            submit(connection, account.id, "conversion", parameters, model_id="kathleen", task_id=task_id)
            state = values or {"not_before": Now() + 1000.0}
            created = Now() - len(names) + number
            connection.execute(update(rows).where(rows.c.id == task_id).values(created_at=created, **state))

    written(database, change)


def put_failed(database: Database, text: str, *names: str) -> None:
    put(database, *names, state="failed", error=text, error_code="why", started_at=Now(), finished_at=Now())


def open_work(page: Page, open_tab) -> None:
    """Open the tab, which shows projects at first, and have it show all work."""
    open_tab(page, "History")
    page.get_by_role("radio", name="All work").check()


def row(page: Page, text: str):
    return page.locator("timbre-tasks .task").filter(has_text=text)


def opened(page: Page, text: str):
    one = row(page, text)
    one.locator(".task-head").click()
    return one.locator(".inside")


def test_history_tab_plays_repeats_and_deletes_a_conversion(
    studio_page, page, open_tab, clean, database, song, photographed
):
    put_failed(database, "The recording holds no sound: choose another.", "Broken.mp3")
    with Client(studio_page.base_url, studio_page.token()) as client:
        made = client.convert(song, "koguchi", transpose=7)
    open_work(page, open_tab)
    expect(row(page, "My song.wav · Koguchi").locator(".label")).to_have_text("Done", timeout=WORK_MS)  # it follows
    inside = opened(page, "My song.wav")
    expect(inside.locator("timbre-player [role=radio]")).to_have_count(2)
    expect(inside.locator("timbre-player .time")).to_contain_text("0:02")
    expect(inside.locator("dl")).to_contain_text("Transpose7")
    inside.get_by_role("button", name="Play").click()
    expect(inside.locator("timbre-player .wave")).not_to_have_attribute("aria-valuenow", "0")
    photographed(page, "history")
    with page.expect_download() as coming:
        inside.get_by_text("flac", exact=True).click()
    assert coming.value.suggested_filename == "My song - Koguchi.flac"

    inside.get_by_role("button", name="Convert again").click()
    expect(page.locator("#history-notice")).to_contain_text("Started again")
    expect(page.locator("timbre-tasks .task")).to_have_count(3)
    expect(page.locator("timbre-tasks .task .label").first).to_have_text("Done", timeout=WORK_MS)
    again = page.locator("timbre-tasks .task").first
    gone = again.get_attribute("data-task")
    assert gone != made
    again.locator(".task-head").click()
    expect(again.locator("dl")).to_contain_text("Transpose7")

    again.get_by_role("button", name="Delete").click()
    again.get_by_role("button", name="Cancel").press("Enter")
    expect(again.get_by_role("button", name="Delete")).to_be_focused()
    again.get_by_role("button", name="Delete").press("Enter")
    again.locator(".sure").click()
    expect(page.locator("timbre-tasks .task")).to_have_count(2)
    assert row(page, "My song.wav").get_attribute("data-task") == made
    left = {path.name for path in (studio_page.home / "tasks").iterdir()}
    assert made in left
    assert gone not in left


def test_history_tab_shows_the_error_of_a_failed_task_and_escapes_names(page, open_tab, clean, database):
    put_failed(database, "The recording holds no sound: choose another.", ODD)
    open_work(page, open_tab)
    inside = opened(page, ODD)
    expect(inside.locator(".error")).to_have_text("The recording holds no sound: choose another.")
    expect(row(page, ODD).locator(".title")).to_have_text(f"{ODD} · Kathleen")
    inside.get_by_role("button", name="Try again").click()
    expect(page.locator("#history-notice [role=alert]")).to_contain_text("add it again")
    expect(row(page, ODD)).to_have_count(1)


def test_history_tab_cancels_a_waiting_task(page, open_tab, clean, database):
    put(database, "first.wav", "second.wav")
    open_work(page, open_tab)
    expect(row(page, "first.wav").locator(".label")).to_have_text("Up next")
    expect(row(page, "second.wav").locator(".label")).to_have_text("Waiting, number 2 in line")
    opened(page, "first.wav").get_by_role("button", name="Cancel").click()
    expect(row(page, "first.wav").locator(".label")).to_have_text("Cancelled")
    expect(row(page, "second.wav").locator(".label")).to_have_text("Up next")


def test_history_tab_pages_to_old_tasks_and_filters_by_status_and_type(page, open_tab, clean, database):
    put_failed(database, "Why.", *(f"old {number:02d}.wav" for number in range(23)))
    put(database, "new.wav", not_before=Now() + 1000.0)
    open_work(page, open_tab)
    expect(page.locator("timbre-tasks .task")).to_have_count(20)
    page.get_by_role("button", name="Older").click()
    expect(page.locator("timbre-tasks .title")).to_have_text([re.compile(f"old 0{number}") for number in (3, 2, 1, 0)])
    page.get_by_role("button", name="Newer").click()
    expect(page.locator("timbre-tasks .title").first).to_contain_text("new.wav")
    page.get_by_role("button", name="More filters").click()
    page.get_by_label("Status", exact=True).click()
    page.get_by_role("option", name="Waiting").click()
    expect(page.locator("timbre-tasks .task")).to_have_count(1)
    page.get_by_label("Type", exact=True).click()
    page.get_by_role("option", name="Training").click()
    expect(page.locator("timbre-tasks .empty")).to_contain_text("No matching tasks")


def test_history_tab_shows_a_note_when_empty(page, open_tab, clean):
    open_work(page, open_tab)
    expect(page.locator("timbre-tasks .empty")).to_contain_text("Nothing here yet")


def test_history_tab_shows_what_changed_between_takes_of_a_project(studio_page, page, open_tab, clean, song):
    with Client(studio_page.base_url, studio_page.token()) as client:
        for settings in ({"transpose": 7}, {"transpose": -3, "likeness": 0.8}):
            client.convert_and_wait(song, "koguchi", folder=song.parent / "made", **settings)
    open_tab(page, "History")
    project = page.locator("timbre-tasks .group")
    expect(project.locator("> .line .title")).to_have_text("My song")
    takes = project.locator(".task")
    expect(takes.locator(".title")).to_have_text(["Koguchi", "Koguchi"])
    expect(takes.nth(0).locator(".kind")).to_contain_text("\N{MINUS SIGN}3 · Voice strength 0.8")
    expect(takes.nth(0).locator(".what .change")).to_have_text(["Key +7 \N{MINUS SIGN}3", "Voice strength 1 0.8"])
    expect(takes.nth(1).locator(".what .change")).to_have_count(0)
    assert len(takes.nth(0).locator(".outline path").get_attribute("d")) > 500
    takes.nth(0).get_by_role("button", name="Play Koguchi").click()
    expect(takes.nth(0)).to_have_class(re.compile("playing"))
    for take in (0, 1):
        takes.nth(take).get_by_role("checkbox").check()
    compared = page.get_by_role("group", name="Selected").locator(".change")
    expect(compared).to_have_text(["Key +7 \N{MINUS SIGN}3", "Voice strength 1 0.8"])
    project.locator("> .line .task-head").click()
    lanes = project.locator("timbre-player .lane path")  # of the recording and its takes, each drawn once it is seen
    for place in (1, 2):
        expect(lanes.nth(place)).to_have_attribute("d", re.compile(".{500}"))
    project.get_by_role("button", name="Delete", exact=True).click()
    project.locator(".sure").click()
    expect(project).to_have_count(0)
