"""Keep the catalogues up to date: carry translations over, and report what is missing or wrong."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog, Message

from engine.texts import FIELD
from studio.languages import extraction
from studio.languages.catalogues import forms_of, key_of, path_of, read_catalogue, write_catalogue
from studio.languages.known import ENGLISH, LANGUAGES, Language

Form = str | Sequence[str]  # a translation, or one for each plural form
TRANSLATED = tuple(language for code, language in LANGUAGES.items() if code != ENGLISH)  # English stands in the code
_WRITTEN = datetime(2026, 11, 24, tzinfo=UTC)  # gettext wants a date; git has the true ones
_CODE = re.compile(r"`[^`]*`|--[a-z-]+|\b[a-z]+_[a-z_]+\b|https?://\S*[\w/]")


def update(language: Language, texts: Iterable[extraction.Message], fresh: Mapping[str, Form] | None = None) -> Catalog:
    """Return the catalogue of a language with these texts: known translations stay, others are empty.
    fresh: translations that are new, or replace known ones: {English text: text or list of plural forms}."""
    known: dict[str, Form] = {}
    earlier = read_catalogue(language)
    for message in earlier:
        if message.id:
            known[key_of(message)] = message.string or ""
    known |= fresh or {}
    updated = Catalog(
        locale=language.locale,
        header_comment=f"# The texts of Timbre Studio in {language.name} (Apache-2.0).",
        project="Timbre Studio",
        creation_date=_WRITTEN,
        revision_date=_WRITTEN,
        charset="utf-8",
        fuzzy=False,
    )
    updated.mime_headers = [("Plural-Forms", earlier.plural_forms)]  # Babel counts others from one version to the next
    for text in sorted(texts, key=str):
        count = len(language.plurals) if isinstance(text, tuple) else 0
        updated.add(text, _shaped(known.get(english_of(text)), count))
    return updated


def _shaped(string: Form | None, count: int) -> str | tuple[str, ...]:
    """Return a translation in the shape that the text has now: one form, or `count`; empty if there is none."""
    forms = [str(one or "") for one in string] if isinstance(string, list | tuple) else [str(string or "")]
    if not count:
        return forms[-1]
    return tuple(forms if len(forms) == count else [forms[-1]] * count)


def english_of(text: extraction.Message) -> str:
    """Return the template by which a text is known: the singular, if it counts."""
    return text[0] if isinstance(text, tuple) else text


def missing(language: Language, texts: Iterable[extraction.Message]) -> list[extraction.Message]:
    """Return the texts that a language lacks, and shows in English."""
    known = {key_of(one) for one in read_catalogue(language) if one.id and all(forms_of(one))}
    return sorted((one for one in texts if english_of(one) not in known), key=str)


def stale(language: Language, texts: Iterable[extraction.Message]) -> list[str]:
    """Return the texts of a language's catalogue that the studio has no more."""
    known = {english_of(one) for one in texts}
    return [key_of(one) for one in read_catalogue(language) if one.id and key_of(one) not in known]


def faults(language: Language) -> list[str]:
    """Return what is wrong with the translations of a language: fields and code that are lost, space around them."""
    return [
        f"{key_of(message)!r} -> {form!r}: {why}"
        for message in read_catalogue(language)
        if message.id
        for form in forms_of(message)
        for why in _faults_of(message, form)
    ]


def _faults_of(message: Message, form: str) -> Iterable[str]:
    if not form:
        return
    english = [str(one) for one in message.id] if isinstance(message.id, tuple | list) else [str(message.id)]
    fields, given = set(FIELD.findall("".join(english))), set(FIELD.findall(form))
    if given - fields:
        yield f"it has fields that the text lacks: {', '.join(sorted(given - fields))}"
    lacking = fields - given
    if len(lacking) >= len(english):  # "one take" needs no number
        yield f"it lacks {', '.join(sorted(lacking))}"
    for code in _CODE.findall(english[-1]):
        if code not in form:
            yield f"it lacks {code}"
    if form != form.strip() and english[-1] == english[-1].strip():
        yield "it begins or ends with a space"


def write_all(texts: Iterable[extraction.Message] | None = None) -> None:
    """Bring the catalogues of all languages up to date."""
    given = list(texts if texts is not None else extraction.all_texts())
    for language in TRANSLATED:
        write_catalogue(update(language, given), path_of(language))


def fill(language: Language, file: Path) -> None:
    """Take translations from a JSON file: {English text: text, or a list of plural forms}."""
    fresh = json.loads(file.read_text(encoding="utf-8"))
    write_catalogue(update(language, extraction.all_texts(), fresh), path_of(language))
