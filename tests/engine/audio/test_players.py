"""What a notebook shows of recordings."""

from engine.audio.players import player, players


def test_players_show_each_recording_under_its_escaped_label():
    shown = players({"<Take 1>": player(b"fLaC"), "Take 2": "Audio"}, "a & b")
    assert shown.startswith("a &amp; b<div")
    assert shown.count("<audio controls") == 1
    assert "&lt;Take 1&gt;</b><br><audio" in shown
    assert "<b>Take 2</b><br>Audio</div>" in shown
