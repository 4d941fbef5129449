"""How the service is: one word for whoever watches over it, and numbers for Prometheus."""

from fastapi import APIRouter
from sqlalchemy import text
from starlette.responses import JSONResponse, Response

from studio.database import Database
from studio.errors import Unavailable
from studio.gate import RETRY_S
from studio.metrics import CONTENT_TYPE
from studio.routes.call import Calling
from studio.routes.documentation import problems
from studio.routes.schemas import Health

router = APIRouter(tags=["service"])


@router.get("/health", response_model=Health, responses=problems())
async def health(call: Calling) -> JSONResponse:
    """Whether the service can be used. No token is needed."""
    if call.doors.shutting_down:
        raise Unavailable("The service is shutting down.", RETRY_S, "shutting_down")
    await call.quickly(_ask, call.studio.database)
    executor = call.request.app.state.executor
    workers = None if executor is None else executor.alive().workers
    return JSONResponse({"status": "ok", "workers": workers})


@router.get(
    "/metrics",
    response_class=Response,
    responses={
        200: {"description": "Prometheus' text format.", "content": {"text/plain": {"schema": {"type": "string"}}}},
        **problems(),
    },
)
async def metrics(call: Calling) -> Response:
    """What the service counts: calls, tasks by kind and state, workers."""
    said = await call.quickly(call.request.app.state.metrics.text, call.doors.calls)
    return Response(said, media_type=CONTENT_TYPE)


def _ask(database: Database) -> None:
    with database.read() as connection:
        connection.execute(text("SELECT 1"))
