"""Put what comes first into the page, before Gradio's own, which precedes anything in the `head` that Gradio accepts:
scripts and styles into its head, and a skeleton into its body.

The page is more than half a megabyte, which Gradio sends as it is: here it is compressed.
"""

import gzip
from collections.abc import Callable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_HEAD, _APP = b"<head>", b"<gradio-app"
_QUICKLY = 5  # of the levels of gzip: it is done for each visitor


class EarlyScripts:
    """Middleware that inserts HTML into the page. tags, body: make it for a request, for the beginning of the head and
    for the place before Gradio's element."""

    def __init__(self, app: ASGIApp, tags: Callable[[Headers], str], body: Callable[[Headers], str]) -> None:
        self._app = app
        self._tags, self._body = tags, body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Insert the scripts into the response if it is the page."""
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        parts: list[bytes] = []

        async def with_scripts(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            if message["type"] == "http.response.body" and start is not None:
                parts.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                body = self._changed(b"".join(parts), start, Headers(scope=scope))
                await send(start)
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self._app(scope, receive, with_scripts)

    def _changed(self, body: bytes, start: Message, asked: Headers) -> bytes:
        headers = MutableHeaders(scope=start)
        if not headers.get("content-type", "").startswith("text/html") or "content-encoding" in headers:
            return body
        body = body.replace(_HEAD, _HEAD + self._tags(asked).encode(), 1)
        body = body.replace(_APP, self._body(asked).encode() + _APP, 1)
        headers.add_vary_header("Accept-Encoding")
        if "gzip" in asked.get("accept-encoding", ""):
            body, headers["content-encoding"] = gzip.compress(body, _QUICKLY), "gzip"
        headers["content-length"] = str(len(body))
        return body
