"""What the page costs a browser is measured, and stays small."""

import pytest
import soundfile

from studio.load.page import measured
from tests.browsers import chromium_program
from tests.services import VOCAL_RATE, vocal

pytestmark = pytest.mark.slow


def test_page_moves_nothing_and_keeps_its_heap_over_conversions(studio_page, tmp_path):
    chromium_program()  # skips without one
    soundfile.write(tmp_path / "three seconds.wav", vocal(3.0, 150.0), VOCAL_RATE)
    costs = measured(studio_page.base_url, tmp_path / "three seconds.wav", 4)
    assert costs.moved_by_load < 0.05
    assert costs.moved_by_reading < 0.01
    assert costs.tab_stops <= 24
    assert costs.heap_mb < costs.heap_after_one_mb + 4.0
