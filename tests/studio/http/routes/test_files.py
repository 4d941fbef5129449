"""Files by signed links: in whole, in parts, and for nobody without the link."""

import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from studio.errors import Unavailable
from studio.http.routes.files import Part, Unsatisfiable, is_unchanged, wanted_part

CONTENT = bytes(range(256)) * 8000
KEY = "tasks/abc/1/take 1 ü.wav"
ETAG = '"abc"'
MODIFIED_S = 1_700_000_000.75
SIZE = 10_000


@pytest.fixture(scope="module")
def link(http) -> str:
    """A link to a file of two megabytes."""
    http.studio.storage.put_bytes(CONTENT, KEY)
    return http.studio.link(KEY, http.base_url, time.time())


def test_files_serves_a_whole_file_with_its_headers(http, link):
    answer = http.stranger().get(link)
    assert (answer.status_code, answer.content) == (200, CONTENT)
    expected = {
        "content-type": "audio/wav",
        "accept-ranges": "bytes",
        "content-length": str(len(CONTENT)),
        "content-disposition": "inline",  # so it is called as its link says, or else as its address ends
        "x-content-type-options": "nosniff",
    }
    assert answer.headers.items() >= expected.items()
    assert answer.headers["etag"].startswith('"')
    head = http.stranger().head(link)
    assert (head.status_code, head.content) == (200, b"")
    same = ("content-length", "content-type", "etag", "last-modified", "accept-ranges")
    assert [head.headers[name] for name in same] == [answer.headers[name] for name in same]


@pytest.mark.parametrize(
    ("name", "media_type"),
    [
        *(("note.png", "image/png"), ("curves.json", "application/json"), ("notes.mid", "application/octet-stream")),
        *(("page.html", "application/octet-stream"), ("picture.svg", "application/octet-stream")),
    ],
)
def test_files_serves_png_and_json_as_such_but_midi_html_and_svg_as_octet_stream(http, name, media_type):
    http.studio.storage.put_bytes(b"{}", f"tasks/abc/1/{name}")
    answer = http.stranger().get(http.studio.link(f"tasks/abc/1/{name}", http.base_url, time.time()))
    assert (answer.status_code, answer.headers["content-type"], answer.content) == (200, media_type, b"{}")
    assert answer.headers["content-security-policy"] == "default-src 'none'; sandbox"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize(
    ("asked", "start", "stop"),
    [
        *(("bytes=0-0", 0, 1), ("bytes=100-299", 100, 300), ("bytes=2047990-", 2_047_990, 2_048_000)),
        *(("bytes=-5", 2_047_995, 2_048_000), ("bytes=0-9999999999", 0, 2_048_000)),
        ("bytes=1000-1500000", 1000, 1_500_001),
    ],
)
def test_files_serves_the_requested_byte_range(http, link, asked, start, stop):
    for method in ("GET", "HEAD"):
        answer = http.stranger().request(method, link, headers={"Range": asked})
        assert answer.status_code == 206
        assert answer.headers["content-range"] == f"bytes {start}-{stop - 1}/{len(CONTENT)}"
        assert answer.headers["content-length"] == str(stop - start)
        assert answer.content == (CONTENT[start:stop] if method == "GET" else b"")


def test_files_returns_416_for_an_unsatisfiable_range(http, link):
    for asked in ("bytes=2048000-", "bytes=-0"):
        answer = http.stranger().get(link, headers={"Range": asked})
        assert (answer.status_code, answer.json()["code"]) == (416, "range_not_satisfiable")
        assert answer.headers["content-range"] == f"bytes */{len(CONTENT)}"
    assert http.stranger().get(link, headers={"Range": "bytes=9-5"}).status_code == 200


def test_files_does_not_resend_cached_content(http, link):
    client = http.stranger()
    etag = client.head(link).headers["etag"]
    modified = client.head(link).headers["last-modified"]
    for headers in ({"If-None-Match": etag}, {"If-Modified-Since": modified}):
        answer = client.get(link, headers=headers)
        assert (answer.status_code, answer.content) == (304, b"")
    resumed = client.get(link, headers={"Range": "bytes=5-9", "If-Range": etag})
    assert (resumed.status_code, resumed.content) == (206, CONTENT[5:10])
    changed = client.get(link, headers={"Range": "bytes=5-9", "If-Range": '"other"'})
    assert (changed.status_code, len(changed.content)) == (200, len(CONTENT))


def test_files_serves_an_empty_file(http):
    http.studio.storage.put_bytes(b"", "tasks/abc/1/empty.wav")
    answer = http.stranger().get(http.studio.link("tasks/abc/1/empty.wav", http.base_url, time.time()))
    assert (answer.status_code, answer.content, answer.headers["content-length"]) == (200, b"", "0")


def test_files_serves_audio_as_audio_but_html_and_svg_as_octet_stream(http):
    for name, media_type in (
        *(("a.html", "application/octet-stream"), ("a.svg", "application/octet-stream")),
        *(("a", "application/octet-stream"), ("a.flac", "audio/flac")),
    ):
        http.studio.storage.put_bytes(b"<script>", f"tasks/abc/1/{name}")
        answer = http.stranger().get(http.studio.link(f"tasks/abc/1/{name}", http.base_url, time.time()))
        assert answer.headers["content-type"] == media_type
        assert "sandbox" in answer.headers["content-security-policy"]


def test_files_refuses_requests_without_the_right_link(http, link):
    client = http.stranger()
    path, _, query = link.partition("?")
    expires, signature = query.split("&")
    later = f"expires={int(expires.partition('=')[2]) + 3600}"
    other = path.replace("abc", "abd")
    wrong = [
        *(f"{path}?{later}&{signature}", f"{path}?{expires}&signature=x", f"{other}?{query}"),
        f"{path}?expires=x&{signature}",
        *(f"{http.base_url}/files/studio.sqlite?{query}", f"{http.base_url}/files/?{query}"),
        *(f"{http.base_url}/files/%2e%2e/%2e%2e/etc/passwd?{query}", f"{path}%00?{query}"),
    ]
    for address in wrong:
        answer = client.get(address)
        assert (answer.status_code, answer.json()["code"]) == (404, "file_not_found"), address
    assert client.get(path).status_code == 422
    assert client.get(f"{http.base_url}/files/../studio.sqlite?{query}").status_code == 404
    old = http.studio.link(KEY, http.base_url, time.time() - 10 * 24 * 3600)
    assert client.get(old).status_code == 404
    gone = http.studio.link("tasks/abc/1/gone.wav", http.base_url, time.time())
    assert client.get(gone).status_code == 404
    assert client.post(link).status_code == 401


def test_files_returns_503_for_unreachable_storage(http, link, monkeypatch):
    def unreachable(key: str, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        raise Unavailable("The storage cannot be reached.", 2.0, "storage_unreachable")
        yield b""

    monkeypatch.setattr(type(http.studio.storage), "read", lambda self, *given: unreachable(*given))
    answer = http.stranger().get(link)
    assert (answer.status_code, answer.json()["code"]) == (503, "storage_unreachable")
    assert answer.headers["retry-after"] == "2"


def part(text: str | None, size: int = SIZE, **others: str) -> Part | None:
    named = {name.replace("_", "-"): value for name, value in others.items()}
    return wanted_part(Headers(named if text is None else {"range": text} | named), size, ETAG, MODIFIED_S)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("bytes=0-499", Part(0, 500)),
        ("bytes=500-999", Part(500, 1000)),
        ("bytes=-500", Part(9500, 10_000)),
        ("bytes=9500-", Part(9500, 10_000)),
        ("bytes=0-", Part(0, 10_000)),
        ("bytes=0-0", Part(0, 1)),
        ("bytes=-1", Part(9999, 10_000)),
        ("bytes=0-99999", Part(0, 10_000)),
        ("bytes=-99999", Part(0, 10_000)),
        # these count as no range at all
        (None, None),
        ("bytes=5-4", None),
        ("bytes=-", None),
        ("bytes=a-b", None),
        ("bytes=0-1,5-6", None),
        ("lines=0-1", None),
        ("bytes", None),
        ("bytes=\xb2-\xb3", None),
    ],
)
def test_wanted_part_reads_valid_ranges_and_ignores_invalid_ones(text, expected):
    assert part(text) == expected


@pytest.mark.parametrize("text", ["bytes=10000-", "bytes=10000-10001", "bytes=-0", "bytes=" + "9" * 4000 + "-"])
def test_wanted_part_refuses_unsatisfiable_ranges(text):
    with pytest.raises(Unsatisfiable):
        part(text)


def test_wanted_part_refuses_a_range_of_an_empty_file():
    with pytest.raises(Unsatisfiable):
        part("bytes=0-", 0)
    assert part(None, 0) is None


def test_wanted_part_ignores_the_range_if_the_file_has_changed():
    assert part("bytes=0-9", if_range=ETAG) == Part(0, 10)
    assert part("bytes=0-9", if_range='"other"') is None
    assert part("bytes=0-9", if_range=f"W/{ETAG}") is None
    assert part("bytes=0-9", if_range=formatdate(MODIFIED_S, usegmt=True)) == Part(0, 10)
    assert part("bytes=0-9", if_range=formatdate(MODIFIED_S - 5, usegmt=True)) is None
    assert part("bytes=0-9", if_range="nonsense") is None


@pytest.mark.parametrize(
    ("headers", "unchanged"),
    [
        ({}, False),
        ({"if-none-match": ETAG}, True),
        ({"if-none-match": f'"x", W/{ETAG}'}, True),
        ({"if-none-match": "*"}, True),
        ({"if-none-match": '"x"'}, False),
        ({"if-none-match": '"x"', "if-modified-since": formatdate(MODIFIED_S, usegmt=True)}, False),
        ({"if-modified-since": formatdate(MODIFIED_S, usegmt=True)}, True),
        ({"if-modified-since": formatdate(MODIFIED_S - 5, usegmt=True)}, False),
        ({"if-modified-since": "nonsense"}, False),
    ],
)
def test_is_unchanged_follows_if_none_match_and_if_modified_since(headers, unchanged):
    assert is_unchanged(Headers(headers), ETAG, MODIFIED_S) is unchanged


@given(st.one_of(st.text(max_size=40), st.from_regex(r"bytes=\d{0,6}-\d{0,6}", fullmatch=True)), st.integers(0, 3000))
def test_wanted_part_stays_within_the_file_for_any_header(text, size):
    try:
        found = wanted_part(Headers(raw=[(b"range", text.encode("latin-1", "replace"))]), size, ETAG, MODIFIED_S)
    except Unsatisfiable:
        return
    assert found is None or 0 <= found.start < found.stop <= size
