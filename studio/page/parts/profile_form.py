"""Who a voice is, as controls: the fields of a profile with the choices the engine knows, and their values again."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import gradio as gr

from engine.units import note_name
from engine.voices.profile import AGES, GENDERS, GENRES, LONGEST_NAME, MOST_TRAITS, VOICE_TYPES

MINE = "This is my own voice. I agree that a voice is made of it, and that recordings are converted to it."
AGREED = "The person who is heard has agreed that a voice is made of this, and that recordings are converted to it."
_NOTHING_SAID = ""
_AS_HEARD = "as it is heard"
_LANGUAGES = {
    "ar": "Arabic", "bn": "Bengali", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English",
    "es": "Spanish", "fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian",
    "id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian",
    "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "ta": "Tamil",
    "th": "Thai", "tr": "Turkish", "uk": "Ukrainian", "ur": "Urdu", "vi": "Vietnamese", "yo": "Yoruba", "zh": "Chinese",
}  # fmt: skip
_TRAITS = (
    "airy", "breathy", "bright", "clear", "close", "dark", "deep", "intimate", "natural", "powerful", "raspy", "rough",
    "smoky", "soft", "warm", "young",
)  # fmt: skip
_LICENCES = ("All rights reserved", "CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0")
_NOTES = [note_name(number) for number in range(24, 97)]  # C1 to C7


@dataclass(frozen=True)
class ProfileForm:
    """The controls by the names of their fields; parts of a field are named as `consent.by`."""

    controls: Mapping[str, Any]

    @property
    def components(self) -> list[Any]:
        """All controls."""
        return list(self.controls.values())

    def values(self, given: Mapping[Any, Any]) -> dict[str, Any]:
        """The values of a profile, from those of the controls; what is left empty says nothing."""
        values: dict[str, Any] = {}
        for name, control in self.controls.items():
            value = given[control]
            if value is None or value in ("", []):
                continue
            field, _, part = name.partition(".")
            if part:
                values.setdefault(field, {})[part] = value
            else:
                values[field] = value
        return values

    def kept(self, given: Mapping[Any, Any]) -> dict[str, Any]:
        """What the controls hold, by their names, to be filled in again with `restored`."""
        return {name: given[control] for name, control in self.controls.items()}

    def restored(self, kept: Mapping[str, Any]) -> dict[Any, Any]:
        """Updates that fill in what was kept."""
        return {control: gr.update(value=kept[name]) for name, control in self.controls.items() if name in kept}

    def filled(self, values: Mapping[str, Any], only_said: bool = False) -> dict[Any, Any]:
        """Updates that fill in the values of a profile. only_said: what it says nothing of stays as it is."""
        updates = {}
        for name, control in self.controls.items():
            field, _, part = name.partition(".")
            value = (values.get(field) or {}).get(part) if part else values.get(field)
            if value or not only_said:
                updates[control] = gr.update(value=_shown(name, value))
        return updates


def profile_form(today: date | None = None, consent: str = "<h3>Consent</h3>") -> ProfileForm:
    """The controls, made where this is called. today: what the day of the consent is at first; consent: its heading."""
    made: dict[str, Any] = {}
    with gr.Row():
        made["name"] = gr.Textbox(label="Name", max_length=LONGEST_NAME, placeholder="What it is called", min_width=220)
        made["description"] = gr.Textbox(label="Description", max_lines=4, placeholder="A sentence", min_width=220)
    with gr.Row():
        made["gender"] = _choice("Gender", GENDERS)
        made["age"] = _choice("Age", AGES)
        made["voice_type"] = _choice("Voice type", VOICE_TYPES, _AS_HEARD)
    with gr.Row():
        languages = [(name, code) for code, name in sorted(_LANGUAGES.items(), key=lambda one: one[1])]
        made["base_language"] = gr.Dropdown(
            [("not said", _NOTHING_SAID), *languages], value=_NOTHING_SAID, label="Language", allow_custom_value=True
        )  # fmt: skip
        made["genre"] = _choice("Genre", GENRES)
        made["traits"] = gr.Dropdown(
            list(_TRAITS), value=[], label="Traits: choose, or write others", multiselect=True,
            allow_custom_value=True, max_choices=MOST_TRAITS,
        )  # fmt: skip
    with gr.Accordion("Range, licence and source", open=False):
        with gr.Row():
            made["vocal_range.min"] = _choice("Lowest note", _NOTES, _AS_HEARD)
            made["vocal_range.max"] = _choice("Highest note", _NOTES, _AS_HEARD)
        with gr.Row():
            made["licence"] = gr.Dropdown(
                [("not said", _NOTHING_SAID), *_LICENCES], value=_NOTHING_SAID, label="Licence",
                allow_custom_value=True, info="What others may do with it, where you pass it on.",
            )  # fmt: skip
            made["source"] = gr.Textbox(label="Source", info="Where the recordings come from, and whom to credit.")
    gr.HTML(consent)
    whose = gr.Radio(
        [("It is my own voice", MINE), ("It is somebody else's, who has agreed", AGREED)],
        label="Whose voice is it?", value=None,
    )  # fmt: skip
    made["consent.statement"] = gr.Textbox(
        label="Statement", lines=2, max_lines=5, info="It stays with the voice, also where it is passed on."
    )
    with gr.Row():
        made["consent.by"] = gr.Textbox(label="Who has agreed", placeholder="Name of the person who is heard")
        day = "" if today is None else today.isoformat()
        made["consent.date"] = gr.Textbox(day, label="On which day", placeholder="2026-03-31")
    whose.input(None, whose, made["consent.statement"], js="said => said", api_visibility="private")
    return ProfileForm(made)


def _choice(label: str, choices: Any, otherwise: str = "not said") -> gr.Dropdown:
    return gr.Dropdown([(otherwise, _NOTHING_SAID), *choices], value=_NOTHING_SAID, label=label)


def _shown(name: str, value: Any) -> Any:
    """What a control holds for a value, or for none."""
    if name == "traits":
        return list(value or [])
    return value or ""
