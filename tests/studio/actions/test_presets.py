"""Presets and preferences are kept per account, and nothing is kept that cannot be used."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.effects.settings import EffectSettings, effects_of, plain_effects
from engine.errors import SettingsError
from studio.actions import presets
from studio.actions.preferences import Preferences, change_preferences, preferences_of
from studio.actions.presets import Preset, delete_preset, find_preset, preset_names, save_preset
from studio.errors import Invalid, NotFound
from studio.store.presets import set_preferences

DARK = Preset("melodic", {"formant_shift_semitones": -2.0, "takes": 3}, {"reverb": 0.3})


def test_presets_are_saved_replaced_and_deleted_per_account(studio, other):
    assert save_preset(studio, studio.local, "  Dark   hall ", DARK) == "Dark hall"
    kept = find_preset(studio, studio.local, "Dark hall")
    assert (kept.style, kept.settings, effects_of(kept.effects)) == (
        "melodic", DARK.settings, EffectSettings(reverb=0.3),
    )  # fmt: skip
    save_preset(studio, studio.local, "Dark hall", Preset("auto", {}, "hall"))
    save_preset(studio, studio.local, "änderung", Preset("auto", {}))
    assert find_preset(studio, studio.local, "Dark hall").effects == "hall"
    assert preset_names(studio, studio.local) == ["änderung", "Dark hall"]
    assert preset_names(studio, other) == []
    with pytest.raises(NotFound):
        delete_preset(studio, other, "Dark hall")
    delete_preset(studio, studio.local, "Dark hall")
    with pytest.raises(NotFound, match="the presets are: auto, melodic, rhythmic, spoken, änderung"):
        find_preset(studio, studio.local, "Dark hall")


def test_presets_treat_composed_and_decomposed_names_alike(studio):
    assert save_preset(studio, studio.local, "Ra\u0308ume", DARK) == "Räume"
    assert find_preset(studio, studio.local, "Ra\u0308ume").style == "melodic"
    delete_preset(studio, studio.local, "Ra\u0308ume")
    assert preset_names(studio, studio.local) == []


@pytest.mark.parametrize(
    ("name", "preset", "error"),
    [
        ("", DARK, Invalid),
        ("x" * 61, DARK, Invalid),
        ("Melodic", DARK, Invalid),
        ("a", Preset("loud", {}), SettingsError),
        ("a", Preset("auto", {"likeness": 2.0}), SettingsError),
        ("a", Preset("auto", {"volume": 2.0}), SettingsError),
        ("a", Preset("auto", {}, "cathedral"), SettingsError),
        ("a", Preset("auto", {}, {"echo": 1.0}), SettingsError),
    ],
)
def test_save_preset_refuses_invalid_names_and_settings(studio, name, preset, error):
    with pytest.raises(error):
        save_preset(studio, studio.local, name, preset)
    assert preset_names(studio, studio.local) == []


def test_save_preset_limits_the_number_of_presets(studio, monkeypatch):
    monkeypatch.setattr(presets, "MOST_PRESETS", 1)
    save_preset(studio, studio.local, "one", DARK)
    save_preset(studio, studio.local, "one", DARK)
    with pytest.raises(Invalid, match="delete one first"):
        save_preset(studio, studio.local, "two", DARK)


def test_change_preferences_keeps_valid_values_per_account(studio, other):
    assert preferences_of(studio.database, studio.local) == Preferences()
    change_preferences(studio.database, studio.local, {"format": "mp3", "mp3_kbps": 192})
    change_preferences(studio.database, studio.local, {"naming": "{voice} {take}"})
    assert preferences_of(studio.database, studio.local) == Preferences("mp3", 192, "{voice} {take}")
    assert preferences_of(studio.database, other) == Preferences()
    for wrong in (
        {"format": "tape"},
        {"mp3_kbps": 16},
        {"naming": "{voice"},
        {"naming": "{voice.x}"},
        {"naming": "{take!r}"},
    ):
        with pytest.raises(SettingsError):
            change_preferences(studio.database, studio.local, wrong)
    assert preferences_of(studio.database, studio.local).format == "mp3"
    set_preferences(studio.database, studio.local.id, {"format": "tape"})
    assert preferences_of(studio.database, studio.local) == Preferences()


@given(st.text(max_size=30))
def test_preferences_accept_only_usable_naming_patterns(pattern):
    try:
        naming = Preferences(naming=pattern).naming
    except SettingsError:
        return
    naming.format(recording="r", voice="v", take="1", date="d", transpose="0")


@pytest.mark.parametrize("name", EffectSettings.presets)
def test_plain_effects_returns_the_name_of_a_preset(name):
    values = {one: value for one, value in vars(EffectSettings.presets[name]).items()}
    assert plain_effects(values) == name
