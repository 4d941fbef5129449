import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from studio.page.cookies import DEMO_COOKIE, VisitorCookies, read_cookie, visitor_of


@pytest.fixture
def client():
    app = Starlette(routes=[Route("/{rest:path}", lambda request: PlainTextResponse(visitor_of(request.scope)))])
    return TestClient(VisitorCookies(app), base_url="http://testserver")


def test_visitor_cookies_are_set_once_with_the_first_page(client):
    given = client.get("/").headers["set-cookie"]
    assert given.startswith(f"{DEMO_COOKIE}=")
    assert "HttpOnly" in given
    assert "Secure" not in given
    assert "set-cookie" not in client.get("/").headers
    assert len(client.get("/gradio_api/queue/data").text) == 43


def test_visitor_cookies_are_set_only_with_the_page(client):
    assert "set-cookie" not in client.get("/config").headers


def test_visitor_cookies_over_https_are_secure_and_partitioned(client):
    given = client.get("/", headers={"X-Forwarded-Proto": "https"}).headers["set-cookie"]
    assert given.endswith("; Secure; SameSite=None; Partitioned")


@pytest.mark.parametrize(
    "header", ["", "other=1", f"{DEMO_COOKIE}=", f"{DEMO_COOKIE}={'x' * 101}", "\x00=;;;", f"{DEMO_COOKIE}"]
)
def test_read_cookie_returns_nothing_for_a_missing_or_invalid_cookie(header):
    assert read_cookie(Headers({"cookie": header}), DEMO_COOKIE) == ""
