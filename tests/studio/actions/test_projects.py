"""A recording with everything made of it: found again, named and deleted."""

import pytest

from engine.errors import SettingsError
from studio.actions.conversions.conversion import (
    ConversionRequest,
    convert_recording,
    look_at_recording,
    start_conversion,
)
from studio.actions.history import history_view, search
from studio.actions.projects import change_project, delete_project, project_view, projects_view
from studio.actions.tasks import delete_tasks
from studio.errors import Invalid, NotFound, WrongState
from studio.store.projects import find_project
from studio.store.tasks import find

KATHLEEN = ConversionRequest("kathleen", {"takes": 1})


def seen(studio, account=None, **narrowed):
    return projects_view(studio, account or studio.local, "", 0.0, **narrowed).projects


def test_projects_view_groups_all_conversions_of_one_recording(studio, song, recording, finish):
    start_conversion(studio, studio.local, recording(2.0), "other.wav", ConversionRequest("kathleen", {}))
    other = finish()
    names = [(one.name, len(one.conversions)) for one in seen(studio)]
    assert names == [("other", 1), ("My song", 3)]
    found = project_view(studio, studio.local, song, "", 0.0)
    assert found.voices == ["Kathleen", "Koguchi"]
    assert [one.start_s for one in found.conversions] == [1.0, 0.0, 0.0]

    # a stretch that is opened again, and converted further, stays where it belongs
    again = look_at_recording(studio, studio.local, found.conversions[0].id)
    deeper = convert_recording(studio, studio.local, again, KATHLEEN, (0.5, 2.0))
    task = find(studio.database, studio.local.id, deeper)
    assert (task.recording, task.parameters["start_s"]) == (song, 1.5)
    assert find(studio.database, studio.local.id, other).recording != song


def test_projects_view_returns_pages_with_a_cursor(studio, recording, finish):
    for seconds in (1.0, 1.1, 1.2):
        start_conversion(studio, studio.local, recording(seconds), f"{seconds}.wav", ConversionRequest("kathleen", {}))
        finish()
    first = projects_view(studio, studio.local, "", 0.0, limit=2)
    rest = projects_view(studio, studio.local, "", 0.0, limit=2, cursor=first.next_cursor)
    assert [one.file_name for one in first.projects + rest.projects] == ["1.2.wav", "1.1.wav", "1.0.wav"]
    assert rest.next_cursor is None


def test_change_project_keeps_name_and_timeline_and_search_finds_the_name(studio, song):
    change_project(studio, studio.local, song[:8], "Sommer  Größe", {"tempo_bpm": 120.0})
    change_project(studio, studio.local, song, timeline={"beats_per_bar": 3})
    [found] = seen(studio, wanted=search(studio, studio.local, "sommer grösse"))
    assert found.name == "Sommer Größe"
    assert found.timeline == {"tempo_bpm": 120.0, "beats_per_bar": 3, "start_s": 0.0}
    assert not seen(studio, wanted=search(studio, studio.local, "winter"))
    change_project(studio, studio.local, song, "")
    assert project_view(studio, studio.local, song, "", 0.0).name == "My song"


def test_change_project_and_project_view_refuse_invalid_values_and_ids(studio, song, other):
    for given, error in (
        ({"timeline": {"tempo_bpm": 900.0}}, SettingsError),
        ({"timeline": {"swing": 1}}, SettingsError),
        ({"name": "x" * 300}, Invalid),
    ):
        with pytest.raises(error):
            change_project(studio, studio.local, song, **given)
    assert find_project(studio.database, studio.local.id, song).name is None
    for project in (song[:5], "nothing", "%%%%%%"):
        with pytest.raises(NotFound):
            project_view(studio, studio.local, project, "", 0.0)
    with pytest.raises(NotFound):
        change_project(studio, other, song, "Mine")


def test_history_view_filters_by_text_voice_and_day(studio, song):
    def found(*text, **narrowed):
        wanted = search(studio, studio.local, *text, **narrowed)
        return len(history_view(studio, studio.local, "", 0.0, wanted=wanted).tasks)

    assert found() == 3
    assert found("kogu") == 1
    assert found("song KATHLEEN") == 2
    assert found(model_id="koguchi") == 1
    assert found(until="2020-01-01") == 0
    assert found(since="2020-01-01") == 3
    with pytest.raises(Invalid, match="not a day"):
        found(since="tomorrow")


def test_delete_tasks_and_delete_project_delete_only_finished_conversions(studio, song, converted, recording):
    waiting = start_conversion(studio, studio.local, recording(), "w.wav", ConversionRequest("kathleen", {}))
    change_project(studio, studio.local, song, "Named")
    ids = [one.id for one in project_view(studio, studio.local, song, "", 0.0).conversions]
    deleted = delete_tasks(studio, studio.local, [ids[0], waiting, ids[1], "gone", ids[0]])
    assert deleted == ids[:2]
    assert [one.id for one in project_view(studio, studio.local, song, "", 0.0).conversions] == ids[2:]
    assert not list(studio.storage.list_keys(f"tasks/{ids[0]}"))
    assert list(studio.storage.list_keys(f"tasks/{converted}"))
    assert find_project(studio.database, studio.local.id, song).name == "Named"

    assert delete_project(studio, studio.local, song) == 1
    with pytest.raises(NotFound):
        project_view(studio, studio.local, song, "", 0.0)
    waits = find(studio.database, studio.local.id, waiting).recording
    with pytest.raises(WrongState, match="cancel it first"):
        delete_project(studio, studio.local, waits)
    assert find(studio.database, studio.local.id, waiting)
