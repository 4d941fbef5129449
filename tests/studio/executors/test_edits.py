"""Edited takes, as a worker makes them: real conversions, and then only what was edited is sung anew."""

import numpy as np
import pytest
import soundfile

from engine.conversion import rerendering
from engine.provenance.verification import statement_of
from studio.actions.conversions.comps import comp_view, start_comp
from studio.actions.conversions.edits import edit_view, start_edit
from studio.executors.work import run_task
from studio.store import tasks
from studio.store.accounts import local_account
from studio.store.records.conversion import ChosenTake
from studio.store.studio import Studio

pytestmark = pytest.mark.system

SHIFT = {"tool": "shift", "start_s": 1.9, "end_s": 2.2, "semitones": 3.0}


def studio_of(there) -> Studio:
    account = local_account(there.database)
    return Studio(there.settings, there.service, there.database, there.storage, b"secret", account)


@pytest.fixture(scope="module")
def studio(shared_installation) -> Studio:
    return studio_of(shared_installation)


@pytest.fixture
def edit_id(installation) -> str:
    """An edit that waits, of a conversion of its own."""
    task_id = installation.submit_conversion(1.0)
    assert run_task(installation.context(), installation.claim()) == "completed"
    studio = studio_of(installation)
    return start_edit(studio, studio.local, task_id, 1, [SHIFT | {"start_s": 0.3, "end_s": 0.6}])


@pytest.fixture(scope="module")
def converted(shared_installation) -> str:
    """A conversion of three seconds with two takes."""
    task_id = shared_installation.submit_conversion(3.0, takes=2, transpose=2)
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    return task_id


def samples(installation, task_id, take=1, of="outputs") -> np.ndarray:
    key = installation.task(task_id).result[of][take - 1]
    return soundfile.read(installation.settings.data / key, dtype="int32")[0]


@pytest.fixture(scope="module")
def edited(shared_installation, studio, converted) -> str:
    edit_id = start_edit(studio, studio.local, converted, 2, [SHIFT])
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    return edit_id


def test_edit_changes_only_the_edited_stretch(shared_installation, converted, edited):
    before, after = samples(shared_installation, converted, 2), samples(shared_installation, edited)
    there = np.flatnonzero(before != after) / 44_100
    assert 1.4 < there[0] < 1.9
    assert 2.2 < there[-1] < 2.7
    result = shared_installation.task(edited).result
    assert result["output_settings"] == {"model": "kathleen", "transpose": 2, "vocal_style": "melodic"}
    assert result["settings"]["takes"] == 1
    assert result["scores"][0]["pitch_accuracy"] > 0.8  # of the melody as it is wanted now
    assert result["scores"][0]["length_error"] == 0.0


def test_edit_of_an_edited_take_adds_and_removes_edits(shared_installation, studio, converted, edited):
    later = {"tool": "draw", "start_s": 0.05, "end_s": 0.15, "points": [[0.05, 50.0], [0.15, 52.0]]}
    again = start_edit(studio, studio.local, edited, 1, [SHIFT, later])
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    after, between = samples(shared_installation, again), samples(shared_installation, edited)
    assert (after[: 44_100 // 3] != between[: 44_100 // 3]).any()
    np.testing.assert_array_equal(after[44_100:], between[44_100:])
    back = start_edit(studio, studio.local, again, 1, [])
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    np.testing.assert_array_equal(samples(shared_installation, back), samples(shared_installation, converted, 2))
    assert edit_view(studio, studio.local, back, 1, "", 0.0).edits == []


def test_edit_renders_everything_again_if_the_earlier_edit_is_deleted(shared_installation, studio, edited):
    later = SHIFT | {"start_s": 0.1, "end_s": 0.2}
    earlier = start_edit(studio, studio.local, edited, 1, [SHIFT, later | {"semitones": 1.0}])
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    again = start_edit(studio, studio.local, earlier, 1, [SHIFT, later])
    kept = samples(shared_installation, earlier)
    shared_installation.storage.delete(shared_installation.task(earlier).result["outputs"][0])
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    assert np.abs(samples(shared_installation, again)[44_100:].astype(float) - kept[44_100:]).max() / 2**31 < 1e-3


def test_edit_of_a_take_with_effects_changes_the_dry_take_and_reapplies_them(shared_installation, studio, converted):
    task_id = shared_installation.submit_conversion(3.0, effects="hall", takes=2, transpose=2)
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    dry, wet = (samples(shared_installation, task_id, 2, of) for of in ("dry", "outputs"))
    np.testing.assert_array_equal(dry, samples(shared_installation, converted, 2))
    assert wet.shape == dry.shape
    assert (wet != dry).any()
    edit_id = start_edit(studio, studio.local, task_id, 2, [SHIFT])
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    changed = np.flatnonzero(samples(shared_installation, edit_id, of="dry") != dry) / 44_100
    assert 1.4 < changed[0] < changed[-1] < 2.7
    statement = shared_installation.task(edit_id).parameters["effects"]
    assert statement == "hall"
    assert (samples(shared_installation, edit_id) != samples(shared_installation, edit_id, of="dry")).any()


def test_edit_fails_after_the_voice_was_retrained(installation, edit_id, monkeypatch):
    monkeypatch.setattr("engine.conversion.rerendering.networks_digest", lambda base, voice: "another")
    assert run_task(installation.context(), installation.claim()) == "failed"
    task = installation.task(edit_id)
    assert (task.error_code, task.result) == ("edit_error", None)
    assert task.error.startswith("The voice has been trained again since this take")
    assert not [key for key in installation.results(edit_id) if "/original/" not in key]


def test_edit_ends_cancelled_if_cancelled_while_rendering(installation, edit_id, monkeypatch):
    task = installation.claim()

    def cancel_on_the_way(*given):
        tasks.request_cancel(installation.database, installation.account.id, edit_id)
        report = next(one for one in reversed(given) if callable(one))
        while True:  # until the heartbeat has heard it
            report(0.1, "converting")

    monkeypatch.setattr(rerendering, "edit_file", cancel_on_the_way)
    assert run_task(installation.context(), task) == "cancelled"


def test_comp_joins_each_phrase_from_the_chosen_take(shared_installation, studio, converted, edited):
    starts_s = comp_view(studio, studio.local, edited, "", 0.0).starts_s
    assert starts_s == shared_installation.task(converted).result["phrase_starts_s"]
    assert len(starts_s) >= 2
    choice = [ChosenTake(converted, 1), *[ChosenTake(edited, 1)] * (len(starts_s) - 1)]
    comp = start_comp(studio, studio.local, edited, choice)
    assert run_task(shared_installation.context(), shared_installation.claim()) == "completed"
    first, second = samples(shared_installation, converted, 1), samples(shared_installation, edited)
    made, join = samples(shared_installation, comp), round(starts_s[1] * 44_100)
    assert len(made) == len(first) == len(second)
    np.testing.assert_allclose(made[: join - 1000], first[: join - 1000], atol=512)  # of 24 bits
    np.testing.assert_allclose(made[join + 1000 :], second[join + 1000 :], atol=512)
    result = shared_installation.task(comp).result
    assert result["scores"][0]["pitch_accuracy"] > 0.8
    assert statement_of(shared_installation.settings.data / result["outputs"][0]).voice == "kathleen"
