from dataclasses import fields

import numpy as np
import pytest

from engine.audio.files import Audio, write_audio
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.widgets.choosers import SAMPLES
from engine.widgets.forms import ConversionForm


@pytest.fixture(scope="module")
def form() -> ConversionForm:
    return ConversionForm(
        [SAMPLES / "speech.flac", SAMPLES / "foreign" / "singing-high.flac"], voice="kerstin", takes=3
    )


def test_conversion_form_starts_with_the_preset_of_the_detected_style(form):
    assert form.look.analysis.style == "spoken"
    assert form.settings == ConversionSettings(transpose="auto", takes=3)
    assert form.voice.card.id == "kerstin"
    assert form.name == "speech"


def test_conversion_form_shows_the_auto_transpose_that_convert_uses(form):
    converted = convert(form.recording, form.voice, ConversionSettings(transpose="auto"))
    assert form.transpose == form.fitting == converted.transpose != 0
    assert f"{form.fitting:+d} semitones" in form._told.value


def test_conversion_form_has_a_control_and_an_explanation_for_every_setting(form):
    assert set(form._controls) == {one.name for one in fields(ConversionSettings)}
    told = [row.children[1].value for row in form._explained()]
    assert len(told) == len(fields(ConversionSettings)) - 1
    assert all(one.metadata["meaning"][:20] in " ".join(told) for one in fields(ConversionSettings)[1:2])


def test_conversion_form_applies_moved_controls_to_settings_and_picture(form):
    before = bytes(form._picture.value)
    form._auto.value = False
    form._controls["transpose"].value = -5
    form._controls["likeness"].value = 0.6
    try:
        assert form.transpose == form.settings.transpose == -5
        assert form.settings.likeness == pytest.approx(0.6)
        assert bytes(form._picture.value) != before
        form._preset.value = "rhythmic"
        assert form.settings.likeness == ConversionSettings.presets["rhythmic"].likeness
        assert (form.settings.transpose, form.settings.takes) == (-5, 3)  # no preset changes them
    finally:
        form._auto.value, form._preset.value = True, "spoken"


def test_conversion_form_updates_preset_and_transposition_with_the_recording(form):
    form.chooser._list.value = SAMPLES / "foreign" / "singing-high.flac"
    try:
        assert form._preset.value == "melodic"
        assert form.fitting % 12 == 0
    finally:
        form.chooser._list.value = SAMPLES / "speech.flac"


def test_conversion_form_warns_of_a_recording_without_a_voice(tmp_path):
    noise = np.random.default_rng(0).uniform(-0.3, 0.3, (1, 44_100)).astype(np.float32)
    write_audio(tmp_path / "noise.wav", Audio(noise, 44_100))
    assert "No voice was found" in ConversionForm([tmp_path / "noise.wav"], voice="kerstin")._told.value
