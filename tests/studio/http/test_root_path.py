"""Paths below the one that the studio is served under."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from studio.http.root_path import RootPath


async def answer(request):
    return PlainTextResponse(request.scope["raw_path"].decode())


def client(path_prefix: str) -> TestClient:
    return TestClient(RootPath(Starlette(routes=[Route("/{path:path}", answer)]), path_prefix))


@pytest.mark.parametrize(
    ("path_prefix", "asked", "seen"),
    [
        ("", "/studio/models", "/studio/models"),
        ("/studio", "/studio/models", "/models"),
        ("/studio", "/models", "/models"),  # the proxy has removed it
        ("/studio", "/studios/models", "/studios/models"),
        ("/a/b", "/a/b/files/x%20y", "/files/x%20y"),
    ],
)
def test_root_path_removes_the_prefix_once(path_prefix, asked, seen):
    assert client(path_prefix).get(asked).text == seen


def test_root_path_redirects_the_bare_prefix_to_a_trailing_slash():
    answer = client("/studio").get("/studio", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "/studio/")
