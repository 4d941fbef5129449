"""The profile of a voice as controls, with the engine's choices, and their values as a profile."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import gradio as gr
from gradio.blocks import Block

from engine.texts import tr
from engine.units import note_name
from engine.voices.profile import AGES, GENDERS, GENRES, LONGEST_NAME, MOST_TRAITS, VOICE_TYPES, Stated
from studio.page.parts.values import Values

MINE = tr("This is my own voice. I agree that a voice model is trained on it and that recordings are converted to it.")
AGREED = tr(
    "The person heard has agreed that a voice model is trained on this and that recordings are converted to it."
)
# the statement; and who says so, where a voice has the name of its owner
_STATED = f"(said, name, by) => [said, by || (said === {json.dumps(MINE)} ? name : '')]"
_UNSPECIFIED = ""
_DETECTED = tr("automatic")
_MORE = tr("More about the voice (optional)")
_LANGUAGES = (
    {"ar": tr("Arabic"), "bn": tr("Bengali"), "cs": tr("Czech"), "da": tr("Danish"), "de": tr("German")}
    | {"el": tr("Greek"), "en": tr("English"), "es": tr("Spanish"), "fa": tr("Persian"), "fi": tr("Finnish")}
    | {"fr": tr("French"), "he": tr("Hebrew"), "hi": tr("Hindi"), "hu": tr("Hungarian"), "id": tr("Indonesian")}
    | {"it": tr("Italian"), "ja": tr("Japanese"), "ko": tr("Korean"), "nl": tr("Dutch"), "no": tr("Norwegian")}
    | {"pl": tr("Polish"), "pt": tr("Portuguese"), "ro": tr("Romanian"), "ru": tr("Russian"), "sv": tr("Swedish")}
    | {"ta": tr("Tamil"), "th": tr("Thai"), "tr": tr("Turkish"), "uk": tr("Ukrainian"), "ur": tr("Urdu")}
    | {"vi": tr("Vietnamese"), "yo": tr("Yoruba"), "zh": tr("Chinese")}
)
_TRAITS = (
    *(tr("airy"), tr("breathy"), tr("bright"), tr("clear"), tr("close"), tr("dark"), tr("deep"), tr("intimate")),
    *(tr("natural"), tr("powerful"), tr("raspy"), tr("rough"), tr("smoky"), tr("soft"), tr("warm"), tr("young")),
)
_LICENCES = (tr("All rights reserved"), "CC0-1.0", "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-NC-4.0")
_NOTES = [note_name(number) for number in range(24, 97)]  # C1 to C7
_MEASURED: dict[str, Sequence[str]] = {  # fields that the recordings tell, and their choices
    "voice_type": VOICE_TYPES,
    "vocal_range.min": _NOTES,
    "vocal_range.max": _NOTES,
}

Control = gr.Textbox | gr.Dropdown
Said = Mapping[str, object]  # values of a profile, as in a model.json


@dataclass(frozen=True)
class ProfileForm:
    """The controls by the names of their fields; a part of a field is named like `consent.by`."""

    controls: Mapping[str, Control]

    @property
    def components(self) -> list[Control]:
        """The controls as a list."""
        return list(self.controls.values())

    def __or__(self, other: "ProfileForm") -> "ProfileForm":
        """Return a form of the controls of both."""
        return ProfileForm({**self.controls, **other.controls})

    def values(self, given: Mapping[Block, object]) -> Stated:
        """Return the values of a profile, without empty controls."""
        values: Stated = {}
        parts: dict[str, dict[str, str]] = {}
        for name, content in self.kept(given).items():
            field, _, part = name.partition(".")
            if content and part:
                values[field] = parts.setdefault(field, {})
                parts[field][part] = str(content)
            elif content:
                values[field] = content
        return values

    def kept(self, given: Mapping[Block, object]) -> dict[str, str | list[str]]:
        """Return the contents of the controls by name, for `restored`."""
        return {name: _content(given[control]) for name, control in self.controls.items()}

    def restored(self, kept: Mapping[str, object]) -> Values:
        """Return updates that fill in the result of `kept`."""
        return {
            control: gr.update(value=_shown(name, kept[name]))
            for name, control in self.controls.items()
            if name in kept
        }

    def filled(self, values: Said, only_said: bool = False) -> Values:
        """Return updates that fill in the values of a profile. only_said: leave controls without a value unchanged."""
        updates: Values = {}
        for name, control in self.controls.items():
            field, _, part = name.partition(".")
            value = values.get(field)
            if part:
                value = value.get(part) if isinstance(value, Mapping) else None
            if value or not only_said:
                updates[control] = gr.update(value=_shown(name, value))
        return updates

    def found(self, measured: Mapping[str, str]) -> Values:
        """Return updates that say what the measured fields are if nothing is stated: values by names of controls."""
        return {
            self.controls[name]: gr.Dropdown([(tr("automatic: {value}", value=value), _UNSPECIFIED), *_MEASURED[name]])
            for name, value in measured.items()
        }


def profile_form() -> ProfileForm:
    """Lay out the controls of a voice that is there."""
    made: dict[str, Control] = {}
    _lay_out_name(made)
    made |= more_form(is_open=True).controls
    gr.HTML("<h3>" + tr("Consent") + "</h3>")
    _lay_out_consent(made, "")
    return ProfileForm(made)


def needed_form(today: date) -> ProfileForm:
    """Lay out the controls that a new voice needs; today: initial date of the consent."""
    made: dict[str, Control] = {}
    _lay_out_name(made)
    _lay_out_consent(made, today.isoformat())
    return ProfileForm(made)


def more_form(is_open: bool = False) -> ProfileForm:
    """Lay out the controls that can be left out, in a fold."""
    made: dict[str, Control] = {}
    with gr.Accordion(_MORE, open=is_open):
        _lay_out_more(made)
    return ProfileForm(made)


def _lay_out_name(made: dict[str, Control]) -> None:
    made["name"] = gr.Textbox(label=tr("Name"), max_length=LONGEST_NAME)


def _lay_out_consent(made: dict[str, Control], day: str) -> None:
    whose = gr.Radio(
        [(tr("My own voice"), MINE), (tr("Someone else's (with consent)"), AGREED)],
        label=tr("Whose voice is it?"),
        value=None,
    )
    made["consent.statement"] = gr.Textbox(
        label=tr("Statement"), lines=2, max_lines=5, info=tr("Stored with the voice and included when you share it.")
    )
    with gr.Row():
        by, on = tr("Consent given by"), tr("Date of consent")
        heard = tr("Name of the person heard")
        made["consent.by"] = gr.Textbox(label=by, placeholder=heard, max_lines=1, scale=3, min_width=150)
        made["consent.date"] = gr.Textbox(day, label=on, placeholder="2026-03-31", max_lines=1, scale=2, min_width=120)
    stated, given = made["consent.statement"], made["consent.by"]
    whose.input(None, [whose, made["name"], given], [stated, given], js=_STATED, api_visibility="private")


def _lay_out_more(made: dict[str, Control]) -> None:
    """Lay out what can be left out."""
    made["description"] = gr.Textbox(label=tr("Description"), max_lines=4, placeholder=tr("One sentence"))
    with gr.Row():
        made["gender"] = _choice(tr("Gender"), GENDERS)
        made["age"] = _choice(tr("Age"), AGES)
        made["voice_type"] = _choice(tr("Voice type"), VOICE_TYPES, _DETECTED)
    with gr.Row():
        languages = [(name, code) for code, name in sorted(_LANGUAGES.items(), key=lambda one: one[1])]
        made["base_language"] = gr.Dropdown(
            [(tr("not specified"), _UNSPECIFIED), *languages],
            value=_UNSPECIFIED,
            label=tr("Language"),
            allow_custom_value=True,
        )
        made["genre"] = _choice(tr("Genre"), GENRES)
        label, traits = tr("Traits (choose or type your own)"), list(_TRAITS)
        made["traits"] = gr.Dropdown(
            traits, value=[], label=label, multiselect=True, allow_custom_value=True, max_choices=MOST_TRAITS
        )
    with gr.Row():
        made["vocal_range.min"] = _choice(tr("Lowest note"), _NOTES, _DETECTED)
        made["vocal_range.max"] = _choice(tr("Highest note"), _NOTES, _DETECTED)
    with gr.Row():
        made["licence"] = gr.Dropdown(
            [(tr("not specified"), _UNSPECIFIED), *_LICENCES],
            value=_UNSPECIFIED,
            label=tr("Licence"),
            allow_custom_value=True,
            info=tr("What others may do with the voice if you share it."),
        )
        made["source"] = gr.Textbox(label=tr("Source"), info=tr("Where the recordings come from and whom to credit."))


def _choice(label: str, choices: Sequence[str], otherwise: str = tr("not specified")) -> gr.Dropdown:
    return gr.Dropdown([(otherwise, _UNSPECIFIED), *choices], value=_UNSPECIFIED, label=label)


def _content(value: object) -> str | list[str]:
    """Return what a control holds: a text, or traits; "" for nothing."""
    return [str(one) for one in value] if isinstance(value, list) else str(value or _UNSPECIFIED)


def _shown(name: str, value: object) -> object:
    """Return the content of a control for a value, or for none."""
    if name == "traits":
        return list(value) if isinstance(value, list | tuple) else []
    return value or ""
