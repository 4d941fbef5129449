"""Errors as problem documents: each with its status and code, and nothing told that was not meant for people."""

import errno
import json
from datetime import date
from typing import Literal

import pytest
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field, ValidationError
from starlette.exceptions import HTTPException

from engine.errors import ArchiveError, AudioError, DatasetError, EngineError, ProfileError, SettingsError, VoiceError
from studio.errors import (
    DiskFull,
    Invalid,
    NotFound,
    NotReadable,
    TooLarge,
    TooMany,
    Unauthorised,
    Unavailable,
    WrongState,
)
from studio.http.errors import INTERNAL, MEDIA_TYPE, problem_of

SENTENCE = "This is wrong: do that."


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Unauthorised(SENTENCE), 401, "unauthorised"),
        (NotFound(SENTENCE, "task_not_found"), 404, "task_not_found"),
        (WrongState(SENTENCE), 409, "wrong_state"),
        (TooLarge(SENTENCE), 413, "too_large"),
        (NotReadable(SENTENCE, "not_a_zip"), 415, "not_a_zip"),
        (AudioError(SENTENCE), 415, "audio_not_readable"),
        (Invalid([("epochs", SENTENCE)]), 422, "invalid"),
        (ProfileError([("name", SENTENCE)]), 422, "profile_invalid"),
        (ArchiveError(SENTENCE), 422, "archive_refused"),
        (DatasetError(SENTENCE), 422, "dataset_refused"),
        (VoiceError(SENTENCE), 422, "voice_refused"),
        (SettingsError(SENTENCE), 422, "invalid"),
        (EngineError(SENTENCE), 422, "refused"),
        (TooMany(SENTENCE, 10.0), 429, "too_many"),
        (Unavailable(SENTENCE, 2.0, "database_busy"), 503, "database_busy"),
        (DiskFull(SENTENCE), 507, "disk_full"),
    ],
)
def test_problem_of_gives_each_error_a_status_and_code(error, status, code):
    problem = problem_of(error)
    assert (problem.status, problem.code, problem.detail) == (status, code, SENTENCE)
    response = problem.response()
    document = json.loads(response.body)
    assert response.headers["content-type"] == MEDIA_TYPE
    assert document["type"] == f"/docs#{code}"
    assert document["status"] == response.status_code == status
    assert document["title"]


def test_problem_of_names_wrong_fields():
    errors = problem_of(Invalid([("epochs", "epochs is missing."), ("model", "model is missing.")])).as_json()["errors"]
    assert errors == [
        {"field": "epochs", "message": "epochs is missing."},
        {"field": "model", "message": "model is missing."},
    ]
    assert problem_of(ProfileError([("consent.date", SENTENCE)])).as_json()["errors"][0]["field"] == "consent.date"
    assert "errors" not in problem_of(NotFound(SENTENCE)).as_json()


def test_problem_of_sets_retry_authenticate_and_allow_headers():
    assert problem_of(TooMany(SENTENCE, 9.2)).headers["Retry-After"] == "10"
    assert problem_of(Unavailable(SENTENCE, 0.0)).headers["Retry-After"] == "1"
    assert problem_of(Unauthorised(SENTENCE)).headers["WWW-Authenticate"].startswith("Bearer ")
    assert problem_of(HTTPException(405, headers={"Allow": "GET"})).headers["Allow"] == "GET"


@pytest.mark.parametrize(
    "error", [RuntimeError("the password is swordfish"), KeyError("swordfish"), OSError(5, "swordfish")]
)
def test_problem_of_hides_unexpected_errors(error):
    document = problem_of(error).as_json()
    assert document["detail"] == INTERNAL
    assert (document["status"], document["code"]) == (500, "internal")
    assert "swordfish" not in json.dumps(document)


@pytest.mark.parametrize(("status", "code"), [(404, "no_such_path"), (405, "method_not_allowed"), (408, "too_slow")])
def test_problem_of_gives_framework_errors_a_status_and_code(status, code):
    problem = problem_of(HTTPException(status))
    assert (problem.status, problem.code) == (status, code)
    assert problem.detail.endswith(".") or status == 408


class _Query(BaseModel):
    limit: int = Field(50, ge=1, le=100)
    cursor: str = Field("", max_length=3, pattern="^[a-z]*$")
    base_language: str = Field("en", pattern="^[a-z]{2}$")
    state: Literal["queued", "running"] = "queued"
    when: date | None = None


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("limit", "many", "limit must be a whole number."),
        ("limit", "1.5", "limit must be a whole number."),
        ("limit", "0", "limit must be at least 1."),
        ("limit", "101", "limit must be at most 100."),
        ("cursor", "abcd", "cursor must have at most 3 characters."),
        ("cursor", "A", "cursor has the wrong format, see /docs."),
        ("base_language", "EN", "base_language must be two lowercase letters, such as en."),
        ("state", "lost", "state must be 'queued' or 'running'."),
        ("when", "{0} {gt}", "when has the wrong format, see /docs."),
    ],
)
def test_problem_of_names_wrong_parameters_in_plain_words(name, value, told):
    with pytest.raises(ValidationError) as caught:
        _Query.model_validate({name: value})
    errors = [one | {"loc": ("query", *one["loc"])} for one in caught.value.errors()]
    assert problem_of(RequestValidationError(errors)).as_json()["errors"] == [{"field": name, "message": told}]


def test_problem_of_reports_a_full_disk_as_507_also_as_a_cause():
    problem = problem_of(OSError(errno.ENOSPC, "No space left on device", "/home/somebody/work"))
    assert (problem.status, problem.code) == (507, "disk_full")
    assert "somebody" not in json.dumps(problem.as_json())
    told = VoiceError("The package could not be written: the disk is full.")
    told.__cause__ = OSError(errno.ENOSPC, "No space left on device")
    assert problem_of(told).status == 507
