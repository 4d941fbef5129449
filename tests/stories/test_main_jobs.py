"""The main jobs in as few actions as can be: an action is a drop, a click or a field that is filled in.

What it takes is written down in studio/MEASUREMENTS.md; `-s` prints the seconds. Dropping the recording is not counted.
"""

from collections.abc import Iterator
from contextlib import suppress

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select

from engine.errors import EngineError
from studio.load.jobs import NAME, PLAY, RECORDINGS, Job, drop
from studio.load.trial_service import TrialService
from studio.store.tables import tasks
from tests.waiting import WORK_MS


@pytest.fixture
def page(new_visitor) -> Page:
    page = new_visitor(viewport={"width": 1280, "height": 720})
    expect(page.get_by_role("radio", name="Kathleen").first).to_be_visible(timeout=WORK_MS)
    return page


@pytest.fixture
def made(studio_page) -> Iterator[None]:
    """What is to be deleted afterwards."""
    yield
    with suppress(EngineError):
        studio_page.command("voices", "delete", NAME.lower(), "--yes")


def lanes(page: Page):
    return page.locator("#convert-instrument .track")


def converted_s(service: TrialService) -> float:
    """Return the seconds that the last conversion took the worker; the page and the service round them."""
    took = select(tasks.c.finished_at - tasks.c.started_at).where(tasks.c.kind == "conversion")
    with service.database() as database, database.read() as connection:
        return float(connection.execute(took.order_by(tasks.c.created_at.desc()).limit(1)).scalar_one())


def test_convert_takes_one_action_for_a_result_and_one_for_a_second_voice(page, studio_page):
    drop(page, RECORDINGS[0])
    expect(page.locator(PLAY)).to_be_visible(timeout=WORK_MS)
    expect(lanes(page)).to_have_count(0)  # a recording alone needs no choice of lanes
    page.locator("#convert-start").click()  # the first one waits for the workers
    expect(lanes(page)).to_have_count(2, timeout=WORK_MS)
    expect(page.locator("#convert-comp")).to_be_visible(timeout=WORK_MS)
    page.get_by_role("button", name="Replace vocal").click()
    # its lanes are among the earlier results
    expect(page.locator("timbre-instrument[data-away]")).to_be_visible()
    expect(page.locator("#convert-comp")).to_be_hidden()
    expect(page.get_by_label("Previous results")).to_be_visible()

    first = Job()
    drop(page, RECORDINGS[0])
    first.do(page.locator("#convert-start").click)
    expect(lanes(page)).to_have_count(2, timeout=WORK_MS)
    first.ended()
    work_s = converted_s(studio_page)
    assert first.report("from a dropped file to its result", work_s) == 1

    second = Job()
    second.do(page.get_by_role("button", name="Convert with Kathleen").click)
    expect(lanes(page)).to_have_count(3, timeout=WORK_MS)
    second.ended()
    work_s = converted_s(studio_page)
    assert second.report("a second voice", work_s) == 1


def test_create_takes_six_actions_from_loose_files_to_a_conversion(page, made, open_tab):
    drop(page, RECORDINGS[0])  # what is to be converted
    expect(page.locator(PLAY)).to_be_visible(timeout=WORK_MS)
    open_tab(page, "Create")
    expect(page.locator("#create-gathered")).to_contain_text("No recordings yet")
    job = Job()
    job.do(lambda: drop(page, *RECORDINGS, into="#create-files"))
    expect(page.locator("#create-gathered .row")).to_have_count(3, timeout=WORK_MS)
    job.do(lambda: page.get_by_label("Name", exact=True).fill(NAME))
    job.do(page.get_by_role("radio", name="My own voice").check)
    expect(page.get_by_role("textbox", name="Consent given by")).to_have_value(NAME)
    job.do(page.locator("#create-sure").get_by_role("checkbox").check)
    job.do(page.get_by_role("button", name="Analyse recordings").click)
    convert = page.get_by_role("button", name="Convert with this voice")
    expect(convert).to_be_visible(timeout=WORK_MS)
    job.do(convert.click)
    expect(page.locator("#convert-title h2")).to_contain_text(f"by {NAME}", timeout=WORK_MS)
    job.ended()
    assert job.report("from loose files to the first conversion with an own voice") == 6
    expect(page.locator("#convert-voices .card.chosen .name")).to_have_text(NAME)
