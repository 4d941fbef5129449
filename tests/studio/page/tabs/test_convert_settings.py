"""Which preset the settings of the Convert tab ask for."""

from types import SimpleNamespace
from typing import Any

import pytest

from studio.page.tabs.convert_settings import Settings

SETTINGS: Any = SimpleNamespace(preset="preset")


@pytest.mark.parametrize(("chosen", "asked"), [(None, "auto"), ("spoken", "spoken")])
def test_preset_of_falls_back_to_auto(chosen, asked):
    assert Settings.preset_of(SETTINGS, {"preset": chosen}) == asked
