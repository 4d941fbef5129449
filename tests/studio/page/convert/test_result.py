"""What the bar says of a result: nothing that stands beside its recording already."""

from typing import Any

import pytest

from engine.texts import joined, tr
from studio.page.convert.result import notice_of
from tests.records import Known

ROOM, DEEP, MOVED = tr("It sounds of a room."), tr("4 s are too low."), tr("Moved beyond the range.")


def said(warning: str | None, notes: tuple[str, ...] = (), beside: str | None = None) -> str:
    view: Any = Known({"warning": warning, "notes": notes, "parts": []})
    analysed: Any = Known({"summary": {"warning": beside}})
    value = notice_of(view, analysed).value
    return value if isinstance(value, str) else ""


@pytest.mark.parametrize(
    ("warning", "notes", "beside", "seen"),
    [
        (ROOM, (), ROOM, ""),
        (joined(" ", [ROOM, joined(" ", [DEEP, MOVED])]), (), joined(" ", [ROOM, DEEP]), MOVED),
        (None, (ROOM, MOVED), ROOM, MOVED),  # a song tells it as a note
        (ROOM, (), DEEP, ROOM),  # of the stretch that was converted
        (ROOM, (), None, ROOM),
    ],
)
def test_notice_of_says_each_warning_once(warning, notes, beside, seen):
    shown = said(warning, notes, beside)
    assert seen in shown
    assert bool(shown) == bool(seen)
    assert not any(one in shown for one in (ROOM, DEEP, MOVED) if one != seen)


def test_notice_of_warns_only_where_a_warning_is_left():
    assert "warn" in said(MOVED, beside=ROOM)
    assert "warn" not in said(ROOM, (MOVED,), ROOM)


def test_notice_of_says_everything_where_no_recording_is_known():
    view: Any = Known({"warning": ROOM, "notes": (DEEP,), "parts": []})
    assert f"{ROOM} {DEEP}" in str(notice_of(view, None).value)
