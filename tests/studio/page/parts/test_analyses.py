"""How far an analysis is, in a line."""

import pytest

from studio.page.parts.analyses import progress_line
from tests.records import Known


@pytest.mark.parametrize(
    ("view", "said"),
    [
        ({"ahead": 2, "progress": 0.0, "taken_s": None}, "Waiting: 2 ahead \u00b7 a.wav"),
        ({"ahead": 0, "progress": 0.0, "taken_s": None}, "Analysing a.wav"),
        ({"ahead": 0, "progress": 0.0, "taken_s": 200.0}, "Analysing a.wav, 3 min so far"),
        ({"ahead": 0, "progress": 0.354, "taken_s": 33.0}, "Analysing a.wav, 35 %, about 60 s left"),
        ({"ahead": 0, "progress": 0.05, "taken_s": 33.0}, "Analysing a.wav, 5 %, 35 s so far"),
    ],
)
def test_progress_line_tells_place_share_and_time_as_far_as_they_are_known(view, said):
    assert progress_line(Known({"file_name": "a.wav", **view})) == said
