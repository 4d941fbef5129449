"""Effects in the Convert tab: a preset and a slider for each value, heard at once on the take that is there."""

from collections.abc import Callable
from dataclasses import fields

import gradio as gr
from gradio.events import Dependency

from engine.effects.settings import OFF, Effects, EffectSettings, effects_of, plain_effects
from engine.texts import tr
from studio.page.parts.controls import EFFECTS, Control, controls, settings_of
from studio.page.parts.values import Given, Values

_ABOUT = tr("Noise reduction, EQ, de-esser, compressor and reverb. A change is heard on the take at once.")
_NAMES = [one.name for one in fields(EffectSettings)]
_MAIN = ("de_ess", "compressor_ratio", "reverb", "denoise")  # used most


class EffectControls:
    """The preset, the sliders, and whether the download has the effects; to be made inside the fold of the settings."""

    def __init__(self) -> None:
        named = [(EFFECTS.get(name, name), name) for name in EffectSettings.presets]
        gr.HTML("<h2>" + tr("Effects") + "</h2>")
        self.preset = gr.Radio(
            named, value=OFF, label=tr("Effects"), show_label=False, info=_ABOUT, elem_id="convert-effects"
        )
        main = controls(EffectSettings, _MAIN)
        with gr.Accordion(tr("Fine-tune"), open=False, elem_id="convert-effect-sliders"):
            others = controls(EffectSettings, [name for name in _NAMES if name not in _MAIN])
        self.sliders = {name: (main | others)[name] for name in _NAMES}
        self.in_download = gr.Checkbox(True, label=tr("Export with effects"), elem_id="convert-effects-download")
        made = list(self.sliders.values())
        self._filled = self.preset.input(
            self._of_preset, self.preset, made, api_visibility="private", show_progress="hidden"
        )
        for slider in made:
            slider.input(
                self._named, made, self.preset, api_visibility="private", show_progress="hidden",
                trigger_mode="always_last",
            )  # fmt: skip

    @property
    def changes(self) -> list[Callable[..., Dependency]]:
        """The events after which the effects may differ."""
        return [self._filled.then, *(slider.input for slider in self.sliders.values())]

    @property
    def controls(self) -> list[gr.Radio | Control]:
        """Everything that says what the effects are."""
        return [self.preset, *self.sliders.values()]

    @property
    def names(self) -> list[str]:
        """The controls' names in the browser's memory."""
        return ["effects", *(f"effect {name}" for name in _NAMES)]

    def chosen(self, given: Given) -> Effects:
        """Return the effects, as a preset where the values are one's."""
        return plain_effects(settings_of(self.sliders, given))

    def fill(self, effects: Effects) -> Values:
        """Return updates that set the effects."""
        values = effects_of(effects)
        sliders: Values = {slider: getattr(values, name) for name, slider in self.sliders.items()}
        return sliders | {self.preset: _preset_of(effects)}

    def restored(self, values: Given) -> Values:
        """Return updates that complete what a browser remembered: the preset by the values, or the values by it."""
        found = {name: values.number(slider) for name, slider in self.sliders.items() if slider in values}
        if len(found) == len(self.sliders):
            return {self.preset: _preset_of(found)}
        return self.fill(values.text(self.preset) if self.preset in values else OFF)

    def _of_preset(self, preset: str | None) -> list[float]:
        return [getattr(effects_of(preset or OFF), name) for name in _NAMES]

    def _named(self, *values: float) -> str | None:
        return _preset_of(dict(zip(_NAMES, values, strict=True)))


def _preset_of(effects: Effects) -> str | None:
    plain = plain_effects(effects)
    return plain if isinstance(plain, str) else None
