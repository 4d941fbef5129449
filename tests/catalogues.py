"""Catalogues of a test: a language in which a few texts are translated."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from babel.messages.catalog import Catalog

from studio.languages import catalogues, translation
from studio.languages.known import LANGUAGES

Texts = Mapping[str | tuple[str, str], str | tuple[str, ...]]


@contextmanager
def catalogue(folder: Path, code: str, texts: Texts) -> Iterator[None]:
    """During the block, the studio's only catalogue is one in `folder` with these translations."""
    made = Catalog(locale=LANGUAGES[code].locale, fuzzy=False)
    for english, translated in texts.items():
        made.add(english, translated)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(catalogues, "FOLDER", folder)
        catalogues.write_catalogue(made, catalogues.path_of(LANGUAGES[code]))
        _forget()
        try:
            yield
        finally:
            _forget()


def _forget() -> None:
    catalogues.entries_of.cache_clear()
    translation.translator.cache_clear()
