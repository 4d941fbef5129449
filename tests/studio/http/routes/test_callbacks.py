"""Callbacks over HTTP: asked for by each call that starts work, listed, shown, and repeated."""

import pytest

from studio.store.callback_signatures import secret_of_account

URL = "https://example.com/done"


def convert(client, singing, url=URL, **headers):
    files = {"audio": (singing.name, singing.read_bytes())}
    return client.post("/convert", files=files, data={"model": "kathleen", "callback_url": url}, headers=headers)


def test_convert_with_a_callback_answers_as_published_and_lists_it(http, singing):
    client = http.client("callback")
    answer = convert(client, singing)
    assert (answer.status_code, list(answer.json())) == (200, ["task_id"])
    [found] = client.get("/callbacks").json()["callbacks"]
    assert (found["task_id"], found["url"], found["state"]) == (answer.json()["task_id"], URL, "waiting")
    assert client.get(f"/callbacks/{found['id']}").json() == found
    narrowed = {"task_id": found["task_id"], "state": "waiting"}
    assert client.get("/callbacks", params=narrowed).json()["callbacks"] == [found]
    assert client.get("/callbacks?state=failed").json()["callbacks"] == []
    assert http.client("stranger").get("/callbacks").json() == {"callbacks": [], "next_cursor": None}
    client.delete(f"/tasks/{found['task_id']}")


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://localhost/", "ftp://example.com/", "nonsense"])
def test_callback_that_must_not_be_called_is_refused_before_anything_starts(http, singing, url):
    client = http.client("callback inside")
    refused = convert(client, singing, url)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "callback_url")
    assert client.get("/tasks").json()["tasks"] == []


def test_callbacks_can_be_allowed_anywhere_or_switched_off(serve, singing):
    anywhere = serve(callbacks="any")
    assert convert(anywhere.client(), singing, "http://127.0.0.1:9/").status_code == 200
    off = serve(callbacks="off", lease_s=30.0)
    assert convert(off.client(), singing).json()["detail"].startswith("Callbacks are switched off here")


def test_every_call_that_starts_work_takes_a_callback(http):
    document = http.app.openapi()
    taking = {
        path
        for path, methods in document["paths"].items()
        for content in methods.get("post", {}).get("requestBody", {}).get("content", {}).values()
        if "callback_url" in content["schema"]["properties"]
    }
    assert taking == {
        *("/convert", "/tasks/{task_id}/comp", "/models/create", "/models/{model_id}/train"),
        *("/models/{model_id}/teach", "/callbacks/{callback_id}/repeat", "/v1/audio/conversions"),
    }


def test_repeat_sends_again_also_to_another_address(http, singing):
    client = http.client("callback again")
    task_id = convert(client, singing).json()["task_id"]
    [found] = client.get("/callbacks").json()["callbacks"]
    again = client.post(f"/callbacks/{found['id']}/repeat", data={"callback_url": "https://example.org/x"})
    assert (again.json()["url"], again.json()["attempts"]) == ("https://example.org/x", 0)
    assert client.post(f"/callbacks/{found['id']}/repeat").json()["url"] == "https://example.org/x"
    refused = client.post(f"/callbacks/{found['id']}/repeat", data={"callback_url": "http://10.0.0.1/"})
    assert refused.status_code == 422
    for client_of, address in ((http.client("stranger"), found["id"]), (client, "0" * 24), (client, "%20")):
        answer = client_of.post(f"/callbacks/{address}/repeat")
        assert (answer.status_code, answer.json()["code"]) == (404, "callback_not_found")
    client.delete(f"/tasks/{task_id}")


def test_secret_is_that_of_the_account(http):
    secret = http.client("secretive").get("/callbacks/secret").json()["secret"]
    assert secret == secret_of_account(http.studio.link_secret, http.account("secretive").id)
    assert secret != http.client("stranger").get("/callbacks/secret").json()["secret"]
    assert http.stranger().get("/callbacks/secret").status_code == 401
