"""The call a route answers: its account, its form, and the threads that run its actions."""

import time
from asyncio import CancelledError, wrap_future
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Concatenate, ParamSpec, TypeVar

from anyio import to_thread
from fastapi import Depends, Request
from fastapi.routing import APIRoute

from engine.texts import tr
from studio.errors import Invalid
from studio.http.bodies import LARGEST_FORM, BodyLimits, Form, plain_too_large
from studio.http.field_names import form_names, unknown_fields
from studio.http.middleware import ServerState, announced_size
from studio.http.rights import Right
from studio.http.routes.documentation import OPEN_PATHS, query_names
from studio.http.task_watch import TaskWatch
from studio.http.uploads import INCOMING, UploadPlace, received_form
from studio.settings.service import MEGABYTE
from studio.store.accounts import Account
from studio.store.idempotency import Idempotency
from studio.store.reading import read_soon
from studio.store.studio import Cost, Studio, cost_of

P = ParamSpec("P")
T = TypeVar("T")
KEY_HEADER = "Idempotency-Key"
_LONGEST_KEY = 255
_OF_OTHERS = (*OPEN_PATHS, "/metrics")


@dataclass(frozen=True)
class Call:
    """A call admitted by the middleware."""

    request: Request
    studio: Studio
    server: ServerState

    @property
    def account(self) -> Account:
        account: Account = self.request.state.account
        return account

    @property
    def request_id(self) -> str:
        return str(self.request.state.request_id)

    @property
    def base_url(self) -> str:
        """Return the address the client used for the service."""
        return str(self.request.base_url).rstrip("/")

    @property
    def own_address(self) -> str:
        """Return the address of the service as this client knows it, to begin links with."""
        return self.studio.base_url(self.base_url)

    @property
    def watch(self) -> TaskWatch:
        """Return what waits for tasks."""
        watch: TaskWatch = self.request.app.state.watch
        return watch

    @property
    def right(self) -> Right:
        """Return the caller's right, which may end while the call goes on."""
        right: Right = self.request.state.right
        return right

    def leave_room(self) -> None:
        """Give the place among the uploads to another call: what is left is to wait."""
        self.request.state.room.close()

    @property
    def now_s(self) -> float:
        return time.time()

    async def do(self, action: Callable[Concatenate[Studio, Account, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do `action(studio, account, ...)` where what it costs belongs: a server answers others meanwhile.
        Of what queues tasks, deletes files or is done elsewhere, few are done at once, and accounts take turns."""
        account, work = self.account, partial(action, self.studio, self.account, *args, **kwargs)
        match cost_of(action):
            case Cost.ROW:
                return await read_soon(self.studio.database, work)
            case Cost.QUICK:
                return await to_thread.run_sync(work)
            case Cost.START:
                return await self._in_turn(self.server.start_threads.submit(account.id, work))
            case Cost.DELETE:
                return await self._in_turn(self.server.deletion_threads.submit(account.id, work))
            case Cost.APART | Cost.WARM:
                submit = partial(self.studio.apart, account, action, account, *args, **kwargs)
                return await self._in_turn(await to_thread.run_sync(submit))

    async def _in_turn(self, future: Future[T]) -> T:
        """Wait for what was submitted. It is not begun any more once the caller's right has ended: Unauthorised."""
        with self.right.at_end(future.cancel):
            try:
                return await wrap_future(future)
            except CancelledError:
                if future.cancelled():
                    self.right.refuse_ended()
                raise

    def check_query(self) -> None:
        """Refuse parameters that the address does not take, or takes once; players and monitors may add to theirs."""
        if self._route.path_format in _OF_OTHERS:
            return
        given, known = self.request.query_params, query_names(self._route)
        if twice := [name for name in known if len(given.getlist(name)) > 1]:
            raise Invalid([(name, tr("{name} is given more than once.", name=name)) for name in twice])
        others = [name for name in given if name not in known]
        if others and not self._ignores_others:
            names = form_names(self._route)
            raise unknown_fields(others, known, {*(names.texts or ()), *names.files})
        self._note_ignored(others)

    @asynccontextmanager
    async def form(self) -> AsyncIterator[Form]:
        """Yield the form in the body, with the fields that the route documents; its files exist meanwhile."""
        service = self.studio.service
        limits = BodyLimits(
            service.largest_upload_mb * MEGABYTE, service.free_disk_mb * MEGABYTE, service.least_upload_kb_s * 1000
        )
        place = UploadPlace(self.studio.settings.work / INCOMING, limits, self.server.upload_threads)
        content_type = self.request.headers.get("content-type", "")
        names = form_names(self._route, self._ignores_others)
        if not names.files and (announced_size(self.request.headers) or 0) > LARGEST_FORM:
            raise plain_too_large(LARGEST_FORM)  # before it is read
        async with received_form(self.request.stream(), content_type, place, names) as form:
            self._note_ignored(form.ignored)
            yield form

    def idempotency(self, call: str, form: Form) -> Idempotency | None:
        """Return the key of this call, if the client sent one. Raises Invalid."""
        key = self.request.headers.get(KEY_HEADER)
        if key is None:
            return None
        if not 0 < len(key) <= _LONGEST_KEY or not key.isascii() or not key.isprintable():
            raise Invalid(
                [
                    (
                        KEY_HEADER,
                        tr(
                            "{key_header} must be 1 to {longest_key} printable ASCII characters.",
                            key_header=KEY_HEADER,
                            longest_key=_LONGEST_KEY,
                        ),
                    )
                ]
            )
        return Idempotency(call, key, form.fingerprint)

    @property
    def _route(self) -> APIRoute:
        route: APIRoute = self.request.scope["route"]
        return route

    @property
    def _ignores_others(self) -> bool:
        return self.studio.service.allow_unknown_fields == "on"

    def _note_ignored(self, names: Sequence[str]) -> None:
        """Name fields that are ignored in the answer's header."""
        state = self.request.state
        state.ignored = (*getattr(state, "ignored", ()), *names)

    def note(self, **ids: str) -> None:
        """Add the ids of new objects to the log entry of this call: task_id, model_id."""
        for name, value in ids.items():
            setattr(self.request.state, name, value)


async def _call(request: Request) -> Call:
    call = Call(request, request.app.state.studio, request.app.state.server)
    if request.scope["query_string"]:
        call.check_query()
    return call


Calling = Annotated[Call, Depends(_call)]
