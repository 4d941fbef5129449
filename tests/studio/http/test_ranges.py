"""Parts of files, by the examples and rules of RFC 9110."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.datastructures import Headers

from studio.http.ranges import Part, Unsatisfiable, is_unchanged, wanted_part

ETAG = '"abc"'
MODIFIED_S = 1_700_000_000.75
SIZE = 10_000


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
