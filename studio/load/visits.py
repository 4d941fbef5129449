"""Visitors of the page who let it lie open: what a browser asks for when it opens the page, asked again for many."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx

from engine.errors import EngineError
from studio.load.chromium import new_page

_PATIENCE_MS, _QUIET_MS = 120_000, 3_000
_AT_ONCE = 4  # that open the page
_QUEUE, _HEARTBEAT = "/gradio_api/queue", "/gradio_api/heartbeat"
Events = Sequence[dict[str, Any]]


def first_events(base_url: str) -> Events:
    """The events of the page that chromium begins by itself when it opens the page, as it sends them."""
    sent = []
    with new_page() as page:
        page.on("request", lambda one: sent.append(one.post_data) if f"{_QUEUE}/join" in one.url else None)
        page.goto(base_url)
        page.locator("#convert-voices .card").first.wait_for(timeout=_PATIENCE_MS)
        page.wait_for_timeout(_QUIET_MS)
    return [json.loads(one) for one in sent if one]


@asynccontextmanager
async def open_pages(http: httpx.AsyncClient, events: Events, visitors: int) -> AsyncIterator[None]:
    """So many have opened the page, and keep it open until the end. Raises EngineError where an event fails."""
    turn = asyncio.Semaphore(_AT_ONCE)
    async with AsyncExitStack() as opened:

        async def visit() -> None:
            async with turn:
                session = secrets.token_hex(6)
                (await http.get("/")).raise_for_status()
                beat = await opened.enter_async_context(http.stream("GET", f"{_HEARTBEAT}/{session}"))
                beat.raise_for_status()
                await _load(http, events, session)

        await asyncio.gather(*(visit() for _ in range(visitors)))
        yield


async def _load(http: httpx.AsyncClient, events: Events, session: str) -> None:
    for event in events:
        (await http.post(f"{_QUEUE}/join", json={**event, "session_hash": session})).raise_for_status()
    left = len(events)
    async with http.stream("GET", f"{_QUEUE}/data", params={"session_hash": session}) as told:
        async for line in told.aiter_lines():
            message = json.loads(line.removeprefix("data:")) if line else {}
            if message.get("msg") == "process_completed":
                if not message["success"]:
                    raise EngineError(f"An event of the page failed: {message['output']}")
                left -= 1
                if not left:
                    return
