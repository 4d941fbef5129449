"""The mark of a server: on all answers to an open page, on nothing else, and another one after every start."""

from fastapi import FastAPI
from fastapi.testclient import TestClient

from studio.page.start_mark import HEADER, StartMark


def started() -> TestClient:
    app = FastAPI()
    app.add_middleware(StartMark)
    return TestClient(app)


def test_start_mark_marks_page_responses_and_changes_after_a_restart():
    first, second = started(), started()
    mark = first.get("/gradio_api/app_id").headers[HEADER]
    assert first.post("/gradio_api/queue/join").headers[HEADER] == mark
    assert second.get("/gradio_api/app_id").headers[HEADER] != mark
    assert HEADER not in first.get("/tasks").headers
