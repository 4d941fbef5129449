"""Catalogues: what each text of the studio is in each language, in gettext's PO format, read with Babel."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from studio.languages.known import ENGLISH, LANGUAGES, Language

if TYPE_CHECKING:  # English needs none
    from babel.messages.catalog import Catalog, Message

FOLDER = Path(__file__).parent / "catalogues"


def path_of(language: Language) -> Path:
    return FOLDER / f"{language.locale}.po"


def read_catalogue(language: Language) -> "Catalog":
    """Return the catalogue of a language; an empty one if it has none."""
    from babel.messages.catalog import Catalog
    from babel.messages.pofile import read_po

    if not path_of(language).exists():
        return Catalog(locale=language.locale, fuzzy=False)
    with path_of(language).open("rb") as file:
        return read_po(file, locale=language.locale)


def write_catalogue(catalogue: "Catalog", path: Path) -> None:
    """Write a PO file, without what changes from one extraction to the next: places in the code."""
    from babel.messages.pofile import write_po

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalogue, width=120, sort_output=True, no_location=True)


@cache
def entries_of(code: str) -> Mapping[str, tuple[str, ...]]:
    """Return the translated texts of a language by their English templates: one form, or one for each plural."""
    if code == ENGLISH:
        return {}
    known = ((key_of(one), forms_of(one)) for one in read_catalogue(LANGUAGES[code]) if one.id)
    return {key: forms for key, forms in known if all(forms)}


def key_of(message: "Message") -> str:
    """Return the English template of a message, the singular if it has two."""
    return str(message.id[0] if isinstance(message.id, tuple | list) else message.id)


def forms_of(message: "Message") -> tuple[str, ...]:
    """Return what a message is in the language; empty strings where it is not translated."""
    string = message.string
    return tuple(one or "" for one in string) if isinstance(string, tuple | list) else (string or "",)
