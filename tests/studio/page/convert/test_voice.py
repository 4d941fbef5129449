"""The cards of the Convert tab show the ranges that the recording is fitted to."""

from types import SimpleNamespace
from typing import Any

import pytest

from engine.units import note_number
from studio.actions.voices.ranges import fit_view
from studio.page.convert.voice import _voices


@pytest.mark.parametrize("style", ["melodic", "spoken", None])
def test_voices_have_the_ranges_of_the_fit(studio, style):
    visit: Any = SimpleNamespace(
        do=lambda action, *given: action(studio, studio.local, *given), base_url="", now_s=1_800_000_000.0
    )
    looked: Any = {"id": "a", "summary": {"style": style, "pitch": None}, "pitch_histogram": []} if style else None
    shown = _voices(visit, looked)
    assert {"kerstin", "safiye"} <= {card["id"] for card in shown}  # recorded only speaking, only singing
    for card in shown:
        fitted, notes = fit_view(studio, studio.local, card["id"], looked)["voice"], card["vocal_range"] or {}
        assert [note_number(notes[end]) for end in ("min", "max")] == [fitted["low"], fitted["high"]]
