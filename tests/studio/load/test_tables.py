"""Large tables: what is done for every call and task is found by an index, on both databases, and costs no more."""

import json

import pytest

from engine.errors import SettingsError
from studio.executors.recovery import recover
from studio.load import tables as table_loadtest
from studio.load.database_work import plans
from studio.load.tables import Cost, main, measure_tables
from studio.store import tasks
from studio.store.accounts import create_account, find_account
from studio.store.catalogue import find_model, list_models
from studio.store.database import open_database
from studio.store.storage import open_storage

SCANS = ("SCAN candidate", "SCAN tasks", "SCAN models", "Seq Scan on tasks", "Seq Scan on models")


def cost(often: bool, small_steps: int, large_steps: int) -> Cost:
    return Cost("claim", often, 3, small_steps, large_steps, 1.0, 9.0)


def test_cost_keeps_bounds_unless_a_frequent_operation_becomes_more_work():
    assert cost(True, 10_000, 29_000).keeps_bounds
    assert cost(True, 50, 3_000).keeps_bounds  # a page, of which the small tables had too little
    assert not cost(True, 10_000, 70_000).keeps_bounds
    assert not cost(True, 50, 10_000).keeps_bounds
    assert cost(False, 10_000, 700_000).keeps_bounds


def test_measure_tables_refuses_a_database_in_use(sqlite_database, folder_storage):
    account = create_account(sqlite_database, "anna").id
    with sqlite_database.write() as connection:
        tasks.submit(connection, account, "conversion", {})
    with pytest.raises(SettingsError, match="empty"):
        measure_tables(sqlite_database, folder_storage, 10, 10, lambda text: None)


def test_main_prints_figures_as_json_or_text(capsys, monkeypatch):
    monkeypatch.setattr(table_loadtest, "measure_tables", lambda *given: [cost(True, 500, 9000)])
    assert main(["--json"]) == 1
    figures = json.loads(capsys.readouterr().out)
    claimed = {"name": "claim", "often": True, "statements": 3, "keeps_bounds": False}
    claimed |= {"small_steps": 500, "large_steps": 9000, "small_ms": 1.0, "large_ms": 9.0}
    assert figures["operations"] == [claimed]
    assert main([]) == 1
    assert "9.00" in capsys.readouterr().out


@pytest.mark.slow
def test_measure_tables_keeps_bounds_on_large_tables_without_scans(empty_database_url, tmp_path):
    database, storage = open_database(empty_database_url), open_storage("", tmp_path)
    try:
        costs = measure_tables(database, storage, 10_000, 200_000, lambda text: None)
        assert [one.name for one in costs if not one.keeps_bounds] == []
        account = find_account(database, "loadtest")
        known = table_loadtest._some_id()
        for act in (
            lambda: tasks.claim(database, "a test", ("conversion", "report"), 60.0),
            lambda: tasks.find(database, account.id, known),
            lambda: tasks.list_tasks(database, account.id),
            lambda: tasks.list_tasks(database, account.id, state="failed"),
            lambda: list_models(database, account, limit=50),
            lambda: find_model(database, account, "voice-77"),
            lambda: recover(database, 3),
        ):
            explained = plans(database, act)
            assert explained
            assert not [plan for plan in explained if any(scan in plan for scan in SCANS)], explained
    finally:
        database.close()
