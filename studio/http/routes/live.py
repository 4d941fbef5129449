"""The WebSocket of a live session.

The browser sends {"rate": 48000} and then blocks: a number (uint32, little endian) and float32 samples. The service
answers {"ready": {...}}, then each block with its number, in order, and {"meter": {...}} several times a second. What
comes faster than it can be converted is dropped, never queued. {"change": {...}} changes settings or the voice,
{"stop": true} ends the session; {"error": ...} says why it ended, {"finished": {"task": ...}} where its recording is.
"""

import asyncio
import json
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import structlog
from anyio import to_thread
from starlette.routing import WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from engine.errors import EngineError
from studio.actions.live import LiveSession, LiveSessions
from studio.http.origin_guard import is_own_origin
from studio.settings.service import ServiceSettings

PATH = "/live/{ticket}"
_MOST_WAITING = 3  # blocks
_METER_EVERY = 3  # blocks
_HELLO_S = 10.0
_SILENT_S = 30.0  # without a block: the browser is gone
_LARGEST = 1 << 17  # bytes of a message
_FOREIGN, _ENDED = 4403, 4000
_OURS = "Something went wrong in the studio. See its log for details."


def live_route(sessions: LiveSessions, service: ServiceSettings) -> WebSocketRoute:
    """Return the route; the ticket in the path is the visitor's, from the page."""
    return WebSocketRoute(PATH, partial(_serve, sessions=sessions, service=service), name="live")


async def _serve(socket: WebSocket, sessions: LiveSessions, service: ServiceSettings) -> None:
    if not is_own_origin(socket.scope, service):
        await socket.close(_FOREIGN)  # before it is accepted: the browser sees a refusal
        return
    await socket.accept()
    session: LiveSession | None = None
    try:
        hello = json.loads(await asyncio.wait_for(socket.receive_text(), _HELLO_S))
        session = await to_thread.run_sync(sessions.open, str(socket.path_params["ticket"]), int(hello["rate"]))
        await socket.send_json({"ready": session.facts})
        await _Exchange(socket, session).run()
    except (WebSocketDisconnect, TimeoutError):
        pass  # what was recorded is kept
    except EngineError as error:
        await _end(socket, {"error": str(error)})
    except (ValueError, KeyError, TypeError):
        await _end(socket, {"error": "The browser sent something else than a live session needs."})
    except Exception:  # noqa: BLE001 - a bug: the log gets the reason, the singer a sentence
        structlog.get_logger("studio.live").exception("failed")
        await _end(socket, {"error": _OURS})
    finally:
        if session is not None:
            await _finish(socket, session)


async def _finish(socket: WebSocket, session: LiveSession) -> None:
    """Keep the recording, whatever ended the session, and say where it is."""
    finish: Callable[[], str | None] = session.finish
    try:
        with suppress(EngineError):  # the process died: it has been said
            task = await asyncio.shield(to_thread.run_sync(finish))
            await _end(socket, {"finished": {"task": task}})
    finally:
        await _end(socket, None)


async def _end(socket: WebSocket, message: dict[str, Any] | None) -> None:
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
        self._changes: deque[dict[str, Any]] = deque()
        self._arrived = asyncio.Event()
        self._stopped = False
        self._dropped = 0
        self._count = 0

    async def run(self) -> None:
        """Go on until the browser stops or leaves. Raises EngineError when the conversion cannot go on."""
        receiving = asyncio.create_task(self._receive())
        converting = asyncio.create_task(self._convert())
        done, pending = await asyncio.wait((receiving, converting), return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        for task in done:
            task.result()

    async def _receive(self) -> None:
        while not self._stopped:
            message = await asyncio.wait_for(self._socket.receive(), _SILENT_S)
            if message["type"] == "websocket.disconnect":
                return
            data, text = message.get("bytes"), message.get("text")
            if data is not None and 4 < len(data) <= _LARGEST:
                if len(self._blocks) >= _MOST_WAITING:
                    self._blocks.popleft()
                    self._dropped += 1
                self._blocks.append(data)
            elif text is not None and len(text) <= _LARGEST:
                given = json.loads(text)
                self._stopped = bool(given.get("stop"))
                if given.get("change"):
                    self._changes.append(dict(given["change"]))
            self._arrived.set()

    async def _convert(self) -> None:
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._changes:
                change = self._changes.popleft()
                try:
                    await to_thread.run_sync(self._session.change, change)
                except EngineError as error:  # the session goes on as it is
                    await self._socket.send_json({"notice": str(error)})
            while self._blocks:
                data = self._blocks.popleft()
                converted, meter = await to_thread.run_sync(self._session.convert, data[4:])
                await self._socket.send_bytes(data[:4] + converted)
                self._count += 1
                if self._count % _METER_EVERY == 0:
                    await self._socket.send_json({"meter": meter | {"dropped": self._dropped}})
