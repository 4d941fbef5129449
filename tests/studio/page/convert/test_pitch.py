"""What the picture of the pitch gives up for a new recording."""

from typing import Any

import pytest

from studio.page.convert import pitch as convert_pitch
from studio.page.convert.pitch import Pitch

KNOWN = {"a recording": "first", "a 1": "take", "b 1": "take"}
NEW = {"id": "second", "start_s": None, "stop_s": None, "settled": False}


@pytest.mark.parametrize(
    ("chosen", "stopped"),
    [
        (NEW, {"first", "take"}),
        (NEW | {"id": "first"}, {"take"}),
        (NEW | {"settled": True}, set()),  # it was here before
        (NEW | {"start_s": 1.0}, set()),  # it was trimmed
        (None, set()),
    ],
)
def test_make_way_stops_analyses_of_earlier_takes(chosen, stopped, monkeypatch):
    cancelled: list[str] = []
    monkeypatch.setattr(convert_pitch.analyses, "cancel", lambda visit, analysis: cancelled.append(analysis))
    pitch: Any = object.__new__(Pitch)
    assert pitch.make_way(None, chosen, KNOWN) is None
    assert set(cancelled) == stopped
