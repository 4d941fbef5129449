"""The limits of what is sent to the page: before a body, and while it arrives, at whatever address.

Gradio limits each uploaded file only, and only as it is written; other bodies it reads to their end, however large or
slow. A file that this cuts off stays in its folder until `studio.executors.housekeeping` deletes it.
"""

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from studio.errors import StudioError
from studio.http.bodies import LONGEST_PLAIN_BODY, plain_too_large, too_large
from studio.http.errors import problem_of
from studio.http.middleware import (
    API,
    DOCUMENTATION,
    DRAINED,
    DRAINED_WITHOUT_FILES,
    ROOM_BESIDE_A_FILE,
    Exchange,
    area_of,
)
from studio.http.uploads import Arrival
from studio.page.uploads import UPLOAD
from studio.settings.service import MEGABYTE
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

EVENT = "/gradio_api/queue/join"
LARGEST_EVENT = 4 << 20  # bytes
_COPIES = 2  # of an upload: what Gradio writes, and what the action keeps


class BodyLimits:
    """Middleware around the whole page that refuses a body which is too large or too slow, or has no room."""

    def __init__(self, app: ASGIApp, studio: Studio) -> None:
        self._app, self._studio = app, studio
        self._largest_upload = studio.service.largest_upload_mb * MEGABYTE
        self._least_rate = studio.service.least_upload_kb_s * 1000

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a body on while it keeps to the limits; else answer it with a sentence."""
        if scope["type"] != "http" or area_of(scope) in API | DOCUMENTATION:  # which have limits of their own
            await self._app(scope, receive, send)
            return
        drained = DRAINED if scope["path"] == UPLOAD else DRAINED_WITHOUT_FILES
        exchange = Exchange(scope, receive, send, "", 1 << 60, lambda: drained)
        if exchange.is_all_here:
            await self._app(scope, receive, send)
            return
        path, arrival = scope["path"], Arrival(self._least_rate)
        refusal: StudioError | HTTPException | None = None

        async def limited() -> Message:
            nonlocal refusal
            if exchange.is_all_here:
                return await exchange.receive()
            try:
                message = await arrival.wait(exchange.receive(), lambda one: len(one.get("body", b"")))
                self._refuse(path, exchange.received, len(message.get("body", b"")))
            except (StudioError, HTTPException) as error:
                refusal = error
                raise
            return message

        async def answer(message: Message) -> None:
            if refusal is None:  # else Gradio reports that its route broke
                await exchange.send(message)

        try:
            self._refuse(path, exchange.expected or 0, _COPIES * (exchange.expected or 0))
            await self._app(scope, limited, answer)
        except StudioError as error:
            refusal = error
        except Exception:
            if refusal is None:
                raise
        if refusal is not None:
            await exchange.answer(_answer(path, refusal, exchange.headers.get("accept-language")))

    def _refuse(self, path: str, size: int, needed: int) -> None:
        """Raise TooLarge for a body of this size, DiskFull if `needed` bytes of an upload do not fit."""
        if path != UPLOAD:
            largest = LARGEST_EVENT if path == EVENT else LONGEST_PLAIN_BODY
            if size > largest:
                raise plain_too_large(largest)
            return
        if self._studio.service.is_demo and size > self._largest_upload + ROOM_BESIDE_A_FILE:
            raise too_large(self._largest_upload)
        refuse_full_disk(self._studio, needed)


def _answer(path: str, refusal: Exception, language: str | None) -> Response:
    problem = problem_of(refusal)
    if path == UPLOAD:  # Gradio shows the body of the answer
        return PlainTextResponse(problem.detail, problem.status)
    return problem.response(language)
