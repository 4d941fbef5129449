"""Protect the page against pages of other sites: requests must come from the studio's own pages, on this host and port.
On this machine alone, where no token is required, they must also use a name of this machine as their host, as another
page could resolve its own name to it (DNS rebinding)."""

from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.texts import tr
from studio.settings.service import LOOPBACK, ServiceSettings, is_for_this_machine

_NOT_HERE = (
    tr(
        "This page can only be opened on its own machine. To let others in, start the studio with --base-url and the "
        "address they use: it then requires a token."
    )
    + "\n"
)
_FOREIGN = tr("This request comes from a page of another site. Open the studio's own page.") + "\n"
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_OTHER_SITES = frozenset({"cross-site", "same-site"})  # the latter: a sub-domain or a port beside this one
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}


class OriginGuard:
    """Middleware that answers 403 to requests of other sites' pages, and keeps the page out of their frames.
    guarded: first parts of paths that require a token anyway. A demo may be framed, as hosts of Spaces do it."""

    def __init__(self, app: ASGIApp, guarded: Collection[str], service: ServiceSettings) -> None:
        self._app, self._guarded, self._base_url = app, guarded, service.base_url
        self._local_only = is_for_this_machine(service) and not service.is_demo
        self._may_be_framed = service.is_demo

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].partition("/")[2].partition("/")[0] in self._guarded:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if self._local_only and not _names_this_machine(headers.get("host", "")):
            await PlainTextResponse(_NOT_HERE, 403)(scope, receive, send)
        elif not self._is_own(scope, headers):
            await PlainTextResponse(_FOREIGN, 403)(scope, receive, send)
        else:
            # an origin that gradio sees would be answered with CORS headers
            kept = [(name, value) for name, value in scope["headers"] if name != b"origin"]
            await self._app({**scope, "headers": kept}, receive, send if self._may_be_framed else _unframed(send))

    def _is_own(self, scope: Scope, headers: Headers) -> bool:
        origin = headers.get("origin")
        if origin is not None:
            own = headers.get("host", "")
            return _is_same(origin, own, is_https(scope, self._base_url)) or (
                self._base_url != "" and _is_same(origin, *_address(self._base_url))
            )
        if headers.get("sec-fetch-site") in _OTHER_SITES:
            return headers.get("sec-fetch-mode") == "navigate" and scope["method"] in _READING
        return self._local_only or scope["method"] in _READING  # browsers name the origin of all others


def is_own_origin(scope: Scope, service: ServiceSettings) -> bool:
    """Whether a WebSocket is opened by the studio's own page: browsers always name the origin, and let any page try."""
    headers = Headers(scope=scope)
    origin, own = headers.get("origin", ""), headers.get("host", "")
    if is_for_this_machine(service) and not service.is_demo and not _names_this_machine(own):
        return False
    if _is_same(origin, own, is_https(with_scheme_of_http(scope), service.base_url)):
        return True
    return service.base_url != "" and _is_same(origin, *_address(service.base_url))


def with_scheme_of_http(scope: Scope) -> Scope:
    """Return the scope of a WebSocket with the scheme that a request by the same way would have."""
    return {**scope, "scheme": {"ws": "http", "wss": "https"}.get(scope["scheme"], scope["scheme"])}


def is_https(scope: Scope, base_url: str) -> bool:
    """Whether the browser uses TLS, which ends at a proxy: as that reports, or as the public address says."""
    headers = Headers(scope=scope)
    host, https = _address(base_url)
    reported = headers.get("x-forwarded-proto", "").split(",")[0].strip()
    return "https" in (scope["scheme"], reported) or (https and headers.get("host", "").lower() == host)


def _address(url: str) -> tuple[str, bool]:
    """Return the host with its port, and whether it is reached by TLS."""
    scheme, _, rest = url.partition("://")
    return rest.partition("/")[0].lower(), scheme == "https"


def _is_same(origin: str, host: str, https: bool) -> bool:
    scheme, separator, rest = origin.lower().partition("://")
    if not separator or scheme not in _DEFAULT_PORTS or (https and scheme == "http"):
        return False  # a page sent without TLS may be anybody's
    return rest.removesuffix(_DEFAULT_PORTS[scheme]) == host.lower().removesuffix(_DEFAULT_PORTS[scheme])


def _unframed(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["X-Frame-Options"] = "SAMEORIGIN"
        await send(message)

    return sent


def _names_this_machine(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").hostname in LOOPBACK
    except ValueError:
        return False
