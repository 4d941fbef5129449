"""Figures as the whole page writes them."""

from studio.page.parts.numbers import duration_text, signed


def test_duration_text_shows_seconds_or_minutes():
    assert [duration_text(seconds) for seconds in (5.34, 59.9, 720.0)] == ["5.3 s", "59.9 s", "12:00 min"]


def test_signed_has_a_minus_sign():
    assert [signed(-16.94), signed(-36.2, 0), signed(3.0)] == ["\N{MINUS SIGN}16.9", "\N{MINUS SIGN}36", "3.0"]
