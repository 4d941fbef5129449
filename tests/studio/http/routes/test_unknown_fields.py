"""Fields that a call does not have: refused on every route, or named in the answer where the host allows them."""

import json
import re

import pytest

OF_OTHERS = ("/health", "/metrics", "/files/{key}")  # players and monitors add what they like
SOME = dict.fromkeys(("task_id", "project_id", "callback_id"), "0" * 24)
SOME |= {"model_id": "kathleen", "number": "1", "key": "a"}


def calls(http) -> list[tuple[str, str, dict]]:
    """(method, address, operation) of every call that needs a token."""
    document = http.app.openapi()
    return [
        (method.upper(), re.sub(r"\{(\w+)\}", lambda name: SOME[name[1]], path), operation)
        for path, methods in document["paths"].items()
        if path not in OF_OTHERS
        for method, operation in methods.items()
    ]


def refused(answer, **expected: str) -> None:
    assert (answer.status_code, answer.json()["code"]) == (422, "unknown_field"), answer.text
    assert {one["field"]: one["message"] for one in answer.json()["errors"]} == expected


def test_every_call_refuses_an_unknown_parameter_of_its_address(http):
    found = calls(http)
    assert len(found) > 20
    for method, path, _ in found:
        answer = http.client().request(method, path, params={"qqqq": "1"})
        refused(answer, qqqq="qqqq is not a field of this call.")


def test_every_form_refuses_an_unknown_field_and_file(http):
    forms = [(method, path) for method, path, operation in calls(http) if "requestBody" in operation]
    assert len(forms) > 7
    for method, path in forms:
        text = http.client().request(method, path, files={"qqqq": (None, "1")})
        file = http.client().request(method, path, files={"qqqq": ("a.wav", b"RIFF")})
        for answer in (text, file):
            refused(answer, qqqq="qqqq is not a field of this call.")


def test_every_form_accepts_each_field_of_its_document(http):
    for method, path, operation in calls(http):
        for content in operation.get("requestBody", {}).get("content", {}).values():
            for name, one in content["schema"]["properties"].items():
                value = ("a.wav", b"x") if one.get("format") == "binary" else (None, "")
                for known in (name, *one.get("x-also", ())):
                    answer = http.client("knows").request(method, path, files={known: value})
                    assert answer.json().get("code") != "unknown_field", (path, known)


def test_calls_name_the_parameter_that_was_meant(http, singing):
    files = {"audio": ("a.flac", singing.read_bytes())}
    answer = http.client().post("/convert?likeness=0.1", files=files, data={"model": "kathleen"})
    refused(answer, likeness="likeness is a field of the form: send it there, not in the address.")
    answer = http.client().get("/models?gendr=male")
    refused(answer, gendr="gendr is not a field of this call: did you mean gender?")


@pytest.mark.parametrize("given", ["limit=2&limit=3", "limit=2&limit=2"])
def test_calls_refuse_a_parameter_given_twice(http, given):
    answer = http.client().get(f"/models?{given}")
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid")
    assert answer.json()["errors"] == [{"field": "limit", "message": "limit is given more than once."}]


def test_convert_takes_either_name_of_the_number_of_takes(http, singing):
    client = http.client("takes")

    def convert(**fields: str):
        files = {"audio": ("a.flac", singing.read_bytes())}
        return client.post("/convert", files=files, data={"model": "kathleen"} | fields)

    for fields, takes in (
        *(({"takes": "3"}, 3), ({"generations_count": "2"}, 2), ({"takes": "4", "generations_count": "4"}, 4)),
        *(({"takes": "", "generations_count": "2"}, 2), ({}, 1)),
    ):
        answer = convert(**fields)
        assert answer.status_code == 200, answer.text
        task = client.get(f"/tasks/{answer.json()['task_id']}").json()
        assert task["settings"]["takes"] == takes
        client.delete(f"/tasks/{task['id']}")
    [problem] = convert(takes="2", generations_count="3").json()["errors"]
    assert problem == {"field": "takes", "message": "takes is the same as generations_count: send one of them."}
    assert convert(takes="11").json()["errors"][0]["field"] == "takes"


def test_unknown_fields_are_ignored_and_named_where_the_host_allows_them(serve, singing):
    client = serve(allow_unknown_fields="on").client()
    files = {"audio": ("a.flac", singing.read_bytes()), "picture": ("a.png", b"x" * 100_000)}
    given = {"model": "kathleen", "likenes": "0.1", "x\r\nSet-Cookie: a": "b"}
    parts = [*files.items(), *((name, (None, value)) for name, value in given.items())]
    answer = client.post("/convert?takes=3", files=parts)
    assert answer.status_code == 200, answer.text
    assert answer.headers["ignored-fields"].split(", ")[:3] == ["takes", "picture", "likenes"]
    assert "set-cookie" not in answer.headers
    assert client.get(f"/tasks/{answer.json()['task_id']}").json()["settings"]["takes"] == 1
    assert client.get("/models?limit=1&page=2").headers["ignored-fields"] == "page"
    wrong = client.post("/models/kathleen/train", json={"epochs": 0, "seed": 1})
    assert (wrong.status_code, wrong.headers["ignored-fields"]) == (422, "seed")
    assert "ignored-fields" not in client.get("/models").headers


def test_links_and_health_checks_may_carry_parameters_of_others(http):
    assert http.stranger().get("/health?probe=1").status_code == 200
    assert http.client().get("/metrics?probe=1").status_code == 200
    gone = http.stranger().get("/files/a.wav?expires=1&signature=x&t=5")
    assert gone.json()["code"] != "unknown_field"


def test_forms_refuse_a_text_for_a_file(http):
    given = {"package": ("a.pth", b"x"), "index": (None, "a.index")}
    problems = http.client().post("/models/import", files=given).json()["errors"]
    assert problems == [{"field": "index", "message": "index must be a file: with curl, -F index=@FILE."}]


def test_json_bodies_refuse_a_name_given_twice(http):
    body, headers = '{"epochs": 1, "epochs": 2}', {"Content-Type": "application/json"}
    answer = http.client().post("/models/kathleen/train", content=body, headers=headers)
    assert answer.json()["errors"] == [{"field": "epochs", "message": "epochs is given more than once."}]
    assert json.loads(body) == {"epochs": 2}  # what would have counted
