"""Which preset the settings of the Convert tab ask for."""

from typing import Any

import pytest

from studio.page.tabs.convert_settings import Settings

SETTINGS: Any = Settings(*("preset", "fit", "takes", {}, "kept"))


@pytest.mark.parametrize(("chosen", "asked"), [(None, "auto"), ("spoken", "spoken")])
def test_without_a_preset_the_recording_says_which(chosen, asked):
    assert SETTINGS.preset_of({"preset": chosen}) == asked
