"""Health of the service, and metrics for Prometheus."""

import threading
import time

from anyio import to_thread
from fastapi import APIRouter
from sqlalchemy import text
from starlette.responses import JSONResponse, Response

from engine.errors import SettingsError
from engine.texts import tr
from studio.errors import StudioError, Unavailable
from studio.http.metrics import CONTENT_TYPE
from studio.http.middleware import RETRY_S
from studio.http.routes.answers import described
from studio.http.routes.call import Calling
from studio.http.routes.checked_answers import CheckedRoute
from studio.http.routes.documentation import problems
from studio.http.routes.schemas import Health
from studio.store.studio import Studio

CHECKED_S = 2.0  # results of checking database and storage are reused for so long

router = APIRouter(tags=["service"], route_class=CheckedRoute)


class Checkup:
    """Checks database and storage at most every CHECKED_S seconds."""

    def __init__(self, studio: Studio) -> None:
        self._studio = studio
        self._lock = threading.Lock()
        self._until_s = 0.0
        self._trouble: StudioError | None = None

    def check(self) -> None:
        """Raise Unavailable if one of them cannot be used."""
        with self._lock:
            if time.monotonic() >= self._until_s:
                self._trouble = self._first_trouble()
                self._until_s = time.monotonic() + CHECKED_S
            if self._trouble is not None:
                raise Unavailable(str(self._trouble), RETRY_S, self._trouble.code)

    def _first_trouble(self) -> StudioError | None:
        try:
            with self._studio.database.read() as connection:
                connection.execute(text("SELECT 1"))
            self._studio.storage.check()
        except StudioError as trouble:
            return trouble
        except SettingsError as trouble:  # the folder is gone, or cannot be written to
            return Unavailable(str(trouble), RETRY_S, "storage_unreachable")
        return None


@router.head("/health", include_in_schema=False)
@router.get("/health", **described("get_health", "Check the service", Health, problems()))
async def health(call: Calling) -> JSONResponse:
    """Report whether the service is usable. No token is needed."""
    if call.server.shutting_down:
        raise Unavailable(tr("The service is shutting down."), RETRY_S, "shutting_down")
    await to_thread.run_sync(call.request.app.state.checkup.check, limiter=call.server.health_threads)
    executor = call.request.app.state.executor
    workers = None if executor is None else int(executor.alive()["workers"])
    return JSONResponse({"status": "ok", "workers": workers})


@router.get(
    "/metrics",
    operation_id="get_metrics",
    summary="Show metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(),
    },
)
async def metrics(call: Calling) -> Response:
    """Return metrics: calls, tasks by kind and state, workers."""
    said = await to_thread.run_sync(call.request.app.state.metrics.text, call.server.calls)
    return Response(said, media_type=CONTENT_TYPE)
