"""The WebSocket of a live session.

The browser sends {"rate": 48000} and then blocks: a number (uint32, little endian) and float32 samples. The service
answers {"ready": {...}}, then each block with its number, in order, and {"meter": {...}} of it. What comes faster than
it can be converted is dropped, never queued. {"change": {...}} changes settings or the voice, or begins the recording,
{"stop": true} ends the session; {"error": ...} says why it ended, {"finished": {"task": ...}} where its recording is.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from typing import Annotated

import structlog
from anyio import to_thread
from pydantic import BaseModel, Field, StrictBool, StrictFloat, StrictInt, StrictStr, ValidationError
from starlette.exceptions import HTTPException
from starlette.routing import WebSocketRoute
from starlette.types import Message, Scope
from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from engine.errors import EngineError
from engine.texts import tr
from studio.actions.conversions.live import LiveSession, LiveSessions
from studio.errors import Invalid
from studio.http.errors import problem_of
from studio.http.origin_guard import is_own_origin
from studio.http.rights import RightsWatch
from studio.http.uploads import Arrival
from studio.settings.service import ServiceSettings
from studio.store.accounts import Account

TokenOf = Callable[[Scope, Account], str]
PATH = "/live/{ticket}"
_MOST_WAITING = 3  # blocks
_MOST_CHANGES = 20  # settings
_HELLO_S = 10.0
_SILENT_S = 30.0  # without a message: the browser is gone
_LEAST_PACE = 0.1  # of real time
_FOREIGN, _ENDED = 4403, 4000
_OURS = tr("Something went wrong in the studio. See its log for details.")
_GARBAGE = tr("The browser sent something that a live session cannot use.")


class _Hello(BaseModel):
    rate: Annotated[int, Field(gt=0, le=1_000_000)]  # the engine says which of them it takes


class _Message(BaseModel):
    stop: StrictBool = False
    change: dict[str, StrictBool | StrictInt | StrictFloat | StrictStr | None] = {}


def live_route(
    sessions: LiveSessions, service: ServiceSettings, rights: RightsWatch, token_of: TokenOf | None = None
) -> WebSocketRoute:
    """Return the route; the ticket in the path is the visitor's, from the page. The session ends with the log-in.
    token_of: returns the token of that, or raises Unauthorised; None where nobody logs in."""
    served = partial(_serve, sessions=sessions, service=service, rights=rights, token_of=token_of)
    return WebSocketRoute(PATH, served, name="live")


async def _serve(
    socket: WebSocket, sessions: LiveSessions, service: ServiceSettings, rights: RightsWatch, token_of: TokenOf | None
) -> None:
    if not is_own_origin(socket.scope, service):
        await socket.close(_FOREIGN)  # before it is accepted: the browser sees a refusal
        return
    session: LiveSession | None = None
    stack = ExitStack()
    try:
        with sessions.admitted(str(socket.path_params["ticket"])) as ticket:
            holders = [ticket.account.id]
            if token_of is not None:
                holders.append(await to_thread.run_sync(token_of, socket.scope, ticket.account))
            right = stack.enter_context(rights.granted(*holders))
            await socket.accept()
            hello = _Hello.model_validate_json(_text_of(await asyncio.wait_for(_received(socket), _HELLO_S)))
            session = await to_thread.run_sync(sessions.open, ticket, hello.rate)
        await socket.send_json({"ready": session.facts})
        exchange = _Exchange(socket, session)
        with right.at_end(exchange.stop):
            await exchange.run()
        right.refuse_ended()
    except (WebSocketDisconnect, TimeoutError, HTTPException):
        pass  # it is gone, or far too slow; what was recorded is kept
    except EngineError as error:
        await _refuse(socket, error)
    except ValidationError:
        await _end(socket, {"error": _GARBAGE})
    except Exception:  # noqa: BLE001 - a bug: the log gets the reason, the singer a sentence
        structlog.get_logger("studio.live").exception("failed")
        await _end(socket, {"error": _OURS})
    finally:
        try:
            if session is not None:
                await _finish(socket, session)
        finally:
            stack.close()
            await _end(socket, None)


async def _received(socket: WebSocket) -> Message:
    """Return the next message. Raises WebSocketDisconnect."""
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message["code"])
    return message


def _text_of(message: Message) -> str:
    return message.get("text") or ""  # which is no JSON


async def _refuse(socket: WebSocket, error: EngineError) -> None:
    """Say why there is no session: before the WebSocket is open as a problem document, which browsers do not show."""
    if socket.application_state is not WebSocketState.CONNECTING:
        await _end(socket, {"error": str(error)})
        return
    with suppress(RuntimeError, WebSocketDisconnect, OSError):  # closed already
        await socket.send_denial_response(problem_of(error).response(socket.headers.get("accept-language")))


async def _finish(socket: WebSocket, session: LiveSession) -> None:
    """Keep the recording, whatever ended the session, and say where it is."""
    finish: Callable[[], str | None] = session.finish
    with suppress(EngineError):  # the process died: it has been said
        task = await asyncio.shield(to_thread.run_sync(finish))
        await _end(socket, {"finished": {"task": task}})


async def _end(socket: WebSocket, message: Mapping[str, object] | None) -> None:
    with suppress(RuntimeError, WebSocketDisconnect, OSError):  # closed already
        if message is None:
            await socket.close(_ENDED)
        else:
            await socket.send_json(message)


class _Exchange:
    """Receives blocks and changes while others are converted."""

    def __init__(self, socket: WebSocket, session: LiveSession) -> None:
        self._socket, self._session = socket, session
        self._blocks: deque[bytes] = deque()
        self._changes: dict[str, bool | int | float | str | None] = {}  # the latest of each setting
        self._arrived = asyncio.Event()
        self._stopped = False
        self._both: tuple[asyncio.Task[None], ...] = ()
        self._dropped = 0

    async def run(self) -> None:
        """Go on until the browser stops or leaves. Raises EngineError when the conversion cannot go on."""
        both = self._both = asyncio.create_task(self._receive()), asyncio.create_task(self._convert())
        try:
            done, _ = await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:  # also where the server cancels this
            self._session.is_left = True
            self.stop()
            await asyncio.gather(*both, return_exceptions=True)
        failures = [failure for task in done if not task.cancelled() and (failure := task.exception()) is not None]
        if failures:
            raise failures[0]

    def stop(self) -> None:
        for task in self._both:
            task.cancel()

    async def _receive(self) -> None:
        arrival = Arrival(round(_LEAST_PACE * 4 * self._session.facts["rate"]), _SILENT_S)
        while not self._stopped:
            message = await arrival.wait(_received(self._socket), lambda one: len(one.get("bytes") or b""))
            if (block := message.get("bytes")) is not None:
                if len(self._blocks) >= _MOST_WAITING:
                    self._blocks.popleft()
                    self._dropped += 1
                self._blocks.append(block)
            else:
                said = _Message.model_validate_json(_text_of(message))
                self._stopped = said.stop
                self._changes |= said.change
                if len(self._changes) > _MOST_CHANGES:
                    raise Invalid([("change", _GARBAGE)])
            self._arrived.set()

    async def _convert(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._changes:
                name = next(iter(self._changes))
                change = {name: self._changes.pop(name)}
                try:
                    await to_thread.run_sync(self._session.change, change)
                except EngineError as error:  # the session goes on as it is
                    await self._socket.send_json({"notice": str(error)})
            while self._blocks:
                data = self._blocks.popleft()
                converted, meter = await to_thread.run_sync(self._session.convert, data[4:])
                await self._socket.send_bytes(data[:4] + converted)
                await self._socket.send_json({"meter": {**meter, "dropped": self._dropped}})
