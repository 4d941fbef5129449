"""A settings dataclass of the engine as controls of the page, and their values as settings again.

Ranges and descriptions come from the fields, so a setting added to the engine becomes a control without further code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import Field, fields
from typing import TYPE_CHECKING

import gradio as gr
from gradio.blocks import Block

from engine.settings import title_of
from engine.texts import tr

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Control = gr.Slider | gr.Number | gr.Dropdown | gr.Textbox
STYLES = {"melodic": tr("Singing"), "rhythmic": tr("Rap"), "spoken": tr("Speech")}  # by preset of ConversionSettings
EFFECTS = {"off": tr("Off"), "clean": tr("Clean"), "vocal": tr("Vocal"), "speech": tr("Speech"), "hall": tr("Hall")}
_NAMED = {  # what musicians call what the engine names otherwise
    "likeness": tr("Voice strength"),
    "texture": tr("Keep my breath"),
    "consonant_protection": tr("Keep my consonants"),
    "formant_shift_semitones": tr("Formants"),
    "compressor_ratio": tr("Compressor"),
}
_STEPS_OF_A_RANGE = 100
_LONGEST_SLIDER = 10_000


def controls(
    settings: type["DataclassInstance"], names: Sequence[str] | None = None, **at: object
) -> dict[str, Control]:
    """Lay out a control for each field of a settings dataclass, or for those named, in that order.

    at: initial values other than the defaults.
    """
    known = {one.name: one for one in fields(settings)}
    return {
        name: _control(known[name], at.get(name, known[name].default), setting_title(name))
        for name in (known if names is None else names)
    }


def setting_title(name: str) -> str:
    """Return what the page calls a setting."""
    return _NAMED.get(name) or title_of(name)


def settings_of(made: Mapping[str, Control], values: Mapping[Block, object]) -> dict[str, int | float | str]:
    """Return the fields from values by control, as whole numbers where the setting's range is whole."""
    given: dict[str, int | float | str] = {}
    for name, control in made.items():
        value = values[control]
        assert isinstance(value, int | float | str)
        given[name] = int(value) if isinstance(control, gr.Number | gr.Slider) and control.precision == 0 else value
    return given


def _control(one: Field[object], value: object, title: str) -> Control:
    meaning = one.metadata["meaning"]
    if "minimum" not in one.metadata:
        if words := one.metadata["words"]:
            return gr.Dropdown(list(words), value=str(value), label=title, info=meaning)
        return gr.Textbox(str(value), label=title, info=meaning)
    lowest, highest = one.metadata["minimum"], one.metadata["maximum"]
    whole = isinstance(lowest, int)
    number = value if isinstance(value, int | float) else 0
    if _is_wide(lowest, highest):  # without limits: gradio reports them in a corner, the engine in a sentence
        return gr.Number(number, label=title, info=meaning, precision=0 if whole else None)
    step = one.metadata.get("step") or (1 if whole else (highest - lowest) / _STEPS_OF_A_RANGE)
    return gr.Slider(
        lowest, highest, number, step=step, label=title, info=meaning, precision=0 if whole else None, buttons=["reset"]
    )


def _is_wide(lowest: float, highest: float) -> bool:
    """Whether the range is too wide for a slider, in steps or in ratio."""
    if isinstance(lowest, int):
        return highest - lowest > 10 * _STEPS_OF_A_RANGE
    if highest - lowest > _LONGEST_SLIDER:
        return True
    return lowest > 0 and highest / lowest > 10 * _STEPS_OF_A_RANGE
