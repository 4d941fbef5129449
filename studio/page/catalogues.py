"""The languages of the page: which one a visitor reads, and its catalogue for the scripts (/page-languages/de.json).

Catalogues hold nothing of anybody, and the form to log in is in languages too, so they are for everyone.
"""

import json
from functools import cache
from html import escape

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from studio.languages.catalogues import entries_of
from studio.languages.known import LANGUAGES, Language, accepted, chosen_by
from studio.languages.reading import read_in
from studio.page.cookies import read_cookie
from studio.page.kept_answers import KeptAnswer

CATALOGUES = "/page-languages"
COOKIE = "timbre_language"  # of the choice made in Settings; absent where the browser's language is wanted


def catalogue_route() -> Route:
    """Return the route of all catalogues."""
    return Route(f"{CATALOGUES}/{{code}}.json", _answer, methods=["GET"])


def language_script(path_prefix: str, source: str, headers: Headers) -> str:
    """Return the tag of the script that begins the page in its visitor's language; source: its path."""
    known = json.dumps([[one.code, one.name] for one in LANGUAGES.values()], ensure_ascii=False)
    language, choice = language_of(headers), read_cookie(headers, COOKIE) or ""
    spoken = {"code": language.code, "direction": language.direction, "choice": choice, "known": known}
    data = {"catalogue": f"{path_prefix}{CATALOGUES}/{language.code}.json", **spoken}
    given = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    return f'<script src="{source}"{given}></script>'


def language_of(headers: Headers) -> Language:
    """Return the language of a visitor: the one chosen in Settings, else the one that the browser prefers."""
    choice = read_cookie(headers, COOKIE)
    return chosen_by([choice]) if choice else accepted(headers.get("accept-language"))


class VisitorLanguage:
    """Middleware that lets what answers a request know the language of its visitor."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer in the language of the request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with read_in(language_of(Headers(scope=scope)).code):
            await self._app(scope, receive, send)


async def _answer(request: Request) -> Response:
    code = request.path_params["code"]
    return _catalogue(code).response(request.headers) if code in LANGUAGES else Response(status_code=404)


@cache
def _catalogue(code: str) -> KeptAnswer:
    """Return a catalogue as `texts.js` reads it."""
    given = {"code": code, "plurals": LANGUAGES[code].plurals, "texts": dict(entries_of(code))}
    return KeptAnswer.of(json.dumps(given, ensure_ascii=False, separators=(",", ":")), "application/json")
