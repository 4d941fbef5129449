"""What is said of a voice as fields of a form: their documentation, and their values."""

import json

from pydantic import JsonValue

from engine.errors import SettingsError
from engine.texts import tr
from engine.voices.profile import AGES, GENDERS, GENRES, LONGEST_NAME, LONGEST_TEXT, VOICE_TYPES
from studio.http.routes.documentation import Described, also_named
from studio.http.routes.fields import Fields, shown
from studio.store.records.codec import Json

_LICENCE, _LICENSE = "licence", "license"
_TEXT = {"type": "string"}
_MEASURED = "Measured if left out."
PROFILE_FIELDS: Described = {
    "name": {
        "type": "string", "maxLength": LONGEST_NAME,
        "description": "Required unless model.json has it. Each of these fields replaces that of model.json.",
    },
    "gender": {"type": "string", "enum": list(GENDERS)},
    "age": {"type": "string", "enum": list(AGES)},
    "description": {"type": "string", "maxLength": LONGEST_TEXT},
    "base_language": {
        "type": "string", "pattern": "^[a-z]{2}$", "description": "The language it sings or speaks: en, de, ...",
    },
    "traits": {  # as a text, or as JSON
        "oneOf": [_TEXT, {"type": "array", "items": _TEXT}],
        "description": "Words that describe it, separated by commas.",
    },
    "genre": {"type": "string", "enum": list(GENRES)},
    "voice_type": {"type": "string", "enum": list(VOICE_TYPES), "description": _MEASURED},
    "vocal_range": {
        "type": "object", "properties": {"min": _TEXT, "max": _TEXT}, "examples": [{"min": "A2", "max": "C5"}],
        "description": _MEASURED,
    },
    _LICENCE: also_named(
        {"type": "string", "maxLength": LONGEST_TEXT, "description": "What others may do with the voice."}, _LICENSE
    ),
    "source": {
        "type": "string", "maxLength": LONGEST_TEXT,
        "description": "Where the recordings come from and whom to credit.",
    },
    "consent": {  # a statement, or more as JSON
        "oneOf": [_TEXT, {"type": "object", "properties": {"statement": _TEXT, "by": _TEXT, "date": _TEXT}}],
        "description": "What the person recorded has agreed to.",
    },
}  # fmt: skip


def parse_profile(fields: Fields) -> Json:
    """Return what a form says of a voice, as a model.json would, to be checked; `fields.check` reports broken JSON."""
    fields.either(_LICENCE, _LICENSE)
    readers = {"traits": _traits, "vocal_range": _json, "consent": _consent}
    return {
        name: fields.parsed(name, readers.get(name, str), "")
        for name in (*PROFILE_FIELDS, _LICENSE)
        if fields.has(name)
    }


def _traits(text: str) -> JsonValue:
    return _json(text) if text.startswith("[") else [one.strip() for one in text.split(",")]


def _consent(text: str) -> JsonValue:
    return _json(text) if text.startswith("{") else {"statement": text}


def _json(text: str) -> JsonValue:
    try:
        found: JsonValue = json.loads(text)
        return found
    except (ValueError, RecursionError) as cause:
        raise SettingsError(tr("This is not valid JSON: {text}.", text=shown(text))) from cause
