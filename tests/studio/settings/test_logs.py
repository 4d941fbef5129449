"""The log: JSON lines with the ids of the call, and never a token."""

import io
import json
import logging

import structlog

from studio.settings.logs import BLOT

TOKEN = "ts_" + "a1B2-_c3D4" * 4 + "xyz"


def entries(stream: io.StringIO) -> list[dict]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_start_logs_writes_json_lines_with_the_ids_of_the_call(logged):
    with structlog.contextvars.bound_contextvars(request_id="r1"):
        structlog.get_logger("studio.http").info("call", status=200, path="/check-task/{task_id}")
    [entry] = entries(logged)
    expected = {"event": "call", "status": 200, "request_id": "r1", "level": "info", "logger": "studio.http"}
    assert entry.items() >= expected.items()
    assert entry["timestamp"].endswith("Z")


def test_start_logs_includes_other_packages_but_not_uvicorn_access(logged):
    logging.getLogger("uvicorn.error").info("Started server process [%d]", 7)
    logging.getLogger("uvicorn.access").info("GET /files/a?signature=abc")
    assert [entry["event"] for entry in entries(logged)] == ["Started server process [7]"]


def test_start_logs_hides_tokens_and_signatures(logged):
    log = structlog.get_logger("x")
    log.info(f"seen {TOKEN}", header=f"Bearer {TOKEN}", address=f"/files/k?expires=1&signature={'ab' * 20}")
    logging.getLogger("y").warning("Authorization: bearer other-kind-of-token")
    logging.getLogger("uvicorn.error").info('%s - "WebSocket %s" [accepted]', "127.0.0.1:1", "/live/abab-Ab_9")
    try:
        raise RuntimeError(f"with {TOKEN} in its text")
    except RuntimeError:
        log.exception("failed")
        logging.getLogger("z").exception("failed")
    text = logged.getvalue()
    assert TOKEN not in text
    assert "other-kind" not in text
    assert "abab" not in text
    assert text.count(BLOT) >= 5
    assert len(entries(logged)) == 5
    assert "RuntimeError" in text  # what happened is still there
