"""Cookies by which the page knows its visitors: those of a demo, and those who are logged in.

The middleware that reads a cookie leaves it in the request's state as `visitor`, for what else handles the request.
"""

import secrets
from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.http.origin_guard import is_https

DEMO_COOKIE = "timbre_visitor"
_LONGEST = 100


def read_cookie(headers: Headers, name: str) -> str:
    """Return a cookie of a request; empty if there is no valid one."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(name)
    except CookieError:
        return ""
    return found.value if found is not None and len(found.value) <= _LONGEST else ""


def new_cookie(name: str, value: str, attributes: str) -> str:
    """Return the header that sets a cookie which no script can read."""
    return f"{name}={value}; Path=/; HttpOnly; {attributes}"


def visitor_of(scope: Scope) -> str:
    """Return the visitor's cookie that a middleware has read; empty on this machine alone."""
    return str(scope.get("state", {}).get("visitor", ""))


class VisitorCookies:
    """Middleware of a demo that sets a cookie for each new browser with its first page."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, and add the cookie if there is none."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        cookie = read_cookie(Headers(scope=scope), DEMO_COOKIE)
        scope.setdefault("state", {})["visitor"] = cookie
        if cookie or scope["path"] != "/":
            await self._app(scope, receive, send)
            return
        # a hosted Space is embedded in another site's page, where only such a cookie is kept, separately for each site
        attributes = "Secure; SameSite=None; Partitioned" if is_https(scope, "") else "SameSite=Lax"

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start":
                cookie = new_cookie(DEMO_COOKIE, secrets.token_urlsafe(32), attributes)
                MutableHeaders(scope=message).append("set-cookie", cookie)
            await send(message)

        await self._app(scope, receive, with_cookie)
