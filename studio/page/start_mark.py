"""A mark of the server that answers, by which a page notices that it was started anew and has forgotten the page."""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Timbre-Start"
_OF_THE_PAGE = "/gradio_api/"


class StartMark:
    """Middleware that puts it on all answers to what a page that is open asks; `restart.js` reads it there."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._mark = app, secrets.token_hex(8)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, with the mark."""
        if scope["type"] != "http" or not scope["path"].startswith(_OF_THE_PAGE):
            await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = self._mark
            await send(message)

        await self._app(scope, receive, marked)
