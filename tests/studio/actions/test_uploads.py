import asyncio
import hashlib
from dataclasses import replace

import httpx
import pytest

from engine.errors import Cancelled, SettingsError
from studio.actions.uploads import fetch_link, is_link, receive_upload
from studio.actions.voices.drafts import add_recordings
from studio.errors import DiskFull, Invalid, TooLarge, Unavailable
from studio.settings.service import MEGABYTE, ServiceSettings

NOW_S = 1_800_000_000.0
LINK = "https://example.com/models/Mia%20II.pth?download=true"
CONTENT = bytes(range(256)) * 100


def large(folder, megabytes: float):
    path = folder / "my vocal.wav"
    with path.open("wb") as file:
        file.truncate(int(megabytes * MEGABYTE))
    return path


@pytest.fixture
def hosted(studio):
    """The studio as one that other machines can reach."""
    return replace(studio, service=ServiceSettings(host="0.0.0.0"))


def test_take_upload_limits_by_disk_space_locally_and_by_size_in_a_demo(studio, tmp_path):
    upload = large(tmp_path, 250)  # 12 minutes of stereo at 24 bit and 48 kHz have 207
    assert receive_upload(studio, upload, tmp_path / "copy").stat().st_size == upload.stat().st_size
    full = replace(studio, service=ServiceSettings(free_disk_mb=10_000_000))
    with pytest.raises(DiskFull):
        receive_upload(full, upload, tmp_path / "another")
    demo = replace(studio, service=ServiceSettings(demo="on", largest_upload_mb=25))
    with pytest.raises(Invalid, match="limit for one upload is 25 MB") as refused:
        receive_upload(demo, upload, tmp_path / "another")
    assert "--largest-upload-mb" not in str(refused.value)  # which no visitor can set


def test_take_upload_refuses_a_large_file_and_names_its_size_and_the_limit(hosted, tmp_path):
    studio = hosted
    with pytest.raises(Invalid, match=r'"my vocal\.wav" has 101 MB; the limit for one upload is 100 MB.*upload-mb'):
        receive_upload(studio, large(tmp_path, 100.2), tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    assert receive_upload(studio, large(tmp_path, 100), tmp_path / "copy").exists()


def test_take_upload_refuses_a_deleted_file(studio, tmp_path):
    with pytest.raises(Invalid, match=r'"gone\.wav" has been deleted: add it again'):
        receive_upload(studio, tmp_path / "gone.wav", tmp_path / "copy")


def test_add_recordings_leaves_out_only_files_over_the_upload_limit(hosted, recording, tmp_path):
    came = add_recordings(hosted, hosted.local, None, [large(tmp_path, 120), recording(2.0)], NOW_S)
    assert came.added == 1
    [told] = came.refused
    assert "limit for one upload is 100 MB" in told


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
        *(("https://e.com/a/..%2f..%2fetc%2fpasswd", "passwd"), ("https://e.com/", "voice")),
        *(("https://e.com/%00x.pth", "x.pth"), ("https://e.com/a%5cb.pth", "b.pth"), ("https://e.com/..", "voice")),
        (f"https://e.com/{'x' * 300}.pth", f"{'x' * 96}.pth"),
    ],
)
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


NONE_OR_NOT_SAFE = [
    *("http://example.com/mia.pth", "https://user:secret@example.com/mia.pth", "https://", "https://xn--/a"),
    *("https://xn--a/a", f"https://{'a' * 64}.com/", "https://a..com/", "https://[fec0::1]/", "https://0x7f.1/"),
    *("https://[::ffff:127.0.0.1]/", "https://user@example.com/", "https://example.com./"),
]
INSIDE = ["https://127.0.0.1/x", "https://169.254.169.254/latest", "https://localhost/"]


@pytest.mark.parametrize(
    ("link", "words"), [*((link, "private network") for link in INSIDE), *((link, None) for link in NONE_OR_NOT_SAFE)]
)
def test_fetch_link_refuses_links_that_are_none_not_safe_or_lead_inside(studio, tmp_path, link, words):
    with pytest.raises(SettingsError, match=words):
        fetched(studio, tmp_path, httpx.Response(200, content=b"x"), link)


JUNK = [
    *("xn--a", "xn--", "xn--ls8h.la", "\ud800.com", "a..b\u2028", "[::1", "%5b"),
    *("a.xn--0.com", "example.com:99999", "a..b"),
]


@pytest.mark.parametrize("name", JUNK)
@pytest.mark.parametrize("is_redirect", [False, True])
def test_fetch_link_refuses_names_that_cannot_be_encoded(studio, tmp_path, name, is_redirect):
    """Those that begin with xn-- were a traceback, given and where a link leads."""

    def moved(request):
        location = f"https://{name}/mia.pth".encode("utf-8", "surrogatepass")
        return httpx.Response(302, headers=[(b"Location", location)])

    link = LINK if is_redirect else f"https://{name}/mia.pth"
    with pytest.raises((SettingsError, Unavailable)) as refused:
        fetched(studio, tmp_path, moved if is_redirect else httpx.Response(200), link)
    assert str(refused.value).endswith(".")
    assert not list(tmp_path.glob("*.pth"))


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "many", "\u0663", "1e3"])
def test_fetch_link_takes_no_length_that_cannot_be_meant(studio, tmp_path, length):
    headers = [(b"Content-Length", length.encode())]
    answer = httpx.Response(200, headers=headers, stream=httpx.ByteStream(CONTENT))
    assert fetched(studio, tmp_path, answer).size == len(CONTENT)


def test_fetch_link_ends_an_answer_that_never_begins(studio, tmp_path, monkeypatch):
    async def trickles(request):
        await asyncio.Event().wait()

    monkeypatch.setattr("studio.actions.uploads._SILENT_S", 0.01)
    with pytest.raises(Unavailable, match="cannot be reached"):
        fetch_link(studio, LINK, tmp_path, lambda fraction, message: None, transport=httpx.MockTransport(trickles))


def broken(request):
    raise httpx.ReadError("broke off")


@pytest.mark.parametrize(
    ("answer", "error", "words"),
    [
        (lambda: httpx.Response(200, content=CONTENT), TooLarge, None),  # it is announced
        (lambda: httpx.Response(200, stream=httpx.ByteStream(CONTENT)), TooLarge, None),
        (lambda: httpx.Response(404), Unavailable, "answered 404"),
        (lambda: broken, Unavailable, "connection was lost"),
    ],
)
def test_fetch_link_ends_what_is_too_large_and_reports_refusals_and_broken_connections(
    studio, tmp_path, answer, error, words
):
    with pytest.raises(error, match=words):
        fetched(studio, tmp_path, answer(), most=len(CONTENT) - 1)


def test_fetch_link_stops_where_the_user_does(studio, tmp_path):
    def stop(fraction, message):
        raise Cancelled

    with pytest.raises(Cancelled):
        fetched(studio, tmp_path, httpx.Response(200, content=CONTENT), report=stop)


def test_is_link_tells_links_from_paths():
    assert is_link(LINK)
    assert is_link("HTTP://x")
    assert not any(map(is_link, ("mia.pth", "https.pth", "/https://x")))
