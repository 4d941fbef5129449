"""Keep the catalogues up to date: extract all texts, carry translations over, and report what is missing or wrong."""

import json
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog, Message

from studio.languages.catalogues import TEMPLATE, path_of, read_catalogue, write_catalogue
from studio.languages.counting import counted_field_of
from studio.languages.extraction import Texts, all_texts
from studio.languages.known import ENGLISH, LANGUAGES, Language
from studio.languages.templates import FIELD

_WRITTEN = datetime(2026, 11, 24, tzinfo=UTC)  # gettext wants a date; git has the true ones
_CODE = re.compile(r"`[^`]*`|--[a-z-]+|\b[a-z]+_[a-z_]+\b|https?://\S+")


def extract(texts: Texts | None = None) -> Catalog:
    """Return a catalogue of all texts, untranslated; those that count have two forms."""
    catalogue = _catalogue(None)
    for text, places in sorted((texts or all_texts()).places.items()):
        identifier = (text, text) if counted_field_of(text) else text
        catalogue.add(identifier, locations=[(place, 0) for place in sorted(places)])
    return catalogue


def update(language: Language, template: Catalog, fresh: Mapping[str, object] | None = None) -> Catalog:
    """Return the catalogue of a language with the texts of `template`: known translations stay, others are empty.

    fresh: translations that are new, or replace known ones: {English text: text or list of plural forms}.
    """
    known = {_key(message): message for message in read_catalogue(path_of(language), language) if message.id}
    updated = _catalogue(language)
    for message in template:
        if not message.id:
            continue
        key = _key(message)
        string = (fresh or {}).get(key, known[key].string if key in known else None)
        forms = _shaped(string, message, language)
        if forms is None and language.code == ENGLISH:
            continue  # only what reads otherwise than in the code
        empty: str | tuple[str, ...] = ("",) * len(language.plurals) if message.pluralizable else ""
        updated.add(message.id, forms if forms is not None else empty, locations=message.locations)
    return updated


def _catalogue(language: Language | None) -> Catalog:
    """Return an empty catalogue whose header is the same whenever it is written."""
    return Catalog(
        locale=language.locale if language else None,
        header_comment=f"# The texts of Timbre Studio{f' in {language.name}' if language else ''} (Apache-2.0).",
        project="Timbre Studio",
        version="",
        creation_date=_WRITTEN,
        revision_date=_WRITTEN,
        msgid_bugs_address="",
        last_translator="",
        language_team="",
        charset="utf-8",
        fuzzy=False,
    )


def missing(language: Language, template: Catalog) -> list[str]:
    """Return the texts that a language lacks; nothing for English, whose texts stand in the code."""
    if language.code == ENGLISH:
        return []
    known = {_key(one) for one in read_catalogue(path_of(language), language) if one.id and all(_forms(one))}
    return [key for one in template if one.id and (key := _key(one)) not in known]


def faults(language: Language, template: Catalog) -> list[str]:
    """Return what is wrong with the translations of a language: fields and code that are lost, space around them."""
    wrong = []
    texts = {_key(one): one for one in template if one.id}
    for message in read_catalogue(path_of(language), language):
        if not message.id:
            continue
        key = _key(message)
        if key not in texts:
            wrong.append(f"{key!r} is no text of the studio any more")
            continue
        wrong += [f"{key!r} -> {form!r}: {why}" for form in _forms(message) for why in _faults_of(key, form, message)]
    return wrong


def _faults_of(key: str, form: str, message: Message) -> Iterable[str]:
    if not form:
        return
    fields, given = set(FIELD.findall(key)), set(FIELD.findall(form))
    counted = counted_field_of(key) if message.pluralizable else ""
    if given - fields:
        yield f"it has fields that the text lacks: {', '.join(sorted(given - fields))}"
    if fields - given - {counted}:  # "one take" needs no number
        yield f"it lacks {', '.join(sorted(fields - given))}"
    for code in _CODE.findall(key):
        if code not in form:
            yield f"it lacks {code}"
    if form != form.strip():
        yield "it begins or ends with a space"


def write_all(template: Catalog | None = None) -> None:
    """Write the template, and every language with its texts."""
    template = template or extract()
    write_catalogue(template, TEMPLATE)
    for language in LANGUAGES.values():
        write_catalogue(update(language, template), path_of(language))


def fill(language: Language, file: Path) -> None:
    """Take translations from a JSON file: {English text: text, or a list of plural forms}."""
    template = extract()
    write_catalogue(update(language, template, json.loads(file.read_text(encoding="utf-8"))), path_of(language))


def _key(message: Message) -> str:
    return str(message.id[0] if isinstance(message.id, tuple | list) else message.id)


def _forms(message: Message) -> tuple[str, ...]:
    return tuple(message.string) if isinstance(message.string, tuple | list) else (str(message.string or ""),)


def _shaped(string: object, message: Message, language: Language) -> str | tuple[str, ...] | None:
    """Return a translation in the shape that the message has now: one form, or one a plural; None if it is empty."""
    forms = [str(one) for one in string] if isinstance(string, list | tuple) else [str(string or "")]
    if not all(forms):
        return None
    if not message.pluralizable:
        return forms[-1]
    wanted = len(language.plurals)
    return tuple(forms if len(forms) == wanted else [forms[-1]] * wanted)
