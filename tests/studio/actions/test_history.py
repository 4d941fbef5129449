"""What one reads of one's own work, does again, and deletes."""

import pytest

from studio.actions.conversions.conversion import ConversionRequest, start_conversion
from studio.actions.history import history_view, repeat_task
from studio.actions.tasks import cancel_task, delete_task
from studio.actions.trainings.training import start_training
from studio.actions.voices.datasets import create_model
from studio.actions.voices.voice import delete_model, model_view
from studio.errors import NotFound, WrongState
from studio.store.task_filter import TaskFilter
from studio.store.tasks import claim, complete, fail, find, list_tasks, submit


@pytest.fixture
def conversion(studio, recording):
    """Makes one that waits; its id."""

    def make(account=None, **given) -> str:
        account = account or studio.local
        request = ConversionRequest("kathleen", {"takes": 2, "seed": 7}, preset="spoken")
        return start_conversion(studio, account, recording(), "song.wav", request, **given)

    return make


def finish(studio, state="completed"):
    task = claim(studio.database, "worker", ["conversion"], 60)
    place = task.parameters["input_key"].rpartition("/")[0]
    studio.storage.put_bytes(b"take", f"{place}/1/take-1.wav")
    with studio.database.write() as connection:
        if state == "completed":
            complete(connection, task, {"outputs": [f"{place}/1/take-1.wav"], "scores": []})
        else:
            fail(connection, task, "It is no recording.", "audio_error")
    return task.id


def shown(studio, account=None, **narrowed):
    return history_view(studio, account or studio.local, "", 0.0, wanted=TaskFilter(**narrowed)).tasks


def test_history_view_lists_tasks_newest_first_with_names_and_places(studio, conversion):
    first, second = conversion(), conversion()
    later, sooner = shown(studio)
    assert (later.id, later.place, sooner.id, sooner.place) == (second, 2, first, 1)
    assert later.model_name == "Kathleen"
    assert (later.file_name, later.preset, later.settings) == ("song.wav", "spoken", {"takes": 2, "seed": 7})


def test_history_view_is_paged_and_filtered(studio, conversion):
    made = [conversion() for _ in range(5)]
    finish(studio, "failed")
    first = history_view(studio, studio.local, "", 0.0, limit=3)
    rest = history_view(studio, studio.local, "", 0.0, limit=3, cursor=first.next_cursor)
    assert [task.id for task in first.tasks + rest.tasks] == made[::-1]
    assert rest.next_cursor is None
    [failed] = shown(studio, state="failed")
    assert (failed.id, failed.error) == (made[0], "It is no recording.")
    assert not shown(studio, kind="training")


def test_history_view_leaves_out_estimates_checkups_and_analyses(studio):
    with studio.database.write() as connection:
        for kind in ("estimate", "checkup", "analysis"):
            submit(connection, studio.local.id, kind, {})
    assert not shown(studio)
    assert len(list_tasks(studio.database, studio.local.id, kind="estimate")[0]) == 1


def test_repeat_task_repeats_a_conversion_with_all_its_settings(studio, conversion):
    first = conversion()
    with pytest.raises(WrongState):
        repeat_task(studio, studio.local, first)
    finish(studio)
    again = find(studio.database, studio.local.id, repeat_task(studio, studio.local, first))
    before = find(studio.database, studio.local.id, first)
    assert again.state == "queued"
    assert again.model_id == "kathleen"
    unlike = {name for name in before.parameters if before.parameters[name] != again.parameters[name]}
    assert unlike == {"input_key"}
    keys = [task.parameters["input_key"] for task in (before, again)]
    first_bytes, again_bytes = (b"".join(studio.storage.read(key)) for key in keys)
    assert first_bytes == again_bytes


def test_repeat_task_refuses_a_conversion_without_its_recording(studio, conversion):
    first = conversion()
    finish(studio)
    studio.storage.delete(find(studio.database, studio.local.id, first).parameters["input_key"])
    with pytest.raises(NotFound, match="add it again"):
        repeat_task(studio, studio.local, first)
    assert len(shown(studio)) == 1
    assert not list((studio.settings.work / "incoming").iterdir())


def test_repeat_task_repeats_a_cancelled_training_with_its_settings(studio, package):
    model = create_model(studio, studio.local, package())
    start_training(studio, studio.local, model, 5, {"patience": 3})
    [task] = shown(studio, kind="training")
    cancel_task(studio, studio.local, task.id, "", 0.0)
    again = find(studio.database, studio.local.id, repeat_task(studio, studio.local, task.id))
    assert (again.parameters, again.state) == ({"epochs": 5, "patience": 3}, "queued")


def test_repeat_task_refuses_a_report(studio, package):
    create_model(studio, studio.local, package())
    task = claim(studio.database, "worker", ["report"], 60)
    with studio.database.write() as connection:
        complete(connection, task, {})
    with pytest.raises(WrongState):
        repeat_task(studio, studio.local, task.id)


def test_delete_task_deletes_the_row_and_all_files(studio, conversion):
    kept, first = conversion(), conversion()
    with pytest.raises(WrongState, match="Cancel it first"):
        delete_task(studio, studio.local, first)
    finish(studio)
    finish(studio)
    delete_task(studio, studio.local, first)
    assert [task.id for task in shown(studio)] == [kept]
    assert not list(studio.storage.list_keys(f"tasks/{first}"))
    assert len(list(studio.storage.list_keys(f"tasks/{kept}"))) == 2
    with pytest.raises(NotFound):
        delete_task(studio, studio.local, first)


def test_delete_task_of_a_training_keeps_the_voice(studio, package):
    model = create_model(studio, studio.local, package())
    start_training(studio, studio.local, model, 5)
    [task] = shown(studio, kind="training")
    cancel_task(studio, studio.local, task.id, "", 0.0)
    delete_task(studio, studio.local, task.id)
    assert model_view(studio, studio.local, model).training.task_id is None
    assert (studio.settings.datasets / model / "audio").exists()
    delete_model(studio, studio.local, model)


def test_repeat_task_and_delete_task_refuse_tasks_of_another_account(studio, other, conversion):
    mine = conversion()
    finish(studio)
    assert not shown(studio, other)
    for act in (repeat_task, delete_task):
        with pytest.raises(NotFound):
            act(studio, other, mine)
    assert len(shown(studio)) == 1
