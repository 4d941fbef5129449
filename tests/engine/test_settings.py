from engine.settings import title_of


def test_titles_are_said_with_their_units():
    assert title_of("pitch_smoothing_ms") == "Pitch smoothing (ms)"
    assert title_of("likeness") == "Likeness"
