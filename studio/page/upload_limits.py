"""The limits of an upload, at the page's own route for uploads: before its body, and while it arrives.

Gradio limits each file only, and only as it is written. A file that this cuts off stays in its folder until
`studio.executors.housekeeping` deletes it.
"""

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.errors import StudioError
from studio.http.bodies import too_large
from studio.http.middleware import ROOM_BESIDE_A_FILE, Exchange
from studio.http.problem import problem_of
from studio.page.uploads import UPLOAD
from studio.settings.service import MEGABYTE
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

_COPIES = 2  # what Gradio writes, and what the action keeps


class UploadLimits:
    """Middleware that refuses an upload which is too large for a demo, or for which there is no room."""

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self._app, self._studio = app, studio
        self._largest = studio.service.largest_upload_mb * MEGABYTE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass an upload on while it keeps to the limits; else answer it with a sentence."""
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].endswith(UPLOAD):
            await self._app(scope, receive, send)
            return
        exchange = Exchange(scope, receive, send, "upload", 1 << 60)
        refusal: StudioError | None = None

        async def limited() -> Message:
            nonlocal refusal
            message = await exchange.receive()
            try:
                self._refuse(exchange.received, len(message.get("body", b"")))
            except StudioError as error:
                refusal = error
                raise
            return message

        async def answer(message: Message) -> None:
            if refusal is None:  # else Gradio reports that its route broke
                await exchange.send(message)

        try:
            self._refuse(exchange.expected or 0, _COPIES * (exchange.expected or 0))
            await self._app(scope, limited, answer)
        except StudioError as error:
            refusal = error
        except Exception:
            if refusal is None:
                raise
        if refusal is not None:
            problem = problem_of(refusal)
            await exchange.answer(PlainTextResponse(problem.detail, problem.status))

    def _refuse(self, size: int, needed: int) -> None:
        """Raise TooLarge for a body of this size in a demo, DiskFull if `needed` bytes do not fit."""
        if self._studio.service.is_demo and size > self._largest + ROOM_BESIDE_A_FILE:
            raise too_large(self._largest)
        refuse_full_disk(self._studio, needed)
