"""Callbacks: what was, or will be, reported to the addresses that calls named (`callback_url`)."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse

from studio.actions.callbacks import (
    Callbacks,
    CallbackView,
    callback_secret,
    callback_view,
    callback_views,
    repeat_callback,
)
from studio.http.bodies import JSON, MULTIPART, URLENCODED
from studio.http.routes.answers import described
from studio.http.routes.call import Calling
from studio.http.routes.checked_answers import Shown
from studio.http.routes.documentation import OF_UPLOADS, body, problems
from studio.http.routes.fields import WHOLE, Fields
from studio.http.routes.identifiers import known_callback_id
from studio.http.routes.schemas import CallbackSecret
from studio.http.routes.tasks import Cursor
from studio.http.routes.waits_deadlines_callbacks import CALLBACK_FIELD, parse_callback

MOST_CALLBACKS = 200

router = APIRouter(tags=["callbacks"])


@router.get("/callbacks", **described("list_callbacks", "List callbacks", Callbacks, problems(422)))
async def list_callbacks(
    call: Calling,
    task_id: Annotated[str | None, Query(max_length=32, pattern="^[0-9a-z]+$")] = None,
    state: Literal["waiting", "delivered", "failed"] | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST_CALLBACKS), WHOLE] = 50,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the account's callbacks, newest first."""
    return Shown(await call.do(callback_views, task_id=task_id, state=state, limit=limit, cursor=cursor))


@router.get(
    "/callbacks/secret",
    **described("get_callback_secret", "Show the secret of callbacks", CallbackSecret, problems(422)),
)
async def show_callback_secret(call: Calling) -> JSONResponse:
    """Return the secret that callbacks are signed with, as libraries of Standard Webhooks take it."""
    return Shown(callback_secret(call.studio, call.account), headers={"Cache-Control": "no-store"})


@router.get(
    "/callbacks/{callback_id}", **described("get_callback", "Show a callback", CallbackView, problems(404, 422))
)
async def show_callback(call: Calling, callback_id: str) -> JSONResponse:
    """Return a callback: how often it was tried, and what was answered."""
    callback_id = known_callback_id(callback_id)
    return Shown(await call.do(callback_view, callback_id))


@router.post(
    "/callbacks/{callback_id}/repeat",
    operation_id="repeat_callback",
    summary="Send a callback again",
    response_model=CallbackView,
    responses=problems(404, *OF_UPLOADS),
    openapi_extra=body(CALLBACK_FIELD, (), MULTIPART, URLENCODED, JSON),
)
async def repeat(call: Calling, callback_id: str) -> JSONResponse:
    """Send a callback again, whatever has become of it, to the same address or to another."""
    callback_id = known_callback_id(callback_id)
    async with call.form() as form:
        fields = Fields(form)
        url = parse_callback(call, fields)
        fields.check()
        view = await call.do(repeat_callback, callback_id, url)
    return Shown(view)
