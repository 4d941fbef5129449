"""How far something is, in words."""

import pytest

from studio.page.parts.progress_bar import progress_bar, time_left, time_taken, time_until


@pytest.mark.parametrize(
    ("seconds", "said"), [(3.0, "5 s"), (12.6, "15 s"), (89.0, "90 s"), (91.0, "2 min"), (3600.0, "60 min")]
)
def test_time_left_and_time_until_round_to_plain_times(seconds, said):
    assert time_left(seconds) == f"about {said} left"
    assert time_until(seconds) == f"starts in about {said}"


def test_time_left_and_time_until_are_empty_for_unknown_times():
    assert (time_left(None), time_until(None)) == ("", "")
    assert time_until(0.0) == "starts in a moment"  # and not for ever in 5 s


def test_time_taken_is_told_once_it_is_worth_telling():
    assert [time_taken(seconds) for seconds in (None, 3.0, 33.0, 130.0)] == ["", "", "35 s so far", "2 min so far"]


def test_progress_bar_clamps_its_value_and_escapes_its_text():
    assert 'value="1.000"' in progress_bar(1.2, "all")
    assert 'value="0.000"' in progress_bar(-1.0, "none")
    assert "&lt;b&gt;" in progress_bar(0.5, "<b>")
