import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from studio.http.origin_guard import OriginGuard, is_https
from studio.settings.service import DEMO, ServiceSettings, is_for_this_machine


@pytest.mark.parametrize(
    ("given", "is_so"),
    [
        ({}, True),
        ({"host": "localhost"}, True),
        ({"host": "::1"}, True),
        ({"base_url": "http://localhost:7860"}, True),
        ({"base_url": "http://[::1]:7860"}, True),
        ({"host": "0.0.0.0"}, False),
        ({"host": "192.168.1.5"}, False),
        ({"base_url": "https://studio.example"}, False),
    ],
)
def test_is_for_this_machine_only_with_a_loopback_host_and_base_url(given, is_so):
    assert is_for_this_machine(ServiceSettings(**given)) is is_so


def asked(service: ServiceSettings, host: str) -> TestClient:
    app = Starlette(
        routes=[Route("/{rest:path}", lambda request: PlainTextResponse(request.headers.get("origin", "")))]
    )
    guarded = OriginGuard(app, guarded={"models"}, service=service)
    return TestClient(guarded, base_url=f"http://{host}")


LOCAL = ServiceSettings()
PUBLIC = ServiceSettings(host="0.0.0.0", base_url="https://voices.example")
LAN = ServiceSettings(host="0.0.0.0")


@pytest.mark.parametrize(
    ("service", "host", "origin", "passes"),
    [
        (LOCAL, "localhost:7860", "http://localhost:7860", True),
        (LOCAL, "localhost:7860", "http://localhost:3000", False),  # another program's page on this machine
        (LOCAL, "localhost:7860", "http://localhost", False),
        (LOCAL, "localhost:7860", "http://127.0.0.1:7860", False),
        (LOCAL, "127.0.0.1", "http://127.0.0.1:80", True),
        (LOCAL, "localhost:7860", "null", False),
        (PUBLIC, "voices.example", "https://voices.example", True),
        (PUBLIC, "voices.example", "https://VOICES.example:443", True),
        (PUBLIC, "10.0.0.11:7860", "https://voices.example", True),  # a proxy that keeps its own name
        (PUBLIC, "voices.example", "http://voices.example", False),  # could be anybody's in the network
        (PUBLIC, "voices.example", "https://blog.voices.example", False),
        (PUBLIC, "voices.example", "https://voices.example:8443", False),
        (PUBLIC, "voices.example", "https://voices.example.evil.test", False),
        (PUBLIC, "voices.example", "https://evil.test", False),
        (PUBLIC, "voices.example", "[", False),
        (LAN, "192.168.1.5:7860", "http://192.168.1.5:7860", True),
        (LAN, "192.168.1.5:7860", "http://192.168.1.6:7860", False),
        (DEMO, "demo.example", "https://demo.example", True),
        (DEMO, "demo.example", "https://host.example", False),
    ],
)
def test_origin_guard_accepts_only_its_own_origin(service, host, origin, passes):
    client, preflight = asked(service, host), {"Access-Control-Request-Method": "POST"}
    for method, headers in (("POST", {}), ("GET", {}), ("OPTIONS", preflight)):
        answer = client.request(method, "/config", headers={"Origin": origin} | headers)
        assert (answer.status_code != 403) is passes, method
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_origin_guard_hides_the_origin_from_gradio():
    """It would answer with CORS headers."""
    assert asked(LOCAL, "localhost:7860").get("/config", headers={"Origin": "http://localhost:7860"}).text == ""


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("service", [LOCAL, LAN])
def test_origin_guard_accepts_links_of_other_sites_but_no_posts_or_embeds(service, site):
    client = asked(service, "localhost:7860")
    link = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
    assert client.get("/", headers=link).status_code == 200
    assert client.post("/logout", headers=link).status_code == 403
    assert client.get("/config", headers=link | {"Sec-Fetch-Mode": "no-cors"}).status_code == 403
    assert client.get("/models", headers=link | {"Sec-Fetch-Mode": "no-cors"}).status_code == 200  # requires a token


@pytest.mark.parametrize(("service", "status"), [(LOCAL, 405), (LAN, 403), (PUBLIC, 403), (DEMO, 403)])
def test_origin_guard_requires_an_origin_for_changes_except_on_this_machine(service, status):
    assert asked(service, "localhost:7860").post("/config").status_code == status


@pytest.mark.parametrize(("service", "framed"), [(LOCAL, "SAMEORIGIN"), (LAN, "SAMEORIGIN"), (DEMO, None)])
def test_origin_guard_allows_frames_of_other_sites_only_for_a_demo(service, framed):
    assert asked(service, "localhost:7860").get("/").headers.get("X-Frame-Options") == framed


@pytest.mark.parametrize(
    ("base_url", "headers", "is_so"),
    [
        ("", {}, False),
        ("", {"X-Forwarded-Proto": "https, http"}, True),
        ("https://voices.example", {"Host": "voices.example"}, True),
        ("https://voices.example", {"Host": "10.0.0.11"}, False),
        ("http://voices.example", {"Host": "voices.example"}, False),
    ],
)
def test_is_https_follows_forwarded_proto_and_a_matching_base_url(base_url, headers, is_so):
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    assert is_https({"type": "http", "scheme": "http", "headers": encoded}, base_url) is is_so
