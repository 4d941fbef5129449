import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.errors import Invalid
from studio.store.paging import cursor_after, sort_values


@pytest.mark.parametrize("place", [(1790000000.25, "8f14"), ("größe", "mia")])
def test_sort_values_returns_the_place_given_to_cursor_after(place):
    assert sort_values(cursor_after(*place), *map(type, place)) == place


def cursor_of(place: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode()


PLACES = [[1, "a"], [1.0], [1.0, "a", "b"], [1.0, 2.0], [float("nan"), "a"], [float("inf"), "a"], [1.0, "\0"]]
PLACES += [[1.0, "\ud800"], ["a", "b"], 1.0, None, {}]
TEXTS = ["", "x", "nonsense", "%%%", "é", "ä\0", "[" * 3000, base64.urlsafe_b64encode(b"[[[[[").decode()]


@pytest.mark.parametrize("cursor", [*map(cursor_of, PLACES), *TEXTS])
def test_sort_values_refuses_an_invalid_cursor(cursor):
    with pytest.raises(Invalid, match="cursor"):
        sort_values(cursor, float, str)


@given(st.text(max_size=60) | st.from_regex(r"[A-Za-z0-9_-]{4,60}", fullmatch=True))
def test_sort_values_refuses_random_text(cursor):
    with pytest.raises(Invalid):
        sort_values(cursor, float, str)
