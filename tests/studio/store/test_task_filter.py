"""Tasks are found by words, voice, date and recording."""

import pytest
from sqlalchemy import insert, update

from studio.store.accounts import local_account
from studio.store.tables import projects, tasks
from studio.store.task_filter import TaskFilter
from studio.store.tasks import list_tasks, submit

DAY_S = 86_400.0


@pytest.fixture
def account(database):
    """Three conversions: "Größe.wav" of yesterday, "100%_take.wav" now, and one of the project "Summer song"."""
    made = local_account(database)
    with database.write() as connection:
        for task_id, name, recording, voice in (
            ("old", "Größe.wav", "r1", "mia"),
            ("odd", "100%_take.wav", "r2", "kathleen"),
            ("song", "x.wav", "r3", "mia"),
        ):
            given = {"file_name": name, "recording": recording}
            submit(connection, made.id, "conversion", given, model_id=voice, task_id=task_id)
        connection.execute(update(tasks).where(tasks.c.id == "old").values(created_at=tasks.c.created_at - DAY_S))
        of_project = {"account_id": made.id, "id": "r3", "name": "Summer song", "texts": "summer song"}
        connection.execute(insert(projects).values(of_project | {"timeline": {}}))
    return made


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        (TaskFilter(words=["größe"]), {"old"}),
        (TaskFilter(words=["GRÖSSE"]), {"old"}),  # as Python folds it
        (TaskFilter(words=["grosse"]), {"old"}),  # without the accent
        (TaskFilter(words=["gro\u0308sse"]), {"old"}),  # composed otherwise
        (TaskFilter(words=["%_t"]), {"odd"}),  # no wildcards
        (TaskFilter(words=["summer", "SONG"]), {"song"}),
        (TaskFilter(words=["summer", "winter"]), set()),
        (TaskFilter(words=["mia"], model_ids_by_word={"mia": ["mia"]}), {"old", "song"}),
        (TaskFilter(model_id="mia", words=["x"]), {"song"}),
        (TaskFilter(recording="r2"), {"odd"}),
        (TaskFilter(kind="training"), set()),
    ],
)
def test_list_tasks_finds_tasks_by_words_voice_recording_and_kind(database, account, wanted, found):
    assert {task.id for task in list_tasks(database, account.id, wanted=wanted)[0]} == found


def test_task_filter_dates_include_the_start_and_exclude_the_end(database, account):
    old = next(task for task in list_tasks(database, account.id)[0] if task.id == "old")
    for wanted, found in (
        (TaskFilter(since=old.created_at), 3),
        (TaskFilter(until=old.created_at), 0),
        (TaskFilter(since=old.created_at + 1), 2),
    ):
        assert len(list_tasks(database, account.id, wanted=wanted)[0]) == found
