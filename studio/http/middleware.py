"""Middleware for every call of the service, before and after its route; the page and its files are passed through.
In this order: request id, token, refusal of new work at the end, rate limit, size of the body, free disk space."""

import asyncio
import random
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial

import anyio
import structlog
from anyio import CapacityLimiter, to_thread
from fastapi.routing import APIRoute
from starlette.datastructures import Headers, MutableHeaders, State
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.errors import EngineError
from engine.texts import tr
from studio.errors import NotFound, TooMany, Unauthorised, Unavailable
from studio.executors.action_processes import MOST_WAITING
from studio.executors.turns import Turns
from studio.http.bodies import too_large
from studio.http.errors import problem_of
from studio.http.field_names import IGNORED, form_names, ignored_header
from studio.http.metrics import Metrics
from studio.http.rights import Right, RightsWatch, ended
from studio.settings.service import MEGABYTE, is_for_this_machine
from studio.store.accounts import Account
from studio.store.free_space import refuse_full_disk
from studio.store.rate_limits import Bucket, SharedReads, count_call
from studio.store.reading import read_soon
from studio.store.studio import Studio
from studio.store.tokens import Holder, holder_of_token, note_use

API = frozenset(
    {"convert", "check-task", "verify", "models", "tasks", "callbacks", "projects", "files", "health", "metrics", "v1"}
)
WITHOUT_API = frozenset({"files", "health"})  # the page needs these even if the HTTP interface is off
DOCUMENTATION = frozenset({"docs", "docs.md", "llms.txt", "SKILL.md", "openapi.json", "docs-files"})
ROOM_BESIDE_A_FILE = 64 << 10  # bytes of a body for its other fields and the boundaries
DRAINED = 256 << 20  # bytes of a refused upload that are read and discarded, so that the client receives the answer
DRAINED_WITHOUT_FILES = 1 << 20  # the same where no file belongs
DRAIN_S = 10.0  # at most
ENDED_DRAIN_S = 1.0  # where the caller's right has ended
RETRY_S = 5.0
_ENDS = tr("The service is shutting down. Try again in a moment.")
_COPIES = 3  # of a recording: the upload, the stored file and the result
_PLAIN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")  # client ids that may be logged
_TAKE_FILES = frozenset({"convert", "verify", "models", "v1"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_EXPORTS = re.compile(r"/models/[^/]+/package/?|/projects/[^/]+/export/?")  # take as long as any POST


@dataclass
class ServerState:
    """The state of one server process: whether it is shutting down, and the calls and uploads in progress."""

    shutting_down: bool = False
    calls: int = 0  # in progress
    uploads: Counter[str] = field(default_factory=Counter)  # large bodies in progress, by account
    # slow work has its own threads, so that quick calls never wait for it
    upload_threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(4))
    start_threads: Turns = field(default_factory=lambda: Turns(4, MOST_WAITING))  # for what queues tasks
    deletion_threads: Turns = field(default_factory=lambda: Turns(2, MOST_WAITING))
    health_threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(1))  # needs no token

    @contextmanager
    def upload(self, account_id: str, most: int, most_of_account: int) -> Iterator[None]:
        """Reserve a place for an upload. Raises TooMany if all places, or all of the account, are taken."""
        if self.uploads.total() >= most or self.uploads[account_id] >= most_of_account:
            raise TooMany(tr("Too many uploads are in progress. Try again in a moment."), RETRY_S, "too_many_uploads")
        self.uploads[account_id] += 1
        try:
            yield
        finally:
            self.uploads[account_id] -= 1
            self.uploads += Counter()  # removes the accounts without uploads


class ServiceMiddleware:
    """ASGI middleware around the whole app that handles only the addresses of the service."""

    def __init__(self, app: ASGIApp, studio: Studio, state: ServerState, metrics: Metrics, rights: RightsWatch) -> None:
        self._app, self._studio, self._state, self._metrics, self._rights = app, studio, state, metrics, rights
        self._buckets: dict[str, Bucket] = {}
        self._reads = SharedReads(studio.database, studio.service.reads_per_minute)
        self._largest_body = studio.service.largest_upload_mb * MEGABYTE + ROOM_BESIDE_A_FILE
        self._log = structlog.get_logger("studio.http")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the call on, or answer it with a problem document."""
        area = area_of(scope)
        if area in API and not _area(scope):  # the client's base address ends in a slash
            scope = {**scope, "path": _with_one_slash(scope)}
        if area not in API | DOCUMENTATION:
            await self._app(scope, receive, send)
            return
        request_id = _request_id(Headers(scope=scope))
        exchange = Exchange(scope, receive, send, request_id, self._largest_body, partial(_drained, scope, area))
        started_s = time.perf_counter()
        self._state.calls += 1
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._answer(scope, exchange, area)
            finally:
                self._state.calls -= 1
                self._note(scope, exchange, f"/{area}", time.perf_counter() - started_s)

    async def _answer(self, scope: Scope, exchange: "Exchange", area: str) -> None:
        state = scope.setdefault("state", {})
        state["request_id"], state["account"] = exchange.request_id, None
        try:
            if area not in WITHOUT_API and not self._studio.service.has_api:
                raise NotFound(tr("The HTTP interface is switched off here."), "api_off")
            holder = None if self._is_open(scope, area) else await self._holder(exchange)
            with self._rights.granted(*([] if holder is None else [holder.token_id])) as right:
                state["right"] = exchange.right = right
                if holder is not None:
                    state["account"] = await self._admit(scope, exchange, holder)
                async with self._room(scope, exchange):
                    await self._app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            exchange.left = not exchange.right.has_ended
            if exchange.right.has_ended:
                await exchange.refuse(ended())
        except asyncio.CancelledError:
            if not self._state.shutting_down:
                raise
            # the server shuts down and no longer waits for the rest of the body
            await exchange.refuse(Unavailable(_ENDS, RETRY_S, "shutting_down"))
        except (EngineError, HTTPException) as error:
            await exchange.refuse(error)
        except Exception as error:  # noqa: BLE001 - answered as a 500
            self._log.exception("internal error")
            await exchange.refuse(error)

    def _is_open(self, scope: Scope, area: str) -> bool:
        if area == "health" or (area == "files" and scope["method"] in _READING):
            return True
        return area in DOCUMENTATION and is_for_this_machine(self._studio.service)

    async def _holder(self, exchange: "Exchange") -> Holder:
        """Return whose token the call has. Raises Unauthorised."""
        secret = _bearer(exchange.headers)
        holder = await read_soon(self._studio.database, holder_of_token, self._studio.database, secret)
        if holder is None:
            text = tr("The token is unknown, expired or revoked. Create another with `timbre-studio token create`.")
            raise Unauthorised(text, "token_invalid")
        return holder

    async def _admit(self, scope: Scope, exchange: "Exchange", holder: Holder) -> Account:
        if not holder.is_noted:
            await to_thread.run_sync(note_use, self._studio.database, holder)
        account = holder.account
        if scope["method"] != "POST" and not _EXPORTS.fullmatch(scope["path"]):
            now_s = time.monotonic()
            self._bucket(account).take(now_s)
            if not self._reads.take_reserved(account.id, now_s):
                await to_thread.run_sync(self._reads.take, account.id, now_s)
            return account
        if self._state.shutting_down:
            raise Unavailable(_ENDS, RETRY_S, "shutting_down")
        expected = exchange.expected
        if expected is not None and expected > self._largest_body:
            service = self._studio.service
            raise too_large(service.largest_upload_mb * MEGABYTE, service.raised_by("largest_upload_mb"))
        await to_thread.run_sync(partial(self._refuse_too_much, account, expected or 0))
        return account

    def _refuse_too_much(self, account: Account, expected: int) -> None:
        count_call(self._studio.database, account.id, self._studio.service.submissions_per_minute)
        refuse_full_disk(self._studio, _COPIES * expected)

    def _bucket(self, account: Account) -> Bucket:
        if account.id not in self._buckets:
            self._buckets[account.id] = Bucket(self._studio.service.reads_per_minute, time.monotonic())
        return self._buckets[account.id]

    @asynccontextmanager
    async def _room(self, scope: Scope, exchange: "Exchange") -> AsyncIterator[None]:
        """Reserve a place for an upload, unless the body is known to be small. Calls without a token take none.
        The call's `room` in the state closes before the call ends if only waiting is left."""
        small = exchange.expected is not None and exchange.expected <= ROOM_BESIDE_A_FILE
        service, account = self._studio.service, scope["state"]["account"]
        with ExitStack() as room:
            scope["state"]["room"] = room
            if not small and account is not None:
                room.enter_context(self._state.upload(account.id, service.uploads_at_once, service.uploads_per_account))
            yield

    def _note(self, scope: Scope, exchange: "Exchange", area: str, took_s: float) -> None:
        route = getattr(scope.get("route"), "path_format", area)  # never the client's text
        account: Account | None = scope["state"]["account"]
        named = {name: scope["state"].get(name) or scope.get("path_params", {}).get(name) for name in _NAMED}
        self._metrics.note_call(scope["method"], route, exchange.status, took_s, exchange.received)
        self._log.info(
            "call",
            method=scope["method"],
            path=route,
            status=exchange.status,
            ms=round(took_s * 1000, 1),
            account=account.id if account else None,
            **{name: value for name, value in named.items() if value and _PLAIN_ID.fullmatch(value)},
        )


_NAMED = ("task_id", "model_id")


class Exchange:
    """The messages of one call: counts the bytes of the body and adds the request id to the answer."""

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        request_id: str,
        largest_body: int,
        drained: Callable[[], int] = lambda: DRAINED,
    ) -> None:
        """drained: how many bytes of a body that is not read are discarded, asked when the answer is sent."""
        self._drained, self.right = drained, Right()
        self.headers, self._path = Headers(scope=scope), str(scope["path"])
        self.request_id = request_id
        self.expected = announced_size(self.headers)  # bytes; None if unknown
        self.received = 0
        self.left = False  # the client disconnected
        self._status = 0
        self._state = State(scope.setdefault("state", {}))
        self._receive, self._send, self._largest_body = receive, send, largest_body
        self.is_all_here = self.expected == 0  # the whole body
        self._waits = self.headers.get("expect", "").lower() == "100-continue"  # before it sends the body
        self._closing = False

    @property
    def status(self) -> int:
        """The status of the answer; 499 if the client disconnected first."""
        return self._status or (499 if self.left else 500)

    async def receive(self) -> Message:
        """Receive the next part of the body, or that the client has left or its right has ended. Raises TooLarge."""
        message: Message = {"type": "http.disconnect"}
        with self.right.while_it_lasts():
            message = await self._receive()
        if message["type"] == "http.request":
            self._waits = False
            self.received += len(message.get("body", b""))
            self.is_all_here = not message.get("more_body", False)
            if self.received > self._largest_body:
                raise too_large(self._largest_body - ROOM_BESIDE_A_FILE)
        return message

    async def send(self, message: Message) -> None:
        """Send the next part of the answer. If the body was not read to its end, the connection closes afterwards.
        Raises ClientDisconnect for more of an answer whose right has ended."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            if self.request_id:
                headers["X-Request-ID"] = self.request_id
            headers["X-Content-Type-Options"] = "nosniff"
            if ignored := getattr(self._state, "ignored", ()):
                headers[IGNORED] = ignored_header(ignored)
            self._closing = not self.is_all_here
            if self._closing:
                headers["Connection"] = "close"
        last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if last and self._closing and not self._waits:
            await self._send({**message, "more_body": True})
            await self._drain()
            message = {"type": "http.response.body", "body": b""}
        if not message.get("more_body", False):  # what has been done is answered
            await self._send(message)
            return
        sent = False
        with self.right.while_it_lasts():  # a client may leave it unread
            await self._send(message)
            sent = True
        if not sent:
            raise ClientDisconnect

    async def refuse(self, error: Exception) -> None:
        """Answer with a problem document; an answer already begun is aborted, so that the client notices."""
        await self.answer(problem_of(error).response(self.headers.get("accept-language"), self._path))

    async def answer(self, response: Response) -> None:
        """Answer with a short response, whatever of the body has been read."""
        if self._status:
            return
        head = {"type": "http.response.start", "status": response.status_code, "headers": response.raw_headers}
        await self.send(head)
        await self.send({"type": "http.response.body", "body": response.body})

    async def _drain(self) -> None:
        """Keep reading for a while: closing the connection early would lose the answer to a client still sending."""
        drained, most, patience_s = 0, self._drained(), DRAIN_S
        if self.right.has_ended:
            most, patience_s = DRAINED_WITHOUT_FILES, ENDED_DRAIN_S
        if (self.expected or 0) - self.received > most:
            return
        with anyio.move_on_after(patience_s):
            while drained < most:
                message = await self._receive()
                drained += len(message.get("body", b""))
                if message["type"] != "http.request" or not message.get("more_body", False):
                    return


def area_of(scope: Scope) -> str:
    """Return the first part of the path of a call, also behind several slashes if it is the service's."""
    area = _area(scope)
    if area or scope["type"] != "http":
        return area
    single = _area({**scope, "path": _with_one_slash(scope)})
    return single if single in API else ""


def _area(scope: Scope) -> str:
    return scope["path"].split("/")[1] if scope["type"] == "http" and "/" in scope["path"] else ""


def _with_one_slash(scope: Scope) -> str:
    return re.sub("^/+", "/", scope["path"])


def _bearer(headers: Headers) -> str:
    """Return the token of a call. Raises Unauthorised without one."""
    scheme, _, secret = headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        text = tr(
            "A token is required. Send the header 'Authorization: Bearer TOKEN'; "
            "`timbre-studio token create` makes one."
        )
        raise Unauthorised(text, "token_missing")
    return secret.strip()


def _drained(scope: Scope, area: str) -> int:
    """Return how much of a refused body is discarded: an upload, where the call takes files or might."""
    route = scope.get("route")
    if isinstance(route, APIRoute):
        return DRAINED if form_names(route).files else DRAINED_WITHOUT_FILES
    return DRAINED if scope["method"] == "POST" and area in _TAKE_FILES else DRAINED_WITHOUT_FILES


def announced_size(headers: Headers) -> int | None:
    """Return the size of a body in bytes; None if unknown."""
    said = headers.get("content-length", "0")
    if "transfer-encoding" in headers or not (said.isascii() and said.isdecimal()):
        return None
    return int(said.lstrip("0") or "0")  # int() refuses thousands of digits


def _request_id(headers: Headers) -> str:
    given = headers.get("x-request-id", "")
    # not a secret; random bytes from the system would release the GIL and wait for it again
    return given if _PLAIN_ID.fullmatch(given) else f"{random.getrandbits(96):024x}"
