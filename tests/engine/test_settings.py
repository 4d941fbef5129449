from engine.settings import title_of


def test_title_of_shows_the_unit_of_a_setting():
    assert title_of("pitch_smoothing_ms") == "Pitch smoothing (ms)"
    assert title_of("likeness") == "Likeness"
