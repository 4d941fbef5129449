"""Names of fields: those that a call has, and what becomes of others."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from textwrap import shorten
from urllib.parse import quote

from fastapi.routing import APIRoute

from engine.spelling import nearest
from engine.texts import tr
from studio.errors import Invalid

IGNORED = "Ignored-Fields"  # header of an answer that did without some
FILE = "binary"  # format of a file's field in the OpenAPI document
ALSO = "x-also"  # further names of a field there
_MOST_TOLD = 10  # unknown fields in one error
_LONGEST_HEADER = 1000  # characters; proxies have room for few kB
_LONGEST_SHOWN = 100


@dataclass(frozen=True)
class FieldNames:
    """The fields of a form: its texts, where None stands for any, and its files; others are refused, or left out."""

    texts: Collection[str] | None = None
    files: Collection[str] = ()
    ignores_others: bool = False

    def without(self, others: Sequence[str]) -> None:
        """Do without fields of other names. Raises Invalid, unless they are to be left out."""
        if others and not self.ignores_others:
            raise unknown_fields(others, (*(self.texts or ()), *self.files))


ANY_TEXTS = FieldNames()


def form_names(route: APIRoute, ignores_others: bool = False) -> FieldNames:
    """Return the names of the fields that `body` documents for a route."""
    content = (route.openapi_extra or {}).get("requestBody", {}).get("content", {})
    properties = next(iter(content.values()))["schema"]["properties"] if content else {}
    files, texts = set[str](), set[str]()
    for name, one in properties.items():
        (files if one.get("format") == FILE else texts).update((name, *one.get(ALSO, ())))
    return FieldNames(texts, files, ignores_others)


def unknown_fields(given: Iterable[str], known: Collection[str], elsewhere: Collection[str] = ()) -> Invalid:
    """Return the error for fields that a call does not have, with the names that were probably meant.
    elsewhere: fields that the call takes in its form, where `given` stands in its address."""
    names = [shown_name(name) for name in dict.fromkeys(given)][:_MOST_TOLD]
    return Invalid([(name, _sentence(name, known, elsewhere)) for name in names], "unknown_field")


def _sentence(name: str, known: Collection[str], elsewhere: Collection[str]) -> str:
    if name in elsewhere:
        return tr("{name} is a field of the form: send it there, not in the address.", name=name)
    meant = nearest(name, (*known, *elsewhere))
    if meant is None:
        return tr("{name} is not a field of this call.", name=name)
    return tr("{name} is not a field of this call: did you mean {meant}?", name=name, meant=meant)


def shown_name(name: str) -> str:
    """Return a client's name of a field as errors show it."""
    return "".join(sign if sign.isprintable() else "?" for sign in name[:_LONGEST_SHOWN]) or '""'


def ignored_header(names: Iterable[str]) -> str:
    """Return names for the header, percent-encoded, so that no name can end it or look like two; cut where it would be
    long."""
    written = (quote(shown_name(name), safe="") for name in dict.fromkeys(names))
    return shorten(", ".join(written), _LONGEST_HEADER, placeholder=" ...")
