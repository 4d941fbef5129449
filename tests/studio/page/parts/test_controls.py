"""Controls are made of the engine's settings, whatever these are."""

from dataclasses import dataclass, fields, replace

import gradio as gr
import pytest

from engine.conversion.settings import ConversionSettings
from engine.errors import SettingsError
from engine.settings import setting, text_setting
from engine.training.plan import TrainingPlan
from studio.page.parts.controls import controls, settings_of


@dataclass(frozen=True)
class Settings:
    amount: float = setting(0.5, 0.0, 1.0, "How much.")
    shift_semitones: int = setting(0, -12, 12, "How far.")
    seed: int = setting(3, 0, 2**31 - 1, "Which.")
    rate: float = setting(3e-4, 1e-6, 1e-2, "How fast.")
    kind: str = text_setting("one", "Which kind.", ("one", "two"))
    place: str = text_setting("", "Where.")


@pytest.fixture
def made():
    with gr.Blocks():
        return controls(Settings)


def test_controls_match_the_kind_of_each_setting(made):
    kinds = {name: type(control) for name, control in made.items()}
    assert kinds == (
        {"amount": gr.Slider, "shift_semitones": gr.Slider, "seed": gr.Number, "rate": gr.Number}
        | {"kind": gr.Dropdown, "place": gr.Textbox}
    )
    assert (made["shift_semitones"].label, made["shift_semitones"].info) == ("Shift (semitones)", "How far.")
    assert (made["amount"].minimum, made["amount"].maximum, made["amount"].value) == (0.0, 1.0, 0.5)
    assert made["rate"].value == 3e-4


def test_settings_of_returns_values_in_the_types_of_the_engine(made):
    values = {control: control.value for control in made.values()} | {made["shift_semitones"]: 3.0, made["seed"]: 9.0}
    given = settings_of(made, values)
    assert given == {"amount": 0.5, "shift_semitones": 3, "seed": 9, "rate": 3e-4, "kind": "one", "place": ""}
    assert isinstance(given["seed"], int)


def test_controls_follow_the_given_order_and_values():
    with gr.Blocks():
        made = controls(Settings, ["seed", "amount"], amount=0.25)
    assert list(made) == ["seed", "amount"]
    assert made["amount"].value == 0.25


@pytest.mark.parametrize("settings", [ConversionSettings, TrainingPlan])
def test_controls_start_with_the_defaults_of_the_engine(settings):
    with gr.Blocks():
        made = controls(settings)
    given = settings_of(made, {control: control.value for control in made.values()})
    assert set(given) == {one.name for one in fields(settings)}
    words = {one.name: 0 for one in fields(settings) if isinstance(one.default, str) and "minimum" in one.metadata}
    assert settings(**given) == replace(settings(), **words)  # a slider has no place for a word, which stands beside it


def test_settings_of_leaves_the_range_check_to_the_engine():
    with gr.Blocks():
        made = controls(TrainingPlan, ["epochs"])
    with pytest.raises(SettingsError, match="from 1 to 100000"):
        TrainingPlan(**settings_of(made, {made["epochs"]: 0}))
