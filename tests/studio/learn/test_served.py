import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from studio.languages.reading import read_in
from studio.learn.served import lesson_routes


@pytest.fixture
def client() -> TestClient:
    return TestClient(Starlette(routes=lesson_routes()), base_url="http://studio")


def test_learn_leads_to_the_first_page_under_any_path(client):
    answer = client.get("/learn", follow_redirects=False)
    assert answer.headers["location"] == "learn/"
    first = client.get("/learn/")
    assert first.status_code == 200
    assert "<h1" in first.text
    assert 'href="../"' in first.text
    assert "default-src 'none'" in first.headers["content-security-policy"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fix.html", "text/html"),
        ("learn.css", "text/css"),
        ("pictures/range.png", "image/png"),
        ("sounds/sung.mp3", "audio/mpeg"),
    ],
)
def test_learn_serves_pages_and_what_they_show(client, name, kind):
    answer = client.get(f"/learn/{name}")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith(kind)


def test_learn_lets_a_sound_be_played_from_its_middle(client):
    part = client.get("/learn/sounds/sung.mp3", headers={"Range": "bytes=1000-1999"})
    assert (part.status_code, len(part.content)) == (206, 1000)


@pytest.mark.parametrize(
    "name", ["nothing.html", "../server.py", "contents.py", "%2e%2e/%2e%2e/README.md", "first-conversion.md"]
)
def test_learn_serves_nothing_else(client, name):
    assert client.get(f"/learn/{name}").status_code == 404


def test_learn_speaks_the_language_of_its_reader(client):
    with read_in("ar"):
        assert 'dir="rtl"' in client.get("/learn/").text
