"""The catalogues of the languages as the page's script reads them: /page-languages/de.json.

They hold nothing of anybody, and the form to log in needs them too, so they are for everyone.
"""

import gzip
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from studio.languages.catalogues import Entry, entries_of
from studio.languages.known import LANGUAGES, Language, accepted, chosen_by
from studio.languages.templates import NAMES, Template
from studio.page.cookies import read_cookie

CATALOGUES = "/page-languages"
COOKIE = "timbre_language"  # of the choice made in Settings; absent where the browser's language is wanted
_CHECK_EACH_TIME = "no-cache"  # kept, and asked whether it is still the same


def catalogue_route() -> Route:
    """Return the route of all catalogues."""
    return Route(f"{CATALOGUES}/{{code}}.json", _answer, methods=["GET"])


def language_script(path_prefix: str, source: str) -> str:
    """Return the tag of the script that finds the page's language; source: its path."""
    known = json.dumps([[one.code, one.name, one.direction] for one in LANGUAGES.values()], ensure_ascii=False)
    return f'<script src="{source}" data-catalogues="{path_prefix}{CATALOGUES}" data-known="{escape(known)}"></script>'


def language_of(headers: Headers) -> Language:
    """Return the language of a visitor: the one chosen in Settings, else the one that the browser prefers."""
    choice = read_cookie(headers, COOKIE)
    return chosen_by([choice]) if choice else accepted(headers.get("accept-language"))


async def _answer(request: Request) -> Response:
    code = request.path_params["code"]
    if code not in LANGUAGES:
        return Response(status_code=404)
    body, tag = _catalogue(code)
    headers = {"ETag": tag, "Cache-Control": _CHECK_EACH_TIME, "Vary": "Accept-Encoding"}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        body, headers["Content-Encoding"] = _packed(code), "gzip"
    return Response(body, headers=headers, media_type="application/json")


@cache
def _catalogue(code: str) -> tuple[bytes, str]:
    """Return a catalogue and its entity tag."""
    body = json.dumps(catalogue_of(code, entries_of(code)), ensure_ascii=False, separators=(",", ":")).encode()
    return body, f'"{hashlib.sha256(body).hexdigest()[:20]}"'


@cache
def _packed(code: str) -> bytes:
    return gzip.compress(_catalogue(code)[0])


def catalogue_of(code: str, texts: Mapping[str, Entry]) -> dict[str, object]:
    """Return a catalogue as `languages.js` reads it, whose templates come in the order of their certainty."""
    entries = {Template(source): entry for source, entry in texts.items()}
    templates = sorted((one for one in entries if one.fields and one.fixed_length), key=lambda one: -one.fixed_length)
    return {
        "code": code,
        "plurals": LANGUAGES[code].plurals,
        "comma": LANGUAGES[code].comma,
        "names": sorted(NAMES),
        "texts": {one.text: entry.forms[-1] for one, entry in entries.items() if not one.fields},
        "templates": [
            [one.pattern, one.keyword, one.fields, entries[one].forms, _place(one, entries[one].counted)]
            for one in templates
        ],
    }


def _place(template: Template, counted: str) -> int:
    return template.fields.index(counted) if counted in template.fields else -1
