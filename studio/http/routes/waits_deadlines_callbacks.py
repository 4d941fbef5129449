"""What a call may ask for beside its work: to wait for the task (`Prefer: wait=60`, RFC 7240), a deadline
(`Cancel-After`), a report of its end to an address (`callback_url`)."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from fastapi import Request
from pydantic import BaseModel
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from engine.errors import SettingsError
from engine.texts import tr
from studio.actions.tasks import ends_in_s, task_view, with_true_wait
from studio.addresses import LONGEST_ADDRESS, checked_address
from studio.errors import Invalid, TooMany, Unauthorised
from studio.http.routes.call import Call
from studio.http.routes.checked_answers import Shown
from studio.http.routes.documentation import Described, Extra, Responses, body, problems
from studio.http.routes.fields import Fields, shown
from studio.store.deadlines_and_callbacks import Promised
from studio.store.records.codec import Record

PREFER, APPLIED, CANCEL_AFTER, RETRY_AFTER = "Prefer", "Preference-Applied", "Cancel-After", "Retry-After"
LONGEST_WAIT_S = 60
LONGEST_DEADLINE_S = 30 * 86_400
_WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?=$|[,;])", re.IGNORECASE)
_DURATION = re.compile(r"(?=.)(?:([0-9]{1,7})h)?(?:([0-9]{1,7})m)?(?:([0-9]{1,7})s?)?", re.IGNORECASE)
CALLBACK = "callback_url"
CALLBACK_FIELD = {
    CALLBACK: {
        "type": "string",
        "format": "uri",
        "maxLength": LONGEST_ADDRESS,
        "examples": ["https://example.com/done"],
        "description": "An address that receives a signed POST when the task has ended; see `GET /callbacks`.",
    }
}
_HEADER_FIELDS: tuple[Described, ...] = (
    (
        {"name": PREFER, "in": "header", "required": False, "example": "wait=30"}
        | {"description": f"`wait=N`: answer when the task has ended, or after N seconds, at most {LONGEST_WAIT_S}."}
        | {"schema": {"type": "string", "pattern": "^wait=[0-9]{1,2}$"}}
    ),
    (
        {"name": CANCEL_AFTER, "in": "header", "required": False, "example": "5m"}
        | {"description": "Cancels the task if it has not ended by then: seconds, or `90s`, `5m`, `1h30m`."}
        | {"schema": {"type": "string", "pattern": "^([1-9][0-9]{0,3}[hms]?)$"}}
    ),
)
PREFERENCE: Extra = {"parameters": [_HEADER_FIELDS[0]]}  # of a call that looks at a task


@dataclass(frozen=True)
class Promises:
    """wait_s: how long to wait for the end of the task; None to answer at once. cancel_after_s: its deadline.
    callback_url: where its end is reported."""

    wait_s: int | None = None
    cancel_after_s: int | None = None
    callback_url: str | None = None

    async def answer(
        self,
        call: Call,
        task_id: str | None,
        answer: Mapping[str, object],
        again: Callable[[], Awaitable[Mapping[str, object]]] | None = None,
    ) -> JSONResponse:
        """Keep deadline and callback, wait, and answer: as ever or, where the client waited, with the task, or 202.
        again: returns those parts of the answer that change while the task goes on."""
        if task_id is None:
            return Shown(answer)
        await self.keep(call, task_id)
        place = {"Location": f"{call.own_address}/tasks/{task_id}"}
        try:
            waited = await _waited_for(call, task_id, self.wait_s)
        except Unauthorised:  # meanwhile: the task has been queued all the same
            return Shown(answer, 202, place)
        if waited is None:
            return Shown(answer)
        if again is not None:
            answer = {**answer, **await again()}
        if not waited:
            headers = _applied(self.wait_s) | await _retry_after(call, task_id)
            return Shown(answer, 202, headers | place)
        task = await call.do(task_view, task_id, call.base_url, call.now_s)
        return Shown({**answer, "task": task}, headers=_applied(self.wait_s))

    def of(self, call: Call) -> Promised:
        """Return what is kept for the task of a call, in the transaction that queues it."""
        after_s = None if self.cancel_after_s is None else float(self.cancel_after_s)
        return Promised(call.account.id, call.base_url, after_s, self.callback_url or None)

    async def keep(self, call: Call, task_id: str) -> None:
        """Keep the same for a task that an earlier call has queued."""
        if self.cancel_after_s is not None or self.callback_url:
            await anyio.to_thread.run_sync(self.of(call).keep_for, call.studio, task_id)


def promises_of(call: Call, fields: Fields) -> Promises:
    """Return what a call asks for in its headers and its form, before it starts anything. Raises Invalid."""
    headers = call.request.headers
    return Promises(
        preferred_wait_s(call.request), _deadline_s(headers.get(CANCEL_AFTER)), parse_callback(call, fields)
    )


def parse_callback(call: Call, fields: Fields) -> str | None:
    """Read the address in the form that may be called, if there is one."""
    if not fields.has(CALLBACK):
        return None
    allowed = call.studio.service.callbacks

    def checked(written: str) -> str:
        if allowed == "off":
            raise SettingsError(tr("Callbacks are switched off here: poll the task instead, or follow its events."))
        return checked_address(written, private=allowed == "any")

    return fields.parsed(CALLBACK, checked, "")


def preferred_wait_s(request: Request) -> int | None:
    """Return for how many seconds the client prefers to wait; None if it does not."""
    found = [match for one in request.headers.getlist(PREFER) if (match := _WAIT.search(one))]
    return min(int(found[0][1]), LONGEST_WAIT_S) if found else None


def starting(properties: Described, required: tuple[str, ...], *media_types: str) -> Extra:
    """Return what `body` does, for a call that starts a task."""
    return body({**properties, **CALLBACK_FIELD}, required, *media_types, headers=_HEADER_FIELDS)


def answers_of_start(answer: type[BaseModel], *statuses: int) -> Responses:
    """Return FastAPI's `responses` of such a call; answer: as it is with 200."""
    description = "With `Prefer: wait=N`: as 200, but the task has not ended by now."
    return {202: {"model": answer, "description": description}, **problems(*statuses)}


async def looked(call: Call, task_id: str, view: Callable[[], Awaitable[Record]]) -> JSONResponse:
    """Answer a call that looks at a task: with the `view` of it or, where the client waits, that at its end."""
    found, wait_s = await view(), preferred_wait_s(call.request)  # unknown tasks are refused first
    waited = await _waited_for(call, task_id, wait_s)
    if waited is None:
        return Shown(found)
    headers = _applied(wait_s) | ({} if waited else await _retry_after(call, task_id))
    return Shown(await view(), headers=headers)


async def _waited_for(call: Call, task_id: str, wait_s: int | None) -> bool | None:
    """Wait for the end of a task; return whether it has ended, None if there is no waiting. Raises ClientDisconnect."""
    if wait_s is None:
        return None
    try:
        with call.watch.place(call.account.id):
            call.leave_room()
            return await while_connected(call, task_id, float(wait_s))
    except TooMany:
        return None  # it is only a preference


async def while_connected(call: Call, task_id: str, wait_s: float) -> bool:
    """Wait so long for the end of a task; return whether it has ended.
    Raises ClientDisconnect if the client leaves, Unauthorised if its right ends."""
    has_ended = has_left = False

    async def leave() -> None:
        nonlocal has_left
        while (await call.request.receive())["type"] != "http.disconnect":
            pass
        has_left = True
        group.cancel_scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(leave)
        with anyio.move_on_after(wait_s):
            has_ended = await call.watch.ended(task_id)
        group.cancel_scope.cancel()
    call.right.refuse_ended()
    if has_left:
        raise ClientDisconnect
    return has_ended


def _applied(wait_s: int | None) -> dict[str, str]:
    """Return the header that says how long the call was willing to wait."""
    return {APPLIED: f"wait={wait_s}"}


async def _retry_after(call: Call, task_id: str) -> dict[str, str]:
    """Return the header that says when a task will have ended, roughly; none if that is unknown."""
    left_s = await call.do(ends_in_s, task_id, call.now_s)
    return {} if left_s is None else {RETRY_AFTER: str(max(1, round(left_s)))}


@asynccontextmanager
async def true_to_the_queue(call: Call, kind: str) -> AsyncIterator[None]:
    """Refuse for a full queue with the time until there is room, of tasks of this kind."""
    try:
        yield
    except TooMany as refused:
        if refused.code != "queue_full":
            raise
        raise await call.do(with_true_wait, kind, refused, call.now_s) from None


def _deadline_s(written: str | None) -> int | None:
    if written is None:
        return None
    match = _DURATION.fullmatch(written.strip())
    hours, minutes, seconds = (int(part or 0) for part in match.groups()) if match else (0, 0, 0)
    found = hours * 3600 + minutes * 60 + seconds
    if not 1 <= found <= LONGEST_DEADLINE_S:
        text = tr(
            "{cancel_after} must be seconds, or like 90s, 5m or 1h30m, up to 30 days, not {written}.",
            cancel_after=CANCEL_AFTER,
            written=shown(written),
        )
        raise Invalid([(CANCEL_AFTER, text)])
    return found
