from dataclasses import replace

import numpy as np
import pytest
from sqlalchemy import update

from engine.analysis.pitch_statistics import PitchStatistics
from engine.conversion.edit_data import EditData, write_edit_data
from engine.conversion.pitch_edits import TOOLS
from engine.conversion.settings import ConversionSettings
from engine.errors import EditError, SettingsError
from engine.features.sustained_notes import WIDTH
from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.conversions.edits import changes_view, edit_view, start_edit
from studio.actions.history import repeat_task
from studio.actions.tasks import cancel_task, delete_task, task_views
from studio.actions.voices.packages import export_model, import_model
from studio.actions.voices.profiles import edit_profile
from studio.actions.voices.voice import delete_model
from studio.errors import Invalid, NotFound, WrongState
from studio.store.records.codec import plain
from studio.store.tables import tasks as rows
from studio.store.tasks import claim, complete, find

FRAMES = 301
NOW_S = 1_800_000_000.0
SHIFT = {"tool": "shift", "start_s": 1.0, "end_s": 1.5, "semitones": 2.0}
LATER = {"tool": "shift", "start_s": 2.0, "end_s": 2.5, "semitones": -1.0}


def edit_data(takes: int = 2) -> EditData:
    hertz = np.stack([np.full(FRAMES, 200.0 + take, np.float32) for take in range(takes)])
    zeros, voicing = np.zeros(3, np.float32), np.full(FRAMES, 0.9, np.float32)
    return EditData(
        *("x", ConversionSettings(takes=takes), -2, "melodic", 0.0, zeros, zeros, PitchStatistics(50, 57, 64), 100),
        *(True, voicing, hertz, np.array([0]), np.zeros((takes, 1)), np.zeros((0, WIDTH), np.float32)),
        np.zeros(1, np.int64),
    )


@pytest.fixture
def finished(studio, tmp_path):
    """Ends a waiting conversion as a worker would."""

    def finish(task_id, takes=2, account=None, with_edit_data=True):
        task = claim(studio.database, "worker", ["conversion"], 60)
        assert task.id == task_id
        place = f"{task.parameters['input_key'].rpartition('/')[0]}/{task.fence}"
        outputs = [f"{place}/take-{number}.wav" for number in range(1, takes + 1)]
        for number, key in enumerate(outputs, 1):
            studio.storage.put_bytes(f"take {number} of {task_id}".encode(), key)
        chosen = {"model": "kathleen", "transpose": -2, "vocal_style": "melodic"}
        result = {"outputs": outputs, "output_settings": chosen, "scores": []}
        if with_edit_data:
            write_edit_data(tmp_path / "groundwork.npz", edit_data(takes))
            result["groundwork"] = f"{place}/groundwork.npz"
            studio.storage.put_file(tmp_path / "groundwork.npz", result["groundwork"])
        with studio.database.write() as connection:
            complete(connection, task, result)
        return task_id

    return finish


@pytest.fixture
def waiting(studio, recording):
    settings = {"takes": 2, "transpose": "auto", "pitch_snap": 0.5}
    return start_conversion(
        studio, studio.local, recording(3.0), "my vocal.wav", ConversionRequest("kathleen", settings)
    )


@pytest.fixture
def converted(finished, waiting):
    return finished(waiting)


def view(studio, task_id, take=1):
    return edit_view(studio, studio.local, task_id, take, "", NOW_S)


def stored(studio, key) -> bytes:
    return b"".join(studio.storage.read(key))


def test_edit_view_shows_the_pitch_curve_of_the_take(studio, converted):
    shown = view(studio, converted, 2)
    assert shown.id == f"{converted}-2"
    assert (shown.duration_s, shown.step_s) == (3.0, 0.01)
    assert shown.hertz == [201.0] * FRAMES
    assert shown.confidence == [0.9] * FRAMES
    assert (shown.edits, shown.changes) == ([], [])
    [heard] = shown.heard
    assert heard.label == "As converted"
    assert f"/tasks/{converted}/1/take-2.wav" in heard.url


def test_edit_view_lists_the_settings_of_each_tool(studio, converted):
    tools = view(studio, converted).tools
    assert set(tools) == set(TOOLS)
    assert set(tools["shift"].settings) == {"semitones"}
    milliseconds = plain(replace(tools["smooth"].settings["milliseconds"], meaning=""))
    assert milliseconds == {"minimum": 20.0, "maximum": 2000.0, "default": 250.0, "words": (), "meaning": ""}
    assert "A minor" in tools["snap"].settings["scale"].words
    assert tools["draw"].settings == {}


def test_changes_view_previews_edits_before_rendering(studio, converted):
    [change] = changes_view(studio, studio.local, converted, 1, [SHIFT])
    assert 97 <= change.first <= 98
    assert len(change.hertz) == pytest.approx(55, abs=2)
    assert change.hertz[27] == pytest.approx(200 * 2 ** (2 / 12), abs=0.01)
    two = changes_view(studio, studio.local, converted, 1, [SHIFT, LATER])
    assert [one.first for one in two] == [change.first, change.first + 100]
    assert changes_view(studio, studio.local, converted, 1, []) == []


@pytest.mark.parametrize("change", [{"level_db": 3.0}, {"formant_shift_semitones": -2.0}])
def test_start_edit_takes_formants_and_levels_though_the_curve_stays(studio, converted, finished, change):
    note = {"tool": "note", "start_s": 1.0, "end_s": 1.5, **change}
    assert changes_view(studio, studio.local, converted, 1, [note]) == []
    edit_id = start_edit(studio, studio.local, converted, 1, [note])
    [stored_edit] = find(studio.database, studio.local.id, edit_id).parameters["edit"]["edits"]
    unchanged = dict.fromkeys(("centre", "slope", "formant_shift_semitones", "level_db"), 0.0)
    assert stored_edit == note | unchanged | {"vibrato": 1.0, "drift": 1.0} | change
    finished(edit_id, takes=1, with_edit_data=False)
    assert view(studio, edit_id).edits == [stored_edit]
    with pytest.raises(Invalid, match="Nothing to render"):
        start_edit(studio, studio.local, edit_id, 1, [note])
    start_edit(studio, studio.local, edit_id, 1, [])


def test_start_edit_refuses_the_octaves_that_a_take_has(studio, converted, finished):
    octave = {"tool": "octave", "start_s": 1.0, "end_s": 1.5, "by": 1}
    edit_id = finished(start_edit(studio, studio.local, converted, 1, [octave]), takes=1, with_edit_data=False)
    with pytest.raises(Invalid, match="Nothing to render"):
        start_edit(studio, studio.local, edit_id, 1, [octave])


def test_start_edit_queues_a_conversion_with_its_own_copy_of_the_take(studio, converted):
    edit_id = start_edit(studio, studio.local, converted, 2, [SHIFT])
    task = find(studio.database, studio.local.id, edit_id)
    assert (task.kind, task.state, task.model_id) == ("conversion", "queued", "kathleen")
    assert task.parameters["settings"] == {"takes": 1, "transpose": "auto", "pitch_snap": 0.5}
    assert task.parameters["file_name"] == "my vocal.wav"
    edited = task.parameters["edit"]
    assert (edited["of"], edited["conversion"], edited["take"], edited["earlier"]) == (converted, converted, 2, None)
    assert edited["edits"] == [SHIFT]
    views = {task.id: task for task in task_views(studio, studio.local, "", NOW_S).tasks}
    assert [views[one].edit_of for one in (edit_id, converted)] == [converted, None]
    first = find(studio.database, studio.local.id, converted)
    content = stored(studio, first.parameters["input_key"])
    delete_task(studio, studio.local, converted)
    assert stored(studio, task.parameters["input_key"]) == content
    assert stored(studio, edited["original"]["take"]) == f"take 2 of {converted}".encode()
    assert task.parameters["input_key"] == f"tasks/{edit_id}/input.wav"
    assert all(key.startswith(f"tasks/{edit_id}/") for key in edited["original"].values())


def test_edit_view_and_start_edit_of_an_edit_build_on_the_converted_take(studio, converted, finished):
    edit_id = finished(start_edit(studio, studio.local, converted, 2, [SHIFT]), takes=1, with_edit_data=False)
    shown = view(studio, edit_id)
    assert shown.id == f"{converted}-2"
    assert shown.hertz == [201.0] * FRAMES
    assert shown.edits == [SHIFT]
    assert len(shown.changes) == 1
    assert [one.label for one in shown.heard] == ["As converted", "Edited"]
    again = start_edit(studio, studio.local, edit_id, 1, [SHIFT, LATER])
    edited = find(studio.database, studio.local.id, again).parameters["edit"]
    assert (edited["of"], edited["conversion"], edited["take"]) == (edit_id, converted, 2)
    assert edited["edits"] == [SHIFT, LATER]
    assert edited["earlier"] == {"key": f"tasks/{edit_id}/1/take-1.wav", "edits": [SHIFT]}
    assert stored(studio, edited["original"]["take"]) == f"take 2 of {converted}".encode()


def test_start_edit_of_an_edited_take_accepts_an_empty_list_of_edits(studio, converted, finished):
    edit_id = finished(start_edit(studio, studio.local, converted, 1, [SHIFT]), takes=1, with_edit_data=False)
    back = start_edit(studio, studio.local, edit_id, 1, [])
    assert find(studio.database, studio.local.id, back).parameters["edit"]["edits"] == []


def test_repeat_task_repeats_a_cancelled_edit_of_a_deleted_take(studio, converted):
    edit_id = start_edit(studio, studio.local, converted, 2, [SHIFT])
    with pytest.raises(WrongState):
        repeat_task(studio, studio.local, edit_id)
    cancel_task(studio, studio.local, edit_id, "", NOW_S)
    delete_task(studio, studio.local, converted)
    again = find(studio.database, studio.local.id, repeat_task(studio, studio.local, edit_id))
    before = find(studio.database, studio.local.id, edit_id)
    assert again.parameters["edit"] | {"original": None} == before.parameters["edit"] | {"original": None}
    assert again.parameters["settings"] == before.parameters["settings"]
    delete_task(studio, studio.local, edit_id)
    assert stored(studio, again.parameters["edit"]["original"]["take"]) == f"take 2 of {converted}".encode()
    assert b"".join(studio.storage.read(again.parameters["input_key"]))


# ---- what cannot be


def files(studio) -> set:
    return {path for path in (studio.settings.data / "tasks").rglob("*") if path.is_file()}


@pytest.mark.parametrize("edits", [[], [SHIFT | {"semitones": 0.0}], [SHIFT, SHIFT | {"semitones": -2.0}]])
def test_start_edit_refuses_edits_without_effect_and_stores_nothing(studio, converted, edits):
    before = files(studio)
    with pytest.raises(Invalid, match="Nothing to render"):
        start_edit(studio, studio.local, converted, 1, edits)
    assert files(studio) == before


@pytest.mark.parametrize(
    ("edits", "sentence"),
    [
        ([SHIFT | {"semitones": 99}], r"Edit 1 \(shift\): semitones must be"),
        ([SHIFT | {"end_s": 9.0}], "not within the take, which is 3 s long"),
        ("up", "must be a list"),
    ],
)
def test_start_edit_and_changes_view_refuse_invalid_edits_and_store_nothing(studio, converted, edits, sentence):
    before = files(studio)
    for ask in (start_edit, changes_view):
        with pytest.raises(SettingsError, match=sentence):
            ask(studio, studio.local, converted, 1, edits)
    assert files(studio) == before


def test_start_edit_and_edit_view_refuse_an_unfinished_conversion(studio, waiting):
    with pytest.raises(WrongState, match="once its conversion has finished"):
        start_edit(studio, studio.local, waiting, 1, [SHIFT])
    with pytest.raises(WrongState):
        view(studio, waiting)


def test_edit_view_refuses_a_take_without_edit_data(studio, waiting, finished):
    finished(waiting, with_edit_data=False)
    with pytest.raises(WrongState, match="before takes could be edited: convert the recording again"):
        view(studio, waiting)


@pytest.mark.parametrize("take", [0, 3])
def test_edit_view_refuses_an_unknown_take(studio, converted, take):
    with pytest.raises(NotFound):
        view(studio, converted, take)


def test_start_edit_refuses_a_deleted_result(studio, converted):
    with studio.database.write() as connection:
        connection.execute(update(rows).where(rows.c.id == converted).values(outputs_deleted_at=NOW_S))
    with pytest.raises(NotFound, match="has been deleted: convert the recording again"):
        start_edit(studio, studio.local, converted, 1, [SHIFT])


def test_edit_view_and_start_edit_refuse_a_deleted_voice(studio, recording, finished, tmp_path):
    export_model(studio, studio.local, "kathleen", tmp_path / "out.zip")
    model = import_model(studio, studio.local, tmp_path / "out.zip")
    edit_profile(studio, studio.local, model, {"name": "Mia"})
    task_id = finished(start_conversion(studio, studio.local, recording(), "song.wav", ConversionRequest(model, {})))
    assert view(studio, task_id).edits == []
    delete_model(studio, studio.local, model)
    for act in (view, lambda *given: start_edit(given[0], studio.local, given[1], 1, [SHIFT])):
        with pytest.raises(NotFound, match="'Mia' has been deleted: convert the recording with another voice"):
            act(studio, task_id)


def test_start_edit_and_edit_view_refuse_missing_files_and_leave_nothing(studio, converted):
    task = find(studio.database, studio.local.id, converted)
    studio.storage.delete(task.parameters["input_key"])
    before = files(studio)
    with pytest.raises(NotFound, match="has been deleted"):
        start_edit(studio, studio.local, converted, 1, [SHIFT])
    assert files(studio) == before
    studio.storage.delete(task.result["groundwork"])
    with pytest.raises(NotFound, match="has been deleted"):
        view(studio, converted)


def test_edit_view_refuses_damaged_edit_data(studio, converted):
    studio.storage.put_bytes(b"PK", find(studio.database, studio.local.id, converted).result["groundwork"])
    with pytest.raises(EditError, match="convert the recording again"):
        view(studio, converted)


def test_edit_actions_refuse_takes_of_other_accounts(studio, other, converted):
    for ask in (
        lambda: edit_view(studio, other, converted, 1, "", NOW_S),
        lambda: changes_view(studio, other, converted, 1, [SHIFT]),
        lambda: start_edit(studio, other, converted, 1, [SHIFT]),
    ):
        with pytest.raises(NotFound):
            ask()
