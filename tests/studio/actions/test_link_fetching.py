"""Voices by link: fetched whole or not at all, by TLS alone, and never from inside."""

import hashlib

import httpx
import pytest

from engine.errors import Cancelled, SettingsError
from studio.actions.link_fetching import fetch_link, is_link
from studio.errors import TooLarge, Unavailable

LINK = "https://example.com/models/Mia%20II.pth?download=true"
CONTENT = bytes(range(256)) * 100


def fetched(studio, tmp_path, answer, link=LINK, report=lambda fraction, message: None, most=1_000_000):
    def serve(request: httpx.Request) -> httpx.Response:
        return answer(request) if callable(answer) else answer

    return fetch_link(studio, link, tmp_path, report, most, httpx.MockTransport(serve))


def test_fetch_link_writes_the_file_under_its_name_with_its_checksum(studio, tmp_path):
    seen = []
    made = fetched(studio, tmp_path, httpx.Response(200, content=CONTENT), report=lambda *told: seen.append(told))
    assert (made.path.name, made.path.read_bytes()) == ("Mia II.pth", CONTENT)
    assert (made.sha256, made.size) == (hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))
    assert seen[-1] == (1.0, "fetching the voice")


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ("https://e.com/a/..%2f..%2fetc%2fpasswd", "passwd"), ("https://e.com/", "voice"),
        ("https://e.com/%00x.pth", "x.pth"), ("https://e.com/a%5cb.pth", "b.pth"), ("https://e.com/..", "voice"),
        (f"https://e.com/{'x' * 300}.pth", f"{'x' * 96}.pth"),
    ],
)  # fmt: skip
def test_fetch_link_gives_no_link_a_name_that_leads_elsewhere(studio, tmp_path, link, name):
    made = fetched(studio, tmp_path, httpx.Response(200, content=b"x"), link)
    assert made.path == tmp_path / name


def test_fetch_link_follows_redirects_by_tls_only(studio, tmp_path):
    def moved(to):
        return lambda request: (
            httpx.Response(302, headers={"Location": to}) if request.url.host == "example.com" else httpx.Response(200)
        )

    assert fetched(studio, tmp_path, moved("https://cdn.example.net/x")).path.name == "Mia II.pth"
    with pytest.raises(SettingsError, match="https"):
        fetched(studio, tmp_path, moved("http://cdn.example.net/x"))


@pytest.mark.parametrize("to", ["https://127.0.0.1/x", "https://169.254.169.254/latest", "https://localhost/"])
def test_fetch_link_reaches_nothing_inside(studio, tmp_path, to):
    with pytest.raises(SettingsError, match="private network"):
        fetch_link(studio, to, tmp_path, lambda fraction, message: None)


@pytest.mark.parametrize("link", ["http://example.com/mia.pth", "https://user:secret@example.com/mia.pth", "https://"])
def test_fetch_link_refuses_links_that_are_none_or_not_safe(studio, tmp_path, link):
    with pytest.raises(SettingsError):
        fetched(studio, tmp_path, httpx.Response(200), link)


def test_fetch_link_ends_what_is_too_large_announced_or_not(studio, tmp_path):
    with pytest.raises(TooLarge):
        fetched(studio, tmp_path, httpx.Response(200, content=CONTENT), most=1000)
    endless = httpx.Response(200, stream=httpx.ByteStream(CONTENT))
    with pytest.raises(TooLarge):
        fetched(studio, tmp_path, endless, most=1000)


def test_fetch_link_reports_refusals_and_broken_connections_in_one_sentence(studio, tmp_path):
    def broken(request):
        raise httpx.ReadError("broke off")

    with pytest.raises(Unavailable, match="answered 404"):
        fetched(studio, tmp_path, httpx.Response(404))
    with pytest.raises(Unavailable, match="broke off"):
        fetched(studio, tmp_path, broken)


def test_fetch_link_stops_where_the_user_does(studio, tmp_path):
    def stop(fraction, message):
        raise Cancelled

    with pytest.raises(Cancelled):
        fetched(studio, tmp_path, httpx.Response(200, content=CONTENT), report=stop)


def test_is_link_tells_links_from_paths():
    assert is_link(LINK)
    assert is_link("HTTP://x")
    assert not any(map(is_link, ("mia.pth", "https.pth", "/https://x")))
