"""Catalogues: what each text of the studio is in each language, in gettext's PO format, read with Babel."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.pofile import read_po, write_po

from studio.languages.counting import counted_field_of
from studio.languages.known import LANGUAGES, Language

FOLDER = Path(__file__).parent / "catalogues"
TEMPLATE = FOLDER / "studio.pot"  # every text as it stands in the code


@dataclass(frozen=True)
class Entry:
    """A text in one language: one form, or one for each of the language's plurals.

    counted: the field whose value chooses the form; empty where there is but one.
    """

    forms: tuple[str, ...]
    counted: str = ""


def path_of(language: Language) -> Path:
    """Return where the catalogue of a language lies."""
    return FOLDER / f"{language.locale}.po"


def read_catalogue(path: Path, language: Language | None = None) -> Catalog:
    """Return a PO file; an empty catalogue if there is none."""
    if not path.exists():
        return Catalog(locale=language.locale if language else None, fuzzy=False)
    with path.open("rb") as file:
        return read_po(file, locale=language.locale if language else None)


def write_catalogue(catalogue: Catalog, path: Path) -> None:
    """Write a PO file, with what does not change from one extraction to the next."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        write_po(file, catalogue, width=120, sort_output=True, omit_header=False, include_previous=False)


@cache
def entries_of(code: str) -> Mapping[str, Entry]:
    """Return the translated texts of a language by their English ones as they stand in the code.

    The English catalogue is the last word on English: it holds the texts that read otherwise than in the code.
    """
    language = LANGUAGES[code]
    entries = {}
    for message in read_catalogue(path_of(language), language):
        source = message.id[0] if isinstance(message.id, tuple | list) else message.id
        strings = message.string if isinstance(message.string, tuple | list) else (message.string,)
        forms = tuple(one or "" for one in strings)
        if source and all(forms):
            entries[str(source)] = Entry(forms, counted_field_of(str(message.id[-1])) if len(forms) > 1 else "")
    return entries
