"""Waiting for tasks over HTTP: Prefer: wait=N, Cancel-After, events, and refusals that say when there is room."""

import json
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from sqlalchemy import select, update

from studio.http.routes import waits_deadlines_callbacks
from studio.store.database import Now
from studio.store.tables import deadlines, tasks
from studio.store.tasks import claim, renew
from tests.waiting import PATIENCE_S, wait_until

LONG = {"Prefer": f"wait={PATIENCE_S:.0f}"}


@pytest.fixture
def patient(monkeypatch):
    """Calls that wait for as long as tests do, however slow the machine."""
    monkeypatch.setattr(waits_deadlines_callbacks, "LONGEST_WAIT_S", int(PATIENCE_S))


@pytest.fixture
def meanwhile():
    """Runs calls beside the test."""
    with ThreadPoolExecutor(4) as pool:
        yield pool.submit


def convert(client, singing, **headers) -> httpx.Response:
    files = {"audio": (singing.name, singing.read_bytes())}
    return client.post("/convert", files=files, data={"model": "kathleen"}, headers=headers)


def waiting(http, number: int = 1) -> None:
    """Wait until so many calls wait."""
    wait_until(lambda: http.app.state.watch._places.total() == number)


def test_convert_waits_and_answers_with_the_finished_task(http, singing, patient, meanwhile):
    client = http.client("waits")
    answer = meanwhile(convert, client, singing, **LONG)
    waiting(http)
    task_id = http.work("waits", [b"RIFF"])
    found = answer.result()
    assert (found.status_code, found.headers["Preference-Applied"]) == (200, f"wait={PATIENCE_S:.0f}")
    assert found.json()["task_id"] == task_id
    assert (found.json()["task"]["state"], len(found.json()["task"]["output_audio_urls"])) == ("completed", 1)
    waiting(http, 0)


def test_convert_that_has_waited_in_vain_is_202_with_the_place_of_the_task(http, singing):
    client = http.client("in vain")
    found = convert(client, singing, Prefer="respond-async, wait=0")
    assert (found.status_code, found.headers["Preference-Applied"]) == (202, "wait=0")
    assert list(found.json()) == ["task_id"]
    assert client.get(found.headers["Location"]).json()["state"] == "queued"
    client.delete(f"/tasks/{found.json()['task_id']}")


@pytest.mark.parametrize("prefer", [None, "respond-async", "wait", "wait=x", "wait=-1", "await=3"])
def test_convert_answers_as_published_without_a_preference_to_wait(http, singing, prefer):
    found = convert(http.client("published"), singing, **({} if prefer is None else {"Prefer": prefer}))
    assert (found.status_code, list(found.json())) == (200, ["task_id"])
    assert "Preference-Applied" not in found.headers


def test_check_task_and_task_wait_for_the_end_and_answer_as_ever(http, singing, patient, meanwhile):
    client = http.client("polls")
    task_id = convert(client, singing).json()["task_id"]
    published = meanwhile(client.get, f"/check-task/{task_id}", headers=LONG)
    full = meanwhile(client.get, f"/tasks/{task_id}", headers=LONG)
    waiting(http, 2)
    http.work("polls", [b"RIFF"])
    assert set(published.result().json()) == {"status", "input_audio_url", "output_audio_urls", "output_settings"}
    assert full.result().json()["state"] == "completed"
    assert client.get(f"/check-task/{task_id}", headers=LONG).json()["status"] == "completed"
    assert client.get(f"/check-task/{'0' * 24}", headers=LONG).status_code == 404
    assert http.client("stranger").get(f"/check-task/{task_id}", headers=LONG).status_code == 404


def test_a_call_that_waits_gives_its_place_among_the_uploads_to_others(serve, singing, patient, meanwhile):
    service = serve(uploads_at_once=1, uploads_per_account=1)
    client = service.client("uploads")

    def send() -> httpx.Response:  # in pieces: the size is not known before
        request = client.build_request(
            "POST", "/convert", data={"model": "kathleen"}, files={"audio": singing.read_bytes()}, headers=LONG
        )
        body = request.read()
        headers = {"Content-Type": request.headers["Content-Type"], **LONG}
        return client.post("/convert", content=iter([body]), headers=headers)

    first = meanwhile(send)
    waiting(service)
    second = meanwhile(send)
    waiting(service, 2)
    for _ in range(2):
        service.work("uploads", [b"RIFF"])
    assert [one.result().status_code for one in (first, second)] == [200, 200]


def test_a_waiting_call_whose_client_leaves_gives_its_place_back(http, singing, patient):
    client = http.client("leaves")
    task_id = convert(client, singing).json()["task_id"]
    with (
        httpx.Client(base_url=http.base_url, headers=client.headers, trust_env=False) as leaver,
        pytest.raises(httpx.ReadTimeout),
    ):
        leaver.get(f"/tasks/{task_id}", headers=LONG, timeout=httpx.Timeout(PATIENCE_S, read=0.05))
    waiting(http, 0)
    client.delete(f"/tasks/{task_id}")


# ---- deadlines


@pytest.mark.parametrize(("written", "seconds"), [("90", 90), ("90s", 90), ("5m", 300), ("1h30m5s", 5405)])
def test_cancel_after_sets_the_deadline_of_the_task(http, singing, written, seconds):
    client = http.client("deadlines")
    task_id = convert(client, singing, **{"Cancel-After": written}).json()["task_id"]
    with http.studio.database.read() as connection:
        of_task = select(deadlines.c.at - tasks.c.created_at).join(tasks, tasks.c.id == deadlines.c.task_id)
        after_s = connection.scalar(of_task.where(deadlines.c.task_id == task_id))
    assert seconds <= after_s < seconds + PATIENCE_S
    client.delete(f"/tasks/{task_id}")


@pytest.mark.parametrize("written", ["", "0", "-5", "5x", "1m1h", "31d", "721h", "1.5", "٣"])
def test_cancel_after_that_is_no_duration_is_refused_before_anything_starts(http, singing, written):
    client = http.client("no deadline")
    refused = convert(client, singing, **{"Cancel-After": written.encode()})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "Cancel-After")
    assert client.get("/tasks").json()["tasks"] == []


# ---- events


def events_of(answer: httpx.Response) -> list[tuple[str, dict]]:
    found = [dict(line.split(": ", 1) for line in one.splitlines()) for one in answer.text.strip().split("\n\n")]
    return [(one["event"], json.loads(one["data"])) for one in found if "event" in one]


def test_events_tell_each_step_and_end_with_the_task(http, singing, meanwhile):
    client = http.client("follows")
    task_id = convert(client, singing).json()["task_id"]
    answer = meanwhile(client.get, f"/tasks/{task_id}/events")
    waiting(http)
    http.work("follows", [b"RIFF"])
    found = answer.result()
    assert found.headers["content-type"].startswith("text/event-stream")
    steps = events_of(found)
    assert steps[0] == ("progress", {"state": "queued", "progress": 0.0, "message": ""})
    assert (steps[-1][0], steps[-1][1]["id"], len(steps[-1][1]["output_audio_urls"])) == ("completed", task_id, 1)
    again = events_of(client.get(f"/tasks/{task_id}/events"))  # of what has ended: the end
    assert [name for name, _ in again] == ["completed"]


def test_events_show_the_progress_that_a_worker_reports(http, singing):
    client = http.client("progress")
    task_id = convert(client, singing).json()["task_id"]
    task = claim(http.studio.database, "test", ("conversion",), PATIENCE_S)
    while task.id != task_id:
        task = claim(http.studio.database, "test", ("conversion",), PATIENCE_S)
    with httpx.stream(
        "GET", f"{http.base_url}/tasks/{task_id}/events", headers=client.headers, trust_env=False, timeout=PATIENCE_S
    ) as answer:
        lines = answer.iter_lines()
        seen = [next(line for line in lines if line.startswith("data: "))]
        renew(http.studio.database, task, PATIENCE_S, 0.5, "synthesising")
        seen.append(next(line for line in lines if line.startswith("data: ")))
    assert [json.loads(line[6:])["progress"] for line in seen] == [0.0, 0.5]
    assert json.loads(seen[1][6:])["message"] == "synthesising"
    waiting(http, 0)  # the client has left
    client.delete(f"/tasks/{task_id}")


def test_events_of_unknown_and_others_tasks_are_404_and_without_a_token_401(http, singing):
    task_id = convert(http.client("own"), singing).json()["task_id"]
    for client, status in ((http.client("stranger"), 404), (http.stranger(), 401)):
        answer = client.get(f"/tasks/{task_id}/events")
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    http.client("own").delete(f"/tasks/{task_id}")


def test_events_beyond_the_places_are_429_while_a_preference_is_not_kept(serve, singing, monkeypatch):
    service = serve(conversions_per_account=50)
    client = service.client("crowd")
    task_id = convert(client, singing).json()["task_id"]
    monkeypatch.setattr("studio.http.task_watch.MOST_OF_ACCOUNT", 0)
    refused = client.get(f"/tasks/{task_id}/events")
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_waiting")
    assert "Preference-Applied" not in client.get(f"/tasks/{task_id}", headers={"Prefer": "wait=9"}).headers


# ---- when there is room


def test_retry_after_of_a_full_queue_is_what_the_running_conversion_still_needs(serve, singing):
    service = serve(conversions_per_account=1)
    client = service.client("queue")
    task_id = convert(client, singing).json()["task_id"]
    task = claim(service.studio.database, "test", ("conversion",), PATIENCE_S)
    renew(service.studio.database, task, PATIENCE_S, 0.25)
    with service.studio.database.write() as connection:  # a quarter took 1,000 s: three more are left
        connection.execute(update(tasks).where(tasks.c.id == task_id).values(started_at=Now() - 1000.0))
    refused = convert(client, singing)
    assert (refused.status_code, refused.json()["code"]) == (429, "queue_full")
    assert 3000 <= int(refused.headers["Retry-After"]) <= 3000 + 4 * PATIENCE_S
