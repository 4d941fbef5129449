from dataclasses import replace

import pytest
from sqlalchemy import update

from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.conversions.downloads import take_download
from studio.actions.conversions.takes import fidelity, label_take, result_view
from studio.actions.tasks import task_view
from studio.actions.voices.ranges import fit_view
from studio.errors import Invalid, NotFound
from studio.store.records.codec import plain, written
from studio.store.records.conversion import Conversion, OutputSettings, Rendered, Song
from studio.store.tables import tasks as rows
from studio.store.take_labels import TakeLabel
from studio.store.tasks import claim, fail, renew
from tests.records import Known

NOW_S = 1_800_000_000.0


def shown(studio, task_id, now_s=NOW_S):
    return result_view(studio, studio.local, task_id, "", now_s)


@pytest.fixture
def started(studio, recording):
    return start_conversion(
        studio, studio.local, recording(), "my vocal.wav", ConversionRequest("kerstin", {"takes": 2, "likeness": 0.5})
    )


def test_result_view_counts_the_conversions_ahead_in_the_queue(studio, recording, started):
    later = start_conversion(studio, studio.local, recording(), "b.wav", ConversionRequest("kathleen", {}))
    assert (shown(studio, started).state, shown(studio, started).ahead) == ("queued", 0)
    assert shown(studio, later).ahead == 1
    assert (shown(studio, later).left_s, shown(studio, later).starts_in_s) == (None, None)


def test_result_view_estimates_the_start_from_finished_conversions(studio, recording, converted):
    with studio.database.write() as connection:
        done = update(rows).where(rows.c.id == converted)
        connection.execute(done.values(started_at=rows.c.finished_at - 8.0))
    waiting = [
        start_conversion(studio, studio.local, recording(), "b.wav", ConversionRequest("kathleen", {}))
        for _ in range(3)
    ]
    assert [shown(studio, one).starts_in_s for one in waiting] == [None, pytest.approx(8.0), pytest.approx(16.0)]


def test_result_view_estimates_the_start_behind_a_running_conversion(studio, recording, converted):
    studio = replace(studio, service=replace(studio.service, conversion_workers=1))
    with studio.database.write() as connection:
        done = update(rows).where(rows.c.id == converted)
        connection.execute(done.values(started_at=rows.c.finished_at - 8.0))
    first, second, third = (
        start_conversion(studio, studio.local, recording(), "b.wav", ConversionRequest("kathleen", {}))
        for _ in range(3)
    )
    running = claim(studio.database, "worker", ["conversion"], 60)
    assert running.id == first
    assert [shown(studio, one).ahead for one in (first, second, third)] == [None, 1, 2]
    for passed_s, left_s in ((2.0, 6.0), (5.0, 3.0), (30.0, 0.0)):  # it moves on
        now_s = running.started_at + passed_s
        starts = [shown(studio, one, now_s).starts_in_s for one in (second, third)]
        assert starts == [pytest.approx(left_s), pytest.approx(left_s + 8.0)]
    renew(studio.database, running, 60, 0.5, "converting")  # which takes longer than usual
    assert shown(studio, second, running.started_at + 10.0).starts_in_s == pytest.approx(10.0)


def test_result_view_estimates_the_start_from_the_progress_of_the_first_conversion(studio, recording, started):
    studio = replace(studio, service=replace(studio.service, conversion_workers=1))
    second, third = (
        start_conversion(studio, studio.local, recording(), "b.wav", ConversionRequest("kathleen", {}))
        for _ in range(2)
    )
    running = claim(studio.database, "worker", ["conversion"], 60)
    assert shown(studio, second, running.started_at + 5.0).starts_in_s is None
    renew(studio.database, running, 60, 0.5, "converting")
    starts = [shown(studio, one, running.started_at + 10.0).starts_in_s for one in (second, third)]
    assert starts == [pytest.approx(10.0), None]  # how long the second takes is not known


def test_result_view_estimates_the_time_left_of_a_running_conversion(studio, started):
    task = claim(studio.database, "worker", ["conversion"], 60)
    began = shown(studio, started)
    assert began.ahead is None
    assert began.left_s is None  # nothing is known yet
    renew(studio.database, task, 60, 0.25, "converting")
    view = shown(studio, started, task.started_at + 10.0)
    assert (view.progress, view.message) == (0.25, "converting")
    assert (view.left_s, view.taken_s) == (pytest.approx(30.0), pytest.approx(10.0))
    assert (view.voice, view.asked_settings["likeness"]) == ("Kerstin", 0.5)
    assert plain(view.range) == {"low": 47, "high": 59, "label": "Kerstin"}


@pytest.mark.parametrize(
    ("style", "low", "high", "label"),
    [("melodic", 47, 69, "Kerstin \u2248"), ("spoken", 47, 59, "Kerstin")],  # she was only recorded speaking
)
def test_result_view_has_the_range_that_the_fit_has(studio, started, style, low, high, label):
    done = written(Rendered(output_settings=OutputSettings("kerstin", 0, style)))
    with studio.database.write() as connection:
        connection.execute(update(rows).where(rows.c.id == started).values(result=done))
    assert plain(shown(studio, started).range) == {"low": low, "high": high, "label": label}
    looked = Known({"summary": {"style": style, "pitch": None}, "pitch_histogram": []})
    fitted = fit_view(studio, studio.local, "kerstin", looked).voice
    assert (fitted.low, fitted.high, fitted.estimated is not None) == (low, high, "\u2248" in label)


def test_result_view_estimates_the_time_left_of_a_song_as_of_a_conversion(studio, started):
    with studio.database.write() as connection:
        song = written(Conversion("a", {}, "a.wav", song=Song((), (), True, None, {}, {}, {})))
        connection.execute(update(rows).where(rows.c.id == started).values(parameters=song))
    task = claim(studio.database, "worker", ["conversion"], 60)
    renew(studio.database, task, 60, 0.5, "separating")
    view = shown(studio, started, task.started_at + 10.0)
    assert (view.left_s, view.taken_s) == (pytest.approx(10.0), pytest.approx(10.0))


def test_result_view_lists_the_best_take_first(studio, converted):
    view = shown(studio, converted)
    assert [(take.number, take.mark) for take in view.takes] == [(2, 0.9), (1, pytest.approx(0.72))]
    assert all(take.url.startswith("/files/tasks/") for take in view.takes)
    assert view.input_url.startswith("/files/tasks/")
    assert (view.transpose, view.style, view.left_s) == (-2, "melodic", None)


def test_result_view_shows_the_error_of_a_failed_conversion(studio, started):
    task = claim(studio.database, "worker", ["conversion"], 60)
    with studio.database.write() as connection:
        fail(connection, task, "There was no sound in it.", "audio_error")
    view = shown(studio, started)
    assert (view.state, view.error, view.takes) == ("failed", "There was no sound in it.", [])


def test_result_view_is_hidden_from_other_accounts(studio, other, started):
    with pytest.raises(NotFound):
        result_view(studio, other, started, "", NOW_S)


@pytest.mark.parametrize(
    ("scores", "mark"),
    [
        ({"pitch_accuracy": 0.9, "voicing_error": 0.1}, 0.81),
        ({"pitch_accuracy": 0.9, "voicing_error": None}, 0.9),
        ({"pitch_accuracy": None, "voicing_error": 0.1}, None),
        ({}, None),
    ],
)
def test_kept_share_combines_pitch_accuracy_and_voicing_error(scores, mark):
    assert fidelity(scores) == (None if mark is None else pytest.approx(mark))


def test_label_take_stores_name_and_star_and_names_downloads(studio, converted):
    assert plain(label_take(studio, studio.local, converted, 2, name="  best  chorus ")) == {
        "number": 2,
        "name": "best chorus",
        "starred": False,
    }
    label_take(studio, studio.local, converted, 2, starred=True)
    label_take(studio, studio.local, converted, 1, starred=True)
    view = task_view(studio, studio.local, converted, "", 0.0)
    assert [vars(one) for one in view.take_labels] == [
        {"name": "", "starred": True},
        {"name": "best chorus", "starred": True},
    ]
    takes = {take.number: take for take in result_view(studio, studio.local, converted, "", 0.0).takes}
    assert (takes[2].name, takes[2].starred) == ("best chorus", True)
    named = take_download(studio, studio.local, converted, 2, "wav", "", 0.0)["name"]
    assert named == "my vocal - Kathleen 2 best chorus.wav"
    label_take(studio, studio.local, converted, 2, name="a/b", starred=False)
    assert take_download(studio, studio.local, converted, 2, "wav", "", 0.0)["name"] == "my vocal - Kathleen 2 a b.wav"
    label_take(studio, studio.local, converted, 2, name="")
    assert task_view(studio, studio.local, converted, "", 0.0).take_labels[1] == TakeLabel()


def test_label_take_refuses_unknown_takes_and_invalid_names(studio, other, converted):
    for account, take in ((studio.local, 3), (studio.local, 0), (other, 1)):
        with pytest.raises(NotFound):
            label_take(studio, account, converted, take, name="mine")
    for name in ("x" * 61, "a\x00b"):
        with pytest.raises(Invalid, match="line of text"):
            label_take(studio, studio.local, converted, 1, name=name)
