"""Events of a task as they come, as server-sent events: GET /tasks/{task_id}/events.
Each has the present state, so that a client that connects again has missed nothing that still counts."""

import json
from collections.abc import AsyncIterator
from dataclasses import asdict

import anyio
from fastapi import APIRouter
from fastapi.sse import KEEPALIVE_COMMENT, EventSourceResponse, format_sse_event
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from studio.actions.tasks import TaskView, task_view
from studio.http.routes.answers import described
from studio.http.routes.call import Call, Calling
from studio.http.routes.documentation import Responses, problems
from studio.http.routes.identifiers import known_task_id
from studio.store.records.codec import plain
from studio.store.task_status import TaskStatus

_SILENT_S = 15.0  # then a comment keeps proxies from closing the connection
_CONNECT_AGAIN_MS = 2000
_DOCUMENT: Responses = {
    200: {
        "description": "`progress` events with `state`, `progress` and `message`; the last event is named by how the "
        "task ended (`completed`, `failed`, `cancelled`) and holds the task as `GET /tasks/{task_id}` shows it.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
_NO_BUFFERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

router = APIRouter(tags=["tasks"])


@router.get(
    "/tasks/{task_id}/events",
    response_class=Response,
    **described("follow_task", "Follow a task", None, {**_DOCUMENT, **problems(404, 422)}),
)
async def task_events(call: Calling, task_id: str) -> Response:
    """Follow a task: an event for each step of its progress, and one at its end."""
    task_id = known_task_id(task_id)
    await _view(call, task_id)  # refused before the answer begins
    return _Stream(call, task_id)


class _Stream(EventSourceResponse):
    """The events; they have a place among the calls that wait until the task or the client has ended them."""

    def __init__(self, call: Call, task_id: str) -> None:
        super().__init__(_events(call, task_id), headers=_NO_BUFFERS)
        self._place = call.watch.place(call.account.id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them. Raises TooMany before the first."""
        with self._place:
            await super().__call__(scope, receive, send)


async def _events(call: Call, task_id: str) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=_CONNECT_AGAIN_MS)
    signs: TaskStatus | None = None
    while not call.server.shutting_down:
        with anyio.move_on_after(_SILENT_S) as silence:
            signs = await call.watch.changed(task_id, signs)
        if silence.cancelled_caught:
            yield KEEPALIVE_COMMENT
        elif signs is None:  # deleted
            return
        elif signs.has_ended:
            yield _event(signs.state, await _view(call, task_id))
            return
        else:
            yield _event("progress", asdict(signs))


async def _view(call: Call, task_id: str) -> TaskView:
    return await call.do(task_view, task_id, call.base_url, call.now_s)


def _event(name: str, data: object) -> bytes:
    return format_sse_event(event=name, data_str=json.dumps(plain(data), ensure_ascii=False))
