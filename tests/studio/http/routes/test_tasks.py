"""Tasks over HTTP: all that is known of them, in order, and cancelled."""

import httpx
import pytest

from studio.actions.conversions.conversion import conversion_view
from studio.actions.tasks import task_view
from studio.store.kinds import LISTED
from studio.store.records.codec import plain
from tests.rows import VERSIONS, in_state, put_row, rows_of


def convert(client, singing) -> str:
    files = {"audio": (singing.name, singing.read_bytes())}
    return client.post("/convert", files=files, data={"model": "kathleen"}).json()["task_id"]


def test_get_tasks_lists_newest_first_with_pages_and_filters(http, singing):
    client = http.client("lists")
    ids = [convert(client, singing) for _ in range(5)]
    listed = client.get("/tasks").json()
    assert [task["id"] for task in listed["tasks"]] == ids[::-1]
    assert listed["next_cursor"] is None
    first = client.get("/tasks?limit=3").json()
    rest = client.get("/tasks", params={"limit": 3, "cursor": first["next_cursor"]}).json()
    assert [task["id"] for task in first["tasks"] + rest["tasks"]] == ids[::-1]
    assert rest["next_cursor"] is None
    client.delete(f"/tasks/{ids[0]}")
    assert [task["id"] for task in client.get("/tasks?state=cancelled").json()["tasks"]] == [ids[0]]
    assert len(client.get("/tasks?state=queued&kind=conversion").json()["tasks"]) == 4
    assert client.get("/tasks?kind=training").json()["tasks"] == []
    for task_id in ids[1:]:
        client.delete(f"/tasks/{task_id}")


def test_get_task_shows_state_times_and_results(http, singing):
    client = http.client("looks")
    task_id = convert(client, singing)
    waiting = client.get(f"/tasks/{task_id}").json()
    assert (waiting["state"], waiting["kind"], waiting["model"]) == ("queued", "conversion", "kathleen")
    assert (waiting["started_at"], waiting["finished_at"], waiting["output_audio_urls"]) == (None, None, [])
    http.work("looks", [b"RIFF", b"RIFX"])
    done = client.get(f"/tasks/{task_id}").json()
    assert (done["state"], done["progress"], done["error"]) == ("completed", 1.0, None)
    assert len(done["scores"]) == len(done["output_audio_urls"]) == 2
    assert done["created_at"] <= done["started_at"] <= done["finished_at"]
    assert done["file_name"] == singing.name
    refused = client.delete(f"/tasks/{task_id}")
    assert refused.status_code == 409


@pytest.mark.parametrize(
    ("query", "field"),
    [
        *(("limit=0", "limit"), ("limit=201", "limit"), ("limit=x", "limit"), ("state=gone", "state")),
        *(("kind=song", "kind"), ("cursor=%00", "cursor"), ("cursor=ü", "cursor"), ("cursor=abc", "cursor")),
    ],
)
def test_get_tasks_names_an_invalid_parameter(http, query, field):
    answer = http.client().get(f"/tasks?{query}")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == field


def test_delete_results_removes_the_files_and_keeps_the_task(http, singing):
    """Nobody but the page could delete what a conversion had left, and it was kept for ever."""
    client = http.client("deletes")
    task_id = convert(client, singing)
    assert client.delete(f"/tasks/{task_id}/results").json()["code"] == "task_active"
    http.work("deletes", [b"RIFF", b"RIFX"])
    before = client.get(f"/tasks/{task_id}").json()
    links = [before["input_audio_url"], *before["output_audio_urls"]]
    assert before["cost_minutes"] == pytest.approx(8.9 / 60, abs=0.01)
    assert all(client.get(link).status_code == 200 for link in links)
    assert http.client("stranger").delete(f"/tasks/{task_id}/results").status_code == 404
    for _ in range(2):
        assert client.delete(f"/tasks/{task_id}/results").status_code == 204
    assert all(client.get(link).status_code == 404 for link in links)
    after = client.get(f"/tasks/{task_id}").json()
    assert (after["state"], after["input_audio_url"], after["output_audio_urls"]) == ("completed", None, [])
    assert client.delete(f"/tasks/{'0' * 24}/results").status_code == 404


def test_put_take_sets_name_and_star_and_post_comp_refuses_bad_takes(http, singing):
    client = http.client("comping")
    made = client.post("/convert", files={"audio": singing.read_bytes()}, data={"model": "kathleen"}).json()["task_id"]
    http.work("comping", [b"RIFF-1", b"RIFF-2"])
    said = client.put(f"/tasks/{made}/takes/2", data={"name": "best", "starred": "true"})
    assert said.json() == {"number": 2, "name": "best", "starred": True}
    assert client.put(f"/tasks/{made}/takes/2", json={"starred": "false"}).json()["name"] == "best"
    assert client.get(f"/tasks/{made}").json()["take_labels"][1] == {"name": "best", "starred": False}
    assert client.put(f"/tasks/{made}/takes/3", data={"name": "x"}).json()["code"] == "take_not_found"
    assert client.put(f"/tasks/{made}/takes/1", data={"name": "x" * 61}).status_code == 422
    assert client.post(f"/tasks/{made}/comp", data={"takes": "1,two"}).json()["errors"][0]["field"] == "takes"
    for takes in ("0", "1,0", "00"):
        answer = client.post(f"/tasks/{made}/comp", data={"takes": takes})
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, "takes")
    assert client.post(f"/tasks/{made}/comp", data={"takes": "1,2"}).json()["code"] == "not_compable"


@pytest.mark.parametrize("version", VERSIONS)
def test_tasks_of_every_version_are_answered_as_the_actions_show_them(http, version):
    """The response models hold what is sent, and change nothing of it."""
    client, account = http.client("rows"), http.account("rows")
    for row in (one for one in rows_of(version) if one["kind"] in LISTED):
        for one in (row, in_state(row, "running")):
            task_id = put_row(http.studio, one, account)
            given = (http.studio, account, task_id, http.base_url, 0.0)
            assert unsigned(client.get(f"/tasks/{task_id}").json()) == unsigned(plain(task_view(*given)))
            if row["kind"] == "conversion":
                answer = client.get(f"/check-task/{task_id}").json()
                assert unsigned(answer) == unsigned(plain(conversion_view(*given)))
    put_row(http.studio, in_state(rows_of(version)[0], "cancelled"), account)


def unsigned(value):
    """An answer with the keys of its links, whose signatures change with the time."""
    if isinstance(value, dict):
        return {name: unsigned(one) for name, one in value.items()}
    if isinstance(value, list):
        return [unsigned(one) for one in value]
    return value.partition("?expires=")[0] if isinstance(value, str) else value


def test_check_task_answers_transpositions_that_only_the_page_can_ask_for(http):
    account = http.account("rows")
    row = rows_of(VERSIONS[-1])[0]
    settings = row["result"]["output_settings"] | {"transpose": 2.5}
    task_id = put_row(http.studio, row | {"result": row["result"] | {"output_settings": settings}}, account)
    headers = dict(http.client("rows").headers)
    answer = httpx.get(f"{http.base_url}/check-task/{task_id}", headers=headers, trust_env=False)
    assert answer.json()["output_settings"]["transpose"] == 2.5


def test_answers_that_the_document_does_not_know_are_never_sent(serve, monkeypatch):
    service = serve()
    task_id = put_row(service.studio, rows_of(VERSIONS[-1])[0], service.account("alice"))
    view = conversion_view(service.studio, service.account("alice"), task_id, "", 0.0)
    monkeypatch.setattr("studio.http.routes.conversions.conversion_view", lambda *given: view | {"karaoke": True})
    answer = service.client().get(f"/check-task/{task_id}")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
