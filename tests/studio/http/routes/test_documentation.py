"""The service's document: complete, and true of what the service does."""

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi import checks
from typer.main import get_command

from engine.conversion.settings import ConversionSettings
from studio.commands.cli import app
from studio.http.routes.song_fields import SONG_FIELDS
from studio.store.catalogue import add_model

PUBLISHED = Path(__file__).with_name("openapi.json")  # as published, without the version
EXAMPLES = 10  # of each call, right ones and wrong ones
PATHS = {
    "POST": """
        /convert /models/create /models/{model_id}/train /models/{model_id}/teach /callbacks/{callback_id}/repeat
        /v1/audio/conversions /v1/audio/speech /tasks/{task_id}/comp /models/import /verify
    """,
    "GET": """
        /check-task/{task_id} /models /tasks /tasks/{task_id} /tasks/{task_id}/events /callbacks /callbacks/secret
        /callbacks/{callback_id} /v1/models /v1/models/{model_id} /v1/audio/voices /models/{model_id}
        /models/{model_id}/package /health /metrics /files/{key} /projects /projects/{project_id}
        /projects/{project_id}/export
    """,
    "DELETE": "/tasks/{task_id} /tasks/{task_id}/results /models/{model_id} /projects/{project_id}",
    "PUT": "/tasks/{task_id}/takes/{number} /projects/{project_id}",
    "HEAD": "/files/{key}",
}
CALLS = {(method, path) for method, paths in PATHS.items() for path in paths.split()}


@pytest.fixture(scope="module")
def document(http) -> dict:
    return http.stranger().get("/openapi.json").json()


@pytest.fixture(scope="module")
def api(http, document):
    """The document, as the fuzzer reads it, and the service that it is held against."""
    schema = schemathesis.openapi.from_dict(document)
    schema.config.update(base_url=http.base_url)
    return schema


def operations(document: dict):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield method.upper(), path, operation


def test_openapi_document_contains_every_call(document):
    assert {(method, path) for method, path, _ in operations(document)} == CALLS
    assert document["openapi"].startswith("3.1")


def test_openapi_document_is_as_published(document):
    published = json.loads(PUBLISHED.read_text(encoding="utf-8"))
    assert {**document, "info": {**document["info"], "version": ""}} == {
        **published,
        "info": {**published["info"], "version": ""},
    }


def test_openapi_document_describes_every_call_and_its_errors(document):
    ids = set()
    for method, path, operation in operations(document):
        ids.add(operation["operationId"])
        assert re.fullmatch("[a-z]+(_[a-z]+)*", operation["operationId"])  # as programs name functions, not paths
        assert 1 < len(operation["summary"].split()) < 8, path
        assert operation.get("description"), path
        open_to_all = path in ("/health", "/files/{key}")
        assert operation.get("security", document["security"]) == ([] if open_to_all else [{"token": []}])
        assert ("401" in operation["responses"]) is not open_to_all
        assert "503" in operation["responses"]
        if method == "POST":
            assert {"413", "415", "422", "507"} <= set(operation["responses"])
            assert operation["requestBody"]["required"]
        for status, told in operation["responses"].items():
            assert told["description"]
            if int(status) >= 400:
                assert list(told["content"]) == ["application/problem+json"]
    assert len(ids) == len(CALLS)
    assert document["components"]["securitySchemes"]["token"] == {"type": "http", "scheme": "bearer"}


def test_openapi_document_has_no_missing_schemas(document):
    for reference in set(re.findall(r"#/components/schemas/(\w+)", str(document))):
        assert reference in document["components"]["schemas"]
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_openapi_document_describes_the_published_fields_exactly(document):
    convert = document["paths"]["/convert"]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
    ours = {"preset", "untrained", "effects", "callback_url", "rate", "bits", "track", *SONG_FIELDS}
    ours |= {one.name for one in fields(ConversionSettings)} - {"transpose", "takes"}
    assert set(convert["properties"]) - ours == {"audio", "model", "transpose", "generations_count"}
    assert ours < set(convert["properties"])
    assert convert["required"] == ["audio", "model"]
    train = document["paths"]["/models/{model_id}/train"]["post"]["requestBody"]["content"]
    assert set(train) == {"multipart/form-data", "application/x-www-form-urlencoded", "application/json"}
    voice = document["components"]["schemas"]["Voice"]
    assert set(voice["properties"]) == set(
        "id name gender age description base_language traits genre voice_type vocal_range".split()
    )


def test_markdown_has_every_call_with_its_fields(http, document):
    text = http.stranger().get("/docs.md")
    assert text.headers["content-type"].startswith("text/markdown")
    sections = dict(one.split("\n", 1) for one in text.text.split("\n### ")[1:])
    assert len(sections) == len(CALLS)
    for method, path, operation in operations(document):
        section = sections[operation["summary"]]
        assert f"`{method} {path}`" in section
        for content in operation.get("requestBody", {}).get("content", {}).values():
            assert all(f"\n| {name}" in section for name in content["schema"]["properties"])
        for table in re.findall(r"(?:^\|.*\n)+", section, re.MULTILINE):
            rows = {len(re.findall(r"(?<!\\)\|", row)) for row in table.splitlines()}
            assert rows == {4}, table
    assert "| epochs (required) | integer 1 to 100000 |" in sections["Train a voice"]


def test_llms_txt_names_every_call_and_links_to_the_documentation(http):
    text = http.stranger().get("/llms.txt").text
    assert text.startswith("# Timbre Studio\n\n> ")
    for method, path in CALLS:
        assert f"`{method} {path}`" in text
    links = re.findall(r"\]\((\S+)\)", text)
    assert len(links) == 3
    for link in links:
        assert http.stranger().get(link).status_code == 200


def test_skill_has_a_head_that_assistants_read_and_commands_that_are_there(http):
    text = http.stranger().get("/SKILL.md").text
    _, head, body = text.split("---\n", 2)
    assert head.startswith("name: timbre-studio\ndescription: ")
    assert len(" ".join(head.split())) < 1024
    called = re.findall(r"^timbre-studio (.+?)(?:  +#.*)?$", body, re.MULTILINE)
    assert len(called) == 5
    for command in called:
        root = get_command(app)
        with root.make_context("timbre-studio", command.split()) as context:
            name, below, rest = root.resolve_command(context, context._protected_args + context.args)
            below.make_context(name, list(rest), parent=context)
    for path in re.findall(r"http\S+?(/[a-z-]+)", body):
        assert any(known.startswith(path) for _, known in CALLS) or path == "/docs"


def test_docs_page_loads_nothing_from_other_hosts(http):
    page = http.stranger().get("/docs")
    assert page.headers["content-type"].startswith("text/html")
    for address in re.findall(r'(?:src|href)="([^"]+)"', page.text):
        assert address.startswith(("docs-files/", "data:"))
        if not address.startswith("data:"):
            assert http.stranger().get(f"/{address}").is_success
    assert "'self'" in page.headers["content-security-policy"]
    assert b"SwaggerUIBundle" in http.stranger().get("/docs-files/swagger-ui-bundle.js").content
    for outside in ("/docs-files/../server.py", "/docs-files/%2e%2e/%2e%2e/server.py", "/docs-files/nothing"):
        assert http.stranger().get(outside).status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        *(("DELETE", "/convert", "POST"), ("GET", "/convert", "POST"), ("PUT", "/models", "GET")),
        *(("POST", "/tasks/abc", "DELETE, GET"), ("POST", "/health", "GET, HEAD"), ("TRACE", "/metrics", "GET")),
        *(("PATCH", "/models/kathleen/train", "POST"), ("OPTIONS", "/tasks", "GET"), ("POST", "/docs", "GET")),
        *(("DELETE", "/docs-files/swagger-ui.css", "GET, HEAD"), ("PUT", "/models/create", "POST")),
        *(("GET", "/models/create", "POST"), ("DELETE", "/models/import", "POST")),  # there are no such voices
    ],
)
def test_routes_list_the_allowed_methods_for_a_wrong_method(http, method, path, allowed):
    answer = http.client().request(method, path)
    assert (answer.status_code, answer.json()["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == allowed


METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE", "TRACE")


def test_every_address_names_the_methods_it_takes_and_no_others(http):
    """/models/create named GET and DELETE, which it does not take."""
    addresses = [re.sub(r"{number}", "1", path) for path in http.stranger().get("/openapi.json").json()["paths"]]
    for path in (*(re.sub(r"[{}]", "", one) for one in addresses), "/docs", "/openapi.json", "/docs-files/x"):
        answers = {method: http.client().request(method, path) for method in METHODS}
        taken = {method for method, answer in answers.items() if answer.status_code != 405}
        named = {answer.headers["allow"] for answer in answers.values() if answer.status_code == 405}
        assert named == {", ".join(sorted(taken))}, path


def test_get_models_create_shows_a_voice_of_that_name(http):
    client, account = http.client("creator"), http.account("creator")
    with http.studio.database.write() as connection:
        add_model(connection, http.studio.storage, account, {"name": "Create"}, "pending")
    assert client.get("/models/create").json()["name"] == "Create"
    assert client.delete("/models/create").status_code == 204
    assert client.delete("/models/create").status_code == 405


@pytest.mark.parametrize("path", ["/models/a/b", "/convert/x", "/check-task", "/tasks/a/b", "/models/", "/no", "/"])
def test_unknown_paths_return_no_such_path(http, path):
    answer = http.client().get(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "no_such_path")


def test_routes_accept_extra_leading_slashes(http):
    """And be put before a path that begins with one, as many programs do."""
    for path in ("//models", "///tasks"):
        assert http.client().get(f"{http.base_url}{path}").status_code == 200
    assert http.stranger().get(f"{http.base_url}//models").status_code == 401


# ---- held against the service

# An id that is none is unknown, which this takes for acceptance; a form's fields are all text, which it does not know.
UNFIT = [checks.negative_data_rejection, checks.positive_data_acceptance]


@pytest.mark.parametrize(
    ("mode", "method", "path"),
    [
        (mode, method, path)
        for mode in schemathesis.GenerationMode
        for method, path in sorted(CALLS)
        if mode.is_positive or path not in ("/health", "/metrics")  # with which nothing can be done wrongly
    ],
)
@pytest.mark.system
def test_routes_conform_to_the_openapi_document(http, api, mode, method, path):
    token = http.client("fuzzer").headers["authorization"]

    @given(case=api[path][method].as_strategy(generation_mode=mode))
    @settings(max_examples=EXAMPLES, derandomize=True, suppress_health_check=list(HealthCheck))
    def holds(case):
        case.call_and_validate(headers={"Authorization": token}, excluded_checks=UNFIT)

    holds()
