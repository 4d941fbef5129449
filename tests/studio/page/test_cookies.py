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


def test_visitor_cookies_give_a_browser_one_with_its_first_page(client):
    given = client.get("/").headers["set-cookie"]
    assert given.startswith(f"{DEMO_COOKIE}=")
    assert "HttpOnly" in given
    assert "Secure" not in given
    assert "set-cookie" not in client.get("/").headers
    assert len(client.get("/gradio_api/queue/data").text) == 43


def test_visitor_cookies_come_with_nothing_but_the_page(client):
    assert "set-cookie" not in client.get("/config").headers


def test_visitor_cookies_inside_another_sites_page_are_kept_apart_for_that_site(client):
    given = client.get("/", headers={"X-Forwarded-Proto": "https"}).headers["set-cookie"]
    assert given.endswith("; Secure; SameSite=None; Partitioned")


@pytest.mark.parametrize(
    "header", ["", "other=1", f"{DEMO_COOKIE}=", f"{DEMO_COOKIE}={'x' * 101}", "\x00=;;;", f"{DEMO_COOKIE}"]
)
def test_read_cookie_of_another_kind_is_empty(header):
    assert read_cookie(Headers({"cookie": header}), DEMO_COOKIE) == ""
