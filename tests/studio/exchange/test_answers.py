"""The Python client against every row of the table of hostile answers: each is one ServiceError, or is understood.

The TypeScript client reads the same table: tests/studio/typescript/hostile.mjs.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from studio.client import Client, ServiceError
from tests.studio.exchange.hostile_server import HostileServer, hostile_server, rows
from tests.waiting import PATIENCE_S

TOKEN = "ts_nothing-but-an-example"
ROWS = rows()
_RETRY_S = 0.6  # one more connection of events, after half a second


@pytest.fixture(scope="module")
def server() -> Iterator[HostileServer]:
    with hostile_server() as running:
        yield running


@pytest.fixture(autouse=True)
def small_limits(monkeypatch):
    """Floods end sooner; the limits as they are, are tried with the TypeScript client, and by hand."""
    monkeypatch.setattr("studio.exchange.answers.LARGEST_ANSWER", 4 << 20)
    monkeypatch.setattr("studio.client.LARGEST_SILENCE", 1 << 20)
    monkeypatch.setattr("studio.client.LARGEST_FILE", 4 << 20)


CALLS: dict[str, Callable[[Client, Path, str], object]] = {
    "task": lambda client, folder, url: client.task("t"),
    "wait": lambda client, folder, url: client.task("t"),
    "voices": lambda client, folder, url: client.models(),
    "metrics": lambda client, folder, url: client.metrics(),
    "convert": lambda client, folder, url: client.convert(b"RIFF", "mia"),
    "convert-and-wait": lambda client, folder, url: client.convert_and_wait(b"RIFF", "mia", folder=folder, poll_s=0.01),
    "convert-and-fetch": lambda client, folder, url: client.convert_and_wait(
        b"RIFF", "mia", folder=folder, poll_s=0.01
    ),
    "download": lambda client, folder, url: client.download(f"{url}/file", folder / "a.wav"),
}


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_client_takes_any_answer_as_one_service_error(server, tmp_path, row):
    url, seen, failure = f"{server.base_url}/{row['name']}", [], None
    retry_s = _RETRY_S if row["call"] in ("events", "download") else 0.0
    with Client(url, TOKEN, timeout_s=row.get("timeout_s", PATIENCE_S), retry_s=retry_s) as client:
        try:
            if row["call"] == "events":
                seen.extend(client.events("t"))
            else:
                CALLS[row["call"]](client, tmp_path, url)
        except ServiceError as raised:
            failure = raised
    code = None if failure is None else failure.code
    assert code == row["code"] or code in row.get("also", ()), failure
    assert failure is None or failure.detail.isprintable()
    assert failure is None or TOKEN not in str(failure)
    assert [event.name for event in seen] == row.get("events", [])
    assert "last_message" not in row or seen[-1].data["message"] == row["last_message"]
    assert code is None or not list(tmp_path.iterdir())
    assert server.elsewhere == []
    assert server.taken_without_end == []


def test_table_is_ascii_so_that_editors_keep_its_bytes():
    assert json.dumps(ROWS).isascii()
