"""The cards of the Convert tab show the ranges that the recording is fitted to."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from engine.units import note_number
from studio.actions.voices.ranges import fit_view
from studio.page.convert.voice import _voices
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.studio import Studio, open_studio
from tests.records import Known


@pytest.fixture
def studio(home) -> Iterator[Studio]:
    opened = open_studio(Settings(home), ServiceSettings())
    yield opened
    opened.close()


@pytest.mark.parametrize("style", ["melodic", "spoken", None])
def test_voices_have_the_ranges_of_the_fit(studio, style):
    def do(action: Any, *given: object) -> Any:
        return action(studio, studio.local, *given)

    visit: Any = SimpleNamespace(do=do, base_url="", now_s=1_800_000_000.0)
    looked: Any = (
        Known({"id": "a", "summary": {"style": style, "pitch": None}, "pitch_histogram": []}) if style else None
    )
    shown = _voices(visit, looked)
    assert {card.id for card in shown if card.estimated} >= {"melodic": {"kerstin"}, "spoken": {"safiye"}}.get(
        style, set()
    )
    assert {"kerstin", "safiye"} <= {card.id for card in shown}  # recorded only speaking, only singing
    for card in shown:
        fitted, notes = fit_view(studio, studio.local, card.id, looked).voice, card.vocal_range or {}
        assert [note_number(notes[end]) for end in ("min", "max")] == [fitted.low, fitted.high]
        assert card.estimated == fitted.estimated
