"""The main jobs are measured, each in as few actions as before."""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from engine.errors import EngineError
from studio.load.jobs import JOBS, NAME, OF_TRAINING, measured
from studio.load.trial_service import TrialService
from tests.browsers import chromium_program

pytestmark = pytest.mark.slow
MOST = {
    "drop a recording: it is read": 1,
    "convert it": 1,
    "3 takes": 2,
    "comp of phrases": 3,
    "another voice": 1,
    "best key": 1,
    "a note a semitone up, rendered": 2,
    "song of vocal and backing": 3,
    "batch of 4": 3,
    "own voice, from files to its report": 5,
    "Live, until it sounds": 1,
    "History, until a take plays": 1,
}


@pytest.fixture
def cleared(studio_page) -> Iterator[TrialService]:
    """The shared service, whose new voice is deleted afterwards."""
    chromium_program()  # skips without one
    yield studio_page
    with suppress(EngineError):
        studio_page.command("voices", "delete", NAME.lower(), "--yes")


def test_main_jobs_but_training_take_as_few_actions_as_before(cleared):
    took = measured(cleared.base_url, [name for name, does in JOBS.items() if does not in OF_TRAINING])
    assert {one.job: one.actions for one in took} == MOST
