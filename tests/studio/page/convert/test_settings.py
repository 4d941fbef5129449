"""Which preset the settings of the Convert tab ask for."""

from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from studio.page.convert.settings import Settings
from studio.page.parts.values import Given

SETTINGS: Any = SimpleNamespace(preset=gr.Radio(["spoken"]))


@pytest.mark.parametrize(("chosen", "asked"), [(None, "auto"), ("spoken", "spoken")])
def test_preset_of_falls_back_to_auto(chosen, asked):
    assert Settings.preset_of(SETTINGS, Given({SETTINGS.preset: chosen})) == asked
