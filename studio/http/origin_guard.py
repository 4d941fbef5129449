"""Who can reach the service: only whoever sits at this machine, or others too.

What is open to the first without a token must not be open to a page elsewhere that has its own name lead to this
machine (DNS rebinding), nor through a proxy that nobody told us of: so the name that a browser asks for counts too.
"""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from studio.settings.service import LOOPBACK

_REFUSAL = (
    "This page is for whoever sits at the machine it runs on. To let others in, start the studio with --base-url and "
    "the address they use: then it asks for a token.\n"
)


class OnlyThisMachine:
    """Middleware that answers 403 to what asks for this machine by a name that is not its own, and to what a page from
    elsewhere sends: browsers let it send without asking, though not read the answer.

    guarded: the areas (first parts of a path) that ask for a token anyway, and are passed on.
    """

    def __init__(self, app: ASGIApp, guarded: Collection[str]) -> None:
        self._app, self._guarded = app, guarded

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what comes from this machine."""
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
