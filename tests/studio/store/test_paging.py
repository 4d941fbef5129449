import base64
import json

import pytest

from studio.errors import Invalid
from studio.store.paging import cursor_after, sort_values


@pytest.mark.parametrize("place", [(1790000000.25, "8f14"), ("größe", "mia")])
def test_place_of_returns_the_place_given_to_cursor_after(place):
    assert sort_values(cursor_after(*place), *map(type, place)) == place


@pytest.mark.parametrize(
    "place",
    [[1, "a"], [1.0], [1.0, "a", "b"], [1.0, 2.0], [float("inf"), "a"], [1.0, "\0"], [1.0, "\ud800"], 1.0, None],
)
def test_place_of_refuses_an_invalid_cursor(place):
    cursor = base64.urlsafe_b64encode(json.dumps(place).encode()).decode()
    with pytest.raises(Invalid, match="cursor"):
        sort_values(cursor, float, str)
