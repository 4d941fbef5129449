"""Streams of events as the HTML standard has them: its own examples, and those of web-platform-tests.

The TypeScript client reads the same table: tests/studio/typescript/hostile.mjs.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.exchange.event_stream import EventStream, StreamEvent

ROWS = json.loads(Path(__file__).with_name("event_streams.json").read_text(encoding="utf-8"))["rows"]
LINES = st.sampled_from(["data: a", "data", "event: x", "id: 1", "id", "retry: 5", ":", "data:é\u2028", "x: y", ""])
ENDS = st.sampled_from(["\n", "\r", "\r\n"])


def received(stream: EventStream, content: bytes, size: int) -> list[StreamEvent]:
    """What comes of a stream that arrives in pieces of so many bytes."""
    pieces = [content[first : first + size] for first in range(0, len(content), size)]
    return [event for piece in pieces for event in stream.receive(piece)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_event_stream_is_interpreted_as_the_standard_says(row, size):
    stream = EventStream()
    events = received(stream, row["stream"].encode(), size)
    assert [{"name": one.name, "data": one.data, "id": one.last_id} for one in events] == row["events"]
    assert stream.retry_s == (row["retry_ms"] / 1000 if "retry_ms" in row else None)
    assert stream.last_id == row.get("last_id", "")


def test_event_stream_takes_invalid_utf8_as_replacement_characters():
    assert [one.data for one in EventStream().receive(b"data: \xff\xc3\n\n")] == ["\ufffd\ufffd"]


def test_event_stream_keeps_id_and_retry_over_connections_and_nothing_else():
    stream = EventStream()
    assert [one.last_id for one in stream.receive(b"id: 7\nretry: 20\ndata: a\n\nid: 8\nevent: x\ndata: lost")] == ["7"]
    stream.connect()
    assert (stream.last_id, stream.retry_s) == ("7", 0.02)
    [event] = stream.receive(b"\xef\xbb\xbfdata: b\n\n")
    assert event == StreamEvent("message", "b", "7")


@pytest.mark.parametrize("digits", [9, 10, 5000])
def test_event_stream_takes_a_retry_of_any_length(digits):
    stream = EventStream()
    list(stream.receive(b"retry: " + b"9" * digits + b"\n"))
    assert stream.retry_s >= 999_999


@given(st.lists(st.tuples(LINES, ENDS), max_size=12), st.integers(1, 9))
def test_event_stream_is_the_same_in_any_pieces(lines, size):
    content = "".join(line + end for line, end in lines).encode()
    assert received(EventStream(), content, size) == received(EventStream(), content, 1 << 20)


@given(st.lists(LINES, max_size=12), ENDS)
def test_event_stream_is_the_same_with_any_line_ends(lines, end):
    plain, other = ("".join(line + ending for line in lines).encode() for ending in ("\n", end))
    assert received(EventStream(), other, 1 << 20) == received(EventStream(), plain, 1 << 20)
