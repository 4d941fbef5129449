"""The facts and sentences of the Explore tab, without a browser."""

import pytest

from engine.analysis.comparison import Comparison
from studio.page.explore.facts import compared, facts
from tests.records import Known

SUMMARY = {
    "style": "melodic",
    "vocal_range": {"min": "A2", "max": "F3"},
    "pitch": {"low": 45.7, "median": 50.1, "high": 53.1},
    "voiced_s": 6.3,
    "loudness_lufs": -20.4,
    "peak_db": -3.1,
    "clipped_runs": 0,
    "warning": None,
}
NOTHING = SUMMARY | {
    "style": "spoken",
    "vocal_range": None,
    "pitch": None,
    "voiced_s": 0.0,
    "loudness_lufs": None,
    "peak_db": -120.0,
}


def view(name: str = "song.wav", **summary):
    found = {"duration_s": 68.94, "summary": SUMMARY | summary, "notes": [{}] * 3}
    return Known({"file_name": name, "origin": "Made here.", **found})


def test_facts_of_one_recording_are_a_list():
    told = facts([view()])
    for fact in ("song.wav", "Singing", "A2 to F3", "D3, 148 Hz", "1:09 min", "6.3 s (9 %)", "\N{MINUS SIGN}20.4 LUFS"):
        assert fact in told
    assert "<table" not in told


def test_facts_report_only_too_little_voice():
    told = facts([view(voiced_s=0.04)])
    assert "Too little voice to analyse" in told
    assert "0.04 s" in told
    for claim in ("Singing", "A2", "148 Hz"):
        assert claim not in told


def test_facts_of_two_recordings_are_a_table():
    told = facts([view(), view("other.wav", style="rhythmic")])
    assert told.count("<th scope=") == 2 + 10
    assert "Rap" in told


def test_facts_name_silence():
    told = facts([view(**NOTHING) | {"notes": []}])
    assert "No voice found" in told
    assert "Silence" in told
    assert "None" not in told


def test_facts_name_clipping():
    assert "clipped" in facts([view(peak_db=0.0, clipped_runs=3)])
    assert "clipped" not in facts([view()])


def test_facts_escape_file_names():
    odd = view("<b>x")
    for told in (facts([odd]), facts([odd, odd])):
        assert "<b>" not in told
        assert "&lt;b&gt;x" in told


@pytest.mark.parametrize(
    ("found", "sentences"),
    [
        (Comparison(0.0, 0.99, 0.0, 1.0, 2.0, 0.0), ["aligned in time", "in the same key", "100 %", "2 cents"]),
        (
            Comparison(0.5, 0.9, 3.01, 0.98, 4.0, -9.4),
            ["b &lt;1&gt;.wav is 0.50 s later", "3 semitones higher", "9 dB quieter"],
        ),
        (Comparison(-0.5, 0.9, -2.0, 0.98, 4.0, 9.4), ["0.50 s earlier", "2 semitones lower", "9 dB louder"]),
        (Comparison(0.0, 0.3, 1.0, 0.3, 90.0, 0.2), ["could not be aligned", "30 % of the time"]),
        (Comparison(0.0, 0.0, None, None, None, None), ["Too little voice"]),
    ],
)
def test_compared_describes_the_difference_in_sentences(found, sentences):
    told = compared(found, "b <1>.wav")
    for sentence in sentences:
        assert sentence in told
