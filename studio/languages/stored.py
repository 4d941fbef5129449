"""Texts in the database: English, with what makes them speak other languages beside it."""

import json
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator

from engine.texts import Text, as_data, from_data


def _read(value: object) -> str:
    text = from_data(value)
    if not isinstance(text, str):
        raise ValueError("no text")
    return text


# a field of a record that is said to people
Said = Annotated[str, PlainValidator(_read), PlainSerializer(as_data, when_used="json")]


def stored_text(text: str) -> str:
    """Return a text as a column holds it: by itself, or as JSON if it has values; without what databases cannot store,
    NUL and lone surrogates."""
    written = json.dumps(as_data(text), ensure_ascii=False) if isinstance(text, Text) and text.values else text
    return str.__str__(written).replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def read_text(stored: object) -> str | None:
    """Return the text that a column holds; None for NULL."""
    if not isinstance(stored, str):
        return None
    try:
        text = from_data(json.loads(stored)) if stored.startswith('{"text": ') else None
    except ValueError:
        text = None
    return text if isinstance(text, Text) else Text(stored) if stored else stored
