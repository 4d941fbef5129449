"""Which preset the settings of the Convert tab ask for."""

from typing import Any

import pytest

from studio.tabs.convert_settings import Settings

SETTINGS: Any = Settings(*("preset", "fit", "takes", {}, "kept", "looked_at"))


@pytest.mark.parametrize(
    ("preset", "style", "of_one", "of_each"),
    [
        (None, None, "auto", "auto"),
        ("spoken", None, "spoken", "spoken"),  # as it was left
        ("spoken", "spoken", "spoken", "auto"),  # measured of the one recording, and not of the others
        ("spoken", "melodic", "spoken", "spoken"),  # chosen
    ],
)
def test_a_style_that_was_measured_is_only_the_one_recordings(preset, style, of_one, of_each):
    given = {"preset": preset, "looked_at": style and {"summary": {"style": style}}}
    assert SETTINGS.preset_of(given) == of_one
    assert SETTINGS.preset_of_each(given) == of_each
