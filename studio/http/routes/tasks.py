"""Tasks in full detail, beside the published view: list, show, cancel, and delete their results."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, Response

from studio.actions.tasks import cancel_task, delete_results, task_view, task_views
from studio.http.routes.call import Calling
from studio.http.routes.documentation import problems
from studio.http.routes.identifiers import known_task_id
from studio.http.routes.schemas import Tasks, TaskView
from studio.store.task_filter import TaskFilter

MOST_TASKS = 200

router = APIRouter(tags=["tasks"])

State = Literal["queued", "running", "completed", "failed", "cancelled"]
Kind = Literal["conversion", "training", "report", "blend"]
Cursor = Annotated[str | None, Query(max_length=500, pattern="^[A-Za-z0-9_=.:-]*$", description="From `next_cursor`.")]


@router.get("/tasks", response_model=Tasks, responses=problems(422))
async def list_tasks(
    call: Calling,
    state: State | None = None,
    kind: Kind | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST_TASKS)] = 50,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the account's tasks, newest first."""
    found = await call.quickly(
        task_views, call.studio, call.account, call.base_url, call.now_s,
        wanted=TaskFilter(state, kind), limit=limit, cursor=cursor,
    )  # fmt: skip
    return JSONResponse(found)


@router.get("/tasks/{task_id}", response_model=TaskView, responses=problems(404, 422))
async def one_task(call: Calling, task_id: str) -> JSONResponse:
    """Return a task: progress, message, error, times, and for a conversion the scores and links of each take."""
    task_id = known_task_id(task_id)
    return JSONResponse(await call.quickly(task_view, call.studio, call.account, task_id, call.base_url, call.now_s))


@router.delete("/tasks/{task_id}", response_model=TaskView, responses=problems(404, 409, 422))
async def cancel(call: Calling, task_id: str) -> JSONResponse:
    """Cancel a task: at once if it is queued, else as soon as its worker notices."""
    task_id = known_task_id(task_id)
    return JSONResponse(await call.quickly(cancel_task, call.studio, call.account, task_id, call.base_url, call.now_s))


@router.delete("/tasks/{task_id}/results", status_code=204, responses=problems(404, 409, 422))
async def remove_results(call: Calling, task_id: str) -> Response:
    """Delete the recording and the takes of a conversion that has ended; their links end with them."""
    await call.at_length(delete_results, call.studio, call.account, known_task_id(task_id))
    return Response(status_code=204)
