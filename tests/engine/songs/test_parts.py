import pytest

from engine.errors import SettingsError
from engine.songs.parts import Part, read_parts


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("kathleen", [(0, "kathleen")]),
        ("0:00 a\n1:42 b", [(0, "a"), (102, "b")]),
        ("From 1:02:03.5 b", [(0, "keep"), (3723.5, "b")]),
        ("a, 90 b; 2:00 keep", [(0, "a"), (90, "b"), (120, "keep")]),
    ],
)
def test_read_parts_reads_start_times_and_voices(text, parts):
    assert read_parts(text) == tuple(Part(*part) for part in parts)


@pytest.mark.parametrize(
    "text",
    [
        *("", "a, b", "1:42", "from 1:42", "a, 1:42", "1:42:", "1:99:00:00 b", "a, 1:30 b c", "10 a, 5 b", "a, 0.5 b"),
        "5 a, 5 b",
    ],
)
def test_read_parts_refuses_malformed_and_unordered_lists(text):
    with pytest.raises(SettingsError):
        read_parts(text)


def test_read_parts_begins_in_the_given_voice():
    assert [part.voice for part in read_parts("0:05 b", "a")] == ["a", "b"]
    assert [part.voice for part in read_parts("0 keep, 0:05 b", "a")] == ["keep", "b"]
