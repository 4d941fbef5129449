"""A recording with everything made of it: found again, named, deleted, and exported for other programs."""

import csv
import io
import json
import zipfile
from pathlib import PurePath

import numpy as np
import pytest
import soundfile

from engine.errors import SettingsError
from studio.actions.analyses import start_analysis
from studio.actions.conversions import (
    ConversionRequest,
    convert_again,
    convert_recording,
    look_at_recording,
    start_conversion,
)
from studio.actions.history import history_view, search
from studio.actions.projects import (
    change_project,
    delete_project,
    export_project,
    project_view,
    project_zip,
    projects_view,
)
from studio.actions.takes import label_take
from studio.actions.tasks import delete_tasks
from studio.errors import Invalid, NotFound, WrongState
from studio.store.projects import find_project
from studio.store.tasks import claim, find

KATHLEEN = ConversionRequest("kathleen", {"takes": 1})


def seen(studio, account=None, **narrowed):
    return projects_view(studio, account or studio.local, "", 0.0, **narrowed)["projects"]


@pytest.fixture
def finish(studio, complete_task):
    """Completes the next conversion."""

    def end() -> str:
        task = claim(studio.database, "worker", ["conversion"], 60)
        complete_task(task)
        return task.id

    return end


@pytest.fixture
def song(studio, recording, finish):
    """The id of a project: a recording of 3 s, converted, again in another voice, and its part from 1 s on."""
    file = recording(3.0)
    cycles = 220 * np.arange(3 * 16_000) / 16_000
    soundfile.write(file, 0.1 * sum(np.cos(2 * np.pi * one * cycles) / one for one in range(1, 20)), 16_000)
    analysis = start_analysis(studio, studio.local, file, "My song.wav")
    first = convert_recording(studio, studio.local, analysis, KATHLEEN)
    finish()
    convert_again(studio, studio.local, first, "koguchi")
    finish()
    convert_recording(studio, studio.local, analysis, KATHLEEN, (1.0, 3.0))
    finish()
    return find(studio.database, studio.local.id, first).recording


def test_projects_view_groups_all_conversions_of_one_recording(studio, song, recording, finish):
    start_conversion(studio, studio.local, recording(2.0), "other.wav", ConversionRequest("kathleen", {}))
    other = finish()
    names = [(one["name"], len(one["conversions"])) for one in seen(studio)]
    assert names == [("other", 1), ("My song", 3)]
    found = project_view(studio, studio.local, song, "", 0.0)
    assert found["voices"] == ["Kathleen", "Koguchi"]
    assert [one["start_s"] for one in found["conversions"]] == [1.0, 0.0, 0.0]

    # a stretch that is opened again, and converted further, stays where it belongs
    again = look_at_recording(studio, studio.local, found["conversions"][0]["id"])
    deeper = convert_recording(studio, studio.local, again, KATHLEEN, (0.5, 2.0))
    task = find(studio.database, studio.local.id, deeper)
    assert (task.recording, task.parameters["start_s"]) == (song, 1.5)
    assert find(studio.database, studio.local.id, other).recording != song


def test_projects_view_returns_pages_with_a_cursor(studio, recording, finish):
    for seconds in (1.0, 1.1, 1.2):
        start_conversion(studio, studio.local, recording(seconds), f"{seconds}.wav", ConversionRequest("kathleen", {}))
        finish()
    first = projects_view(studio, studio.local, "", 0.0, limit=2)
    rest = projects_view(studio, studio.local, "", 0.0, limit=2, cursor=first["next_cursor"])
    assert [one["file_name"] for one in first["projects"] + rest["projects"]] == ["1.2.wav", "1.1.wav", "1.0.wav"]
    assert rest["next_cursor"] is None


def test_change_project_keeps_name_and_timeline_and_search_finds_the_name(studio, song):
    change_project(studio, studio.local, song[:8], "Sommer  Größe", {"tempo_bpm": 120.0})
    change_project(studio, studio.local, song, timeline={"beats_per_bar": 3})
    [found] = seen(studio, wanted=search(studio, studio.local, "sommer grösse"))
    assert found["name"] == "Sommer Größe"
    assert found["timeline"] == {"tempo_bpm": 120.0, "beats_per_bar": 3, "start_s": 0.0}
    assert not seen(studio, wanted=search(studio, studio.local, "winter"))
    change_project(studio, studio.local, song, "")
    assert project_view(studio, studio.local, song, "", 0.0)["name"] == "My song"


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
        return len(history_view(studio, studio.local, "", 0.0, wanted=wanted)["tasks"])

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
    ids = [one["id"] for one in project_view(studio, studio.local, song, "", 0.0)["conversions"]]
    deleted = delete_tasks(studio, studio.local, [ids[0], waiting, ids[1], "gone", ids[0]])
    assert deleted == ids[:2]
    assert [one["id"] for one in project_view(studio, studio.local, song, "", 0.0)["conversions"]] == ids[2:]
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


def test_export_project_writes_aligned_stems_and_a_cue_sheet(studio, song, tmp_path):
    change_project(studio, studio.local, song, "Song", {"tempo_bpm": 120.0, "start_s": 8.0})
    made = export_project(studio, studio.local, song, tmp_path)
    assert made == tmp_path / "Song.zip"
    with zipfile.ZipFile(made) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    start = "bar 005.1.000 Song"
    stems = {name for name in files if name.endswith(".wav")}
    assert stems == {
        f"stems/{start} - recording.wav", f"stems/{start} - Kathleen take 1.wav", f"stems/{start} - Koguchi take 1.wav",
        f"stems/{start} - Kathleen take 2.wav",
    }  # fmt: skip
    assert {soundfile.info(io.BytesIO(files[name])).frames for name in stems} == {3 * 16_000}
    part, _ = soundfile.read(io.BytesIO(files[f"stems/{start} - Kathleen take 2.wav"]))
    assert not part[:16_000].any()
    assert part[16_000:32_000].any()
    assert all(name.encode() in files["project.json"] for name in stems)
    told = json.loads(files["project.json"])
    assert (told["timeline"]["start_s"], told["seconds"]) == (8.0, 3.0)
    assert files[f"{start} - melody.mid"].startswith(b"MThd")
    [phrase] = csv.DictReader(io.StringIO(files[f"{start} - phrases.csv"].decode()))
    assert phrase["position"].startswith("bar 005.1.0")
    assert (phrase["lowest"], phrase["highest"]) == ("A3", "A3")
    curve = list(csv.DictReader(io.StringIO(files[f"{start} - pitch.csv"].decode())))
    assert float(curve[150]["hertz"]) == pytest.approx(220.0, rel=0.01)
    assert not list((studio.settings.work / "incoming").iterdir())


def test_export_project_gives_takes_of_one_voice_distinct_file_names(studio, recording, finish, tmp_path):
    analysis = start_analysis(studio, studio.local, recording(2.0), "My song.wav")
    made = []
    for takes in (2, 1, 1):
        convert_recording(studio, studio.local, analysis, ConversionRequest("kathleen", {"takes": takes}))
        made.append(finish())
    for task, take in ((made[0], 2), (made[2], 1)):
        label_take(studio, studio.local, task, take, "lead", True)
    project = find(studio.database, studio.local.id, made[0]).recording
    with zipfile.ZipFile(export_project(studio, studio.local, project, tmp_path)) as archive:
        stems = {PurePath(name).stem.partition(" - ")[2] for name in archive.namelist() if name.endswith(".wav")}
        told = json.loads(archive.read("project.json"))["stems"]
    assert stems == {"recording", *(f"Kathleen take {one}" for one in ("1", "2 lead", "3", "4 lead"))}
    assert [(one["conversion"], one["take"]) for one in told[1:]] == [
        (made[0], 1), (made[0], 2), (made[1], 1), (made[2], 1),
    ]  # fmt: skip


def test_export_project_of_a_part_starts_at_the_part(studio, song, tmp_path):
    whole = [one for one in project_view(studio, studio.local, song, "", 0.0)["conversions"] if not one["start_s"]]
    delete_tasks(studio, studio.local, [one["id"] for one in whole])
    with zipfile.ZipFile(export_project(studio, studio.local, song, tmp_path)) as archive:
        assert "stems/00h00m01.000s My song - recording.wav" in archive.namelist()


def test_project_zip_is_rebuilt_only_after_a_change(studio, song):
    first = project_zip(studio, studio.local, song, "", 0.0)
    assert project_zip(studio, studio.local, song, "", 0.0)["url"] == first["url"]
    assert first["name"] == "My song.zip"
    change_project(studio, studio.local, song, "Other")
    assert project_zip(studio, studio.local, song, "", 0.0)["url"] != first["url"]
    assert len(list(studio.storage.list_keys("packages"))) == 1


def test_export_project_refuses_a_project_without_takes_and_a_missing_folder(studio, recording, song, tmp_path):
    with pytest.raises(Invalid, match="cannot be written"):
        export_project(studio, studio.local, song, tmp_path / "nowhere" / "song.zip")
    waiting = start_conversion(studio, studio.local, recording(), "w.wav", ConversionRequest("kathleen", {}))
    with pytest.raises(NotFound, match="left to export"):
        export_project(studio, studio.local, find(studio.database, studio.local.id, waiting).recording, tmp_path)
    assert not list(tmp_path.glob("*.zip*"))
