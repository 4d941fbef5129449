"""The HTTP service: the app with its middleware and routes, and the server that runs it until it is asked to end.
On SIGTERM or Ctrl-C it refuses new work, finishes the calls in progress and then stops the workers."""

import contextlib
import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.telemetry import TelemetryConfig
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import Receive, Scope, Send

from engine.errors import EngineError, SettingsError
from engine.texts import tr
from studio.actions.tasks import task_view
from studio.errors import NotFound
from studio.executors.action_processes import ApartActions
from studio.executors.callback_sender import CallbackSender
from studio.executors.core_shares import CoreShares
from studio.executors.housekeeping import delete_received
from studio.executors.local import LocalExecutor
from studio.executors.ray.executor import RayExecutor
from studio.executors.recovery import end_training
from studio.executors.timer_thread import TimerThread
from studio.http.errors import problem_of
from studio.http.metrics import Metrics
from studio.http.middleware import API, DOCUMENTATION, ServerState, ServiceMiddleware
from studio.http.protocol import BoundedProtocol, BoundedWebSocket
from studio.http.rights import RightsWatch
from studio.http.root_path import RootPath
from studio.http.routes import (
    callbacks,
    conversions,
    documentation,
    events,
    files,
    health,
    markdown,
    models,
    openai,
    projects,
    tasks,
)
from studio.http.task_watch import TaskWatch
from studio.settings.environment import Settings
from studio.settings.logs import start_logs
from studio.settings.service import LARGEST_LIVE_MESSAGE, ServiceSettings, is_for_this_machine
from studio.store.deadlines_and_callbacks import cancel_overdue
from studio.store.studio import Studio, open_studio
from studio.tracing import start_tracing

Executor = LocalExecutor | RayExecutor  # with the same methods, which nobody has to tell apart
KEEP_ALIVE_S = 30
# FastAPI traces calls once studio.tracing has begun; the addresses of signed links and live sessions are secrets
TELEMETRY: TelemetryConfig = {
    "metrics": False,
    "logs": False,
    "operation_spans": False,
    "exclude": lambda scope: any(secret in scope["path"] for secret in ("/files/", "/live/")),
}
LAST_S = 3  # for connections that are still open after the calls have been answered
_ROUTES = (conversions, models, tasks, events, callbacks, projects, files, health, openai, documentation, markdown)


def build_app(studio: Studio, executor: Executor | None = None, cores: CoreShares | None = None) -> FastAPI:
    """Return the service as an ASGI app, without a page; something may be mounted at "/" afterwards."""
    app = FastAPI(
        openapi_url="/openapi.json", docs_url=None, redoc_url=None, redirect_slashes=False, telemetry=TELEMETRY
    )
    state, metrics = ServerState(), Metrics(studio.database, dict if executor is None else executor.alive, cores)
    app.state.cores = cores
    app.state.studio, app.state.executor, app.state.server, app.state.metrics = studio, executor, state, metrics
    app.state.checkup, app.state.watch = health.Checkup(studio), TaskWatch(studio.database, lambda: state.shutting_down)
    for one in _ROUTES:
        app.router.routes.extend(one.router.routes)
    app.router.routes.append(Mount(documentation.FILES, documentation.static_files()))
    app.router.routes.extend(_unknown_addresses())
    app.openapi = cache(partial(documentation.openapi_of, app, studio.base_url("")))  # type: ignore[method-assign]
    for kind in (EngineError, HTTPException, RequestValidationError):
        app.add_exception_handler(kind, _problem)
    app.state.rights = RightsWatch(studio.database)
    app.add_middleware(ServiceMiddleware, studio=studio, state=state, metrics=metrics, rights=app.state.rights)
    return app


def run_server(settings: Settings, service: ServiceSettings, announce: Callable[[str, bool], None]) -> None:
    """Open the studio and serve it, with its page and workers as the settings say, until SIGTERM or Ctrl-C.
    announce: receives the address, and whether only this machine can reach it. Raises SettingsError, Unavailable."""
    os.umask(0o077)  # what the service and its workers write is for this user alone, whoever started them
    start_logs(level=service.log_level)
    start_tracing()
    with contextlib.ExitStack() as opened:
        studio = open_studio(settings, service)
        opened.callback(studio.close)
        delete_received(settings.work)  # what a killed service has left
        cores = opened.enter_context(contextlib.closing(CoreShares(service.threads)))
        executor = executor_of(settings, service, cores)
        if executor is not None:
            studio = replace(studio, wake=executor.wake)
        apart = ApartActions(studio)
        opened.callback(apart.close)
        studio = replace(studio, submit=apart.submit)
        app = build_app(studio, executor, cores)
        for attendant in attendants_of(studio):
            attendant.start()
            opened.callback(attendant.stop)
        local_only = is_for_this_machine(service)
        if service.page != "off":
            from studio.page.blocks import mount_page  # takes seconds, which a service without a page does not need

            app = mount_page(app, studio)
        serve_app(app, studio, executor, lambda address: announce(address, local_only))


def attendants_of(studio: Studio) -> list[TimerThread]:
    """Return what looks after deadlines and callbacks."""
    log = structlog.get_logger("studio.attendant")
    sender = CallbackSender(studio, task_view, log)
    return [
        TimerThread("deadlines", partial(cancel_overdue, studio.database, end_training), log),
        TimerThread("callbacks", sender.begin_due, log, sender.close),
    ]


def executor_of(settings: Settings, service: ServiceSettings, cores: CoreShares | None = None) -> Executor | None:
    """Return what runs the tasks as the settings say; None if that is not this process's concern."""
    log = structlog.get_logger("studio.executor")
    if service.executor == "local":
        return LocalExecutor(settings, service, log, cores=cores)
    return RayExecutor(settings, service, log) if service.executor == "ray" else None


def serve_app(
    app: FastAPI, studio: Studio, executor: Executor | None, ready: Callable[[str], None] = lambda address: None
) -> None:
    """Serve an app that `build_app` made, with the executor's workers, until SIGTERM or Ctrl-C. Raises SettingsError.
    ready: receives the address once the server answers."""
    listener = _listener(studio.service.host, studio.service.port)
    config = uvicorn.Config(
        RootPath(app, studio.service.path_prefix),
        http=BoundedProtocol,
        ws=BoundedWebSocket,
        ws_max_size=LARGEST_LIVE_MESSAGE,
        ws_per_message_deflate=False,  # samples do not get smaller
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=LAST_S,
    )
    host, port = studio.service.host, listener.getsockname()[1]
    address = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    server = _Server(config, app.state.server, studio.service.grace_s, lambda: ready(address))
    try:
        if executor is not None:
            executor.start()
        server.run(sockets=[listener])
    finally:
        listener.close()
        if executor is not None:
            executor.stop()


class _Server(uvicorn.Server):
    """Uvicorn's server; when asked to end it first refuses new work and finishes the calls in progress."""

    def __init__(self, config: uvicorn.Config, state: ServerState, grace_s: float, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._state, self._grace_s, self._ready = state, grace_s, ready
        self._end_at: float | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and report it."""
        await super().startup(sockets)
        self._ready()

    async def on_tick(self, counter: int) -> bool:
        """Whether to end now: once all calls are answered, or the time of grace is over."""
        if self._state.shutting_down:
            self._end_at = self._end_at or time.monotonic() + self._grace_s
            self.should_exit = self.should_exit or not self._state.calls or time.monotonic() > self._end_at
        return await super().on_tick(counter)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Do not raise the signals again at the end, as uvicorn does, since the workers must still be stopped."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down gracefully at the first signal, at once at the second."""
        if self._state.shutting_down:
            self.should_exit = self.force_exit = True
        self._state.shutting_down = True


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # connections inherit it; asyncio sets it only for sockets of its own, and without it an answer in two pieces
        # waits 40 ms for the acknowledgement of the first
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as cause:
        if cause.errno == errno.EADDRINUSE:
            remedy = tr(
                "the port is in use, perhaps by the studio itself. Use that, or choose another port with --port."
            )
        else:
            remedy = tr("{strerror}. Choose another --host or --port.", strerror=cause.strerror or cause)
        raise SettingsError(
            tr("The service cannot listen on {host}, port {port}: {remedy}", host=host, port=port, remedy=remedy)
        ) from cause


async def _problem(request: Request, error: Exception) -> Response:
    """Return an error as a problem document; 405 names all methods of the address, whichever route refused.
    GET /models/create asks for a voice of that name; where there is none, the address is that of the POST alone."""
    if isinstance(error, NotFound) and (words := _methods(request, literal=True)) and request.method not in words:
        error = HTTPException(405)
    response = problem_of(error).response(request.headers.get("accept-language"), request.scope["path"])
    if response.status_code == 405:
        response.headers["Allow"] = ", ".join(sorted(_methods(request))) or "GET, HEAD"  # those of static files
    return response


def _methods(request: Request, literal: bool = False) -> set[str]:
    """Return the methods of an address: of its literal routes, and unless there are any, of those with parameters."""
    path, routes = request.scope["path"], [one for one in request.app.router.routes if isinstance(one, Route)]
    own = {method for route in routes if route.path == path for method in route.methods or ()}
    if own or literal:
        return own
    return {method for route in routes if route.path_regex.match(path) for method in route.methods or ()}


class _UnknownAddress:
    """Refuses unknown addresses below the service's own, so that a page mounted later does not answer them."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raise HTTPException 405 for a method that the address does not have, else 404."""
        raise HTTPException(405 if _methods(Request(scope)) else 404)


def _unknown_addresses() -> list[Route]:
    paths = [path for area in sorted(API | DOCUMENTATION) for path in (f"/{area}", f"/{area}/{{rest:path}}")]
    return [Route(path, _UnknownAddress(), include_in_schema=False) for path in paths]
