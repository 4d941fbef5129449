"""Protect a page that this machine can open without a token.

Another page could resolve its own name to this machine (DNS rebinding), and a proxy could expose it: so requests must
also use a name of this machine as their host, and come from its own pages.
"""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from studio.settings.service import LOOPBACK

_REFUSAL = (
    "This page can only be opened on its own machine. To let others in, start the studio with --base-url and the "
    "address they use: it then requires a token.\n"
)


class OriginGuard:
    """Middleware that answers 403 to requests for another host name, and to those from another site's page.

    guarded: first parts of paths that require a token anyway and are passed on.
    """

    def __init__(self, app: ASGIApp, guarded: Collection[str]) -> None:
        self._app, self._guarded = app, guarded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on requests from this machine."""
        if scope["type"] == "lifespan" or scope["path"].partition("/")[2].partition("/")[0] in self._guarded:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        if _names_this_machine(headers.get("host", "")) and (origin is None or _is_page_of_this_machine(origin)):
            await self._app(scope, receive, send)
        else:
            await PlainTextResponse(_REFUSAL, 403)(scope, receive, send)


def _is_page_of_this_machine(origin: str) -> bool:
    return _names_this_machine(origin.partition("://")[2])


def _names_this_machine(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        return False
