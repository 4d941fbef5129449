"""A mark of the running server, by which an open page notices a restart."""

import secrets

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HEADER = "X-Timbre-Start"
_OF_THE_PAGE = "/gradio_api/"


class StartMark:
    """Middleware that marks every response to an open page; `restart.js` reads the mark."""

    def __init__(self, app: ASGIApp) -> None:
        self._app, self._mark = app, secrets.token_hex(8)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the mark to the response's headers."""
        if scope["type"] != "http" or not scope["path"].startswith(_OF_THE_PAGE):
            await self._app(scope, receive, send)
            return

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[HEADER] = self._mark
            await send(message)

        await self._app(scope, receive, marked)
