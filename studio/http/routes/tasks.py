"""Tasks in full detail, beside the published view: list, show, cancel, and delete their results."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query
from starlette.responses import JSONResponse, Response

from engine.texts import tr
from studio.actions.conversions.comps import start_comp
from studio.actions.conversions.takes import LONGEST_NAME, LabelledTake, label_take
from studio.actions.tasks import Tasks, TaskView, cancel_task, delete_results, task_view, task_views
from studio.errors import Invalid
from studio.http.bodies import JSON, MULTIPART, URLENCODED
from studio.http.routes.answers import described
from studio.http.routes.call import Calling
from studio.http.routes.checked_answers import CheckedRoute, Shown
from studio.http.routes.documentation import OF_UPLOADS, body, problems
from studio.http.routes.fields import WHOLE, Fields
from studio.http.routes.identifiers import known_task_id
from studio.http.routes.schemas import StartedTask
from studio.http.routes.waits_deadlines_callbacks import (
    PREFERENCE,
    answers_of_start,
    looked,
    promises_of,
    starting,
    true_to_the_queue,
)
from studio.store.kinds import CONVERSION, LISTED
from studio.store.records.conversion import ChosenTake
from studio.store.task_filter import TaskFilter
from studio.store.tasks import State

MOST_TASKS = 200

router = APIRouter(tags=["tasks"], route_class=CheckedRoute)

Kind = Literal[LISTED]  # type: ignore[valid-type]
Cursor = Annotated[str | None, Query(max_length=500, pattern="^[A-Za-z0-9_=.:-]*$", description="From `next_cursor`.")]


@router.get("/tasks", **described("list_tasks", "List tasks", Tasks, problems(422)))
async def list_tasks(
    call: Calling,
    state: State | None = None,
    kind: Kind | None = None,
    limit: Annotated[int, Query(ge=1, le=MOST_TASKS), WHOLE] = 50,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the account's tasks, newest first."""
    wanted = TaskFilter(state, kind)
    found = await call.do(task_views, call.base_url, call.now_s, wanted=wanted, limit=limit, cursor=cursor)
    return Shown(found)


@router.get("/tasks/{task_id}", **described("get_task", "Show a task", TaskView, problems(404, 422), PREFERENCE))
async def one_task(call: Calling, task_id: str) -> JSONResponse:
    """Return a task: progress, message, error, times, and for a conversion the scores and links of each take."""
    task_id = known_task_id(task_id)
    return await looked(call, task_id, lambda: call.do(task_view, task_id, call.base_url, call.now_s))


@router.delete("/tasks/{task_id}", **described("cancel_task", "Cancel a task", TaskView, problems(404, 409, 422)))
async def cancel(call: Calling, task_id: str) -> JSONResponse:
    """Cancel a task: at once if it is queued, else as soon as its worker notices."""
    task_id = known_task_id(task_id)
    return Shown(await call.do(cancel_task, task_id, call.base_url, call.now_s))


@router.delete(
    "/tasks/{task_id}/results",
    status_code=204,
    **described("delete_results", "Delete the results of a conversion", None, problems(404, 409, 422)),
)
async def remove_results(call: Calling, task_id: str) -> Response:
    """Delete the recording and the takes of a conversion that has ended; their links end with them."""
    await call.do(delete_results, known_task_id(task_id))
    return Response(status_code=204)


_COMP_FIELDS = {
    "takes": {
        "type": "string",
        "pattern": "^[1-9][0-9]*(,[1-9][0-9]*)*$",
        "examples": ["1,2,1"],
        "description": "The take for each phrase, 1 for the first; the phrases are those of `phrase_starts_s`.",
    }
}


@router.post(
    "/tasks/{task_id}/comp",
    operation_id="comp_takes",
    summary="Make one take of several",
    response_model=StartedTask,
    responses=answers_of_start(StartedTask, 404, 409, *OF_UPLOADS),
    openapi_extra=starting(_COMP_FIELDS, ("takes",), MULTIPART, URLENCODED, JSON),
)
async def comp(call: Calling, task_id: str) -> JSONResponse:
    """Put one take together out of the takes of a conversion, phrase by phrase, as a conversion of its own."""
    task_id = known_task_id(task_id)
    async with call.form() as form:
        fields = Fields(form)
        numbers, promises = fields.numbers("takes"), promises_of(call, fields)
        fields.check()
        if min(numbers) < 1:
            raise Invalid([("takes", tr("takes must be numbers of takes, 1 for the first."))])
        choice = [ChosenTake(task_id, number) for number in numbers]
        idempotency = call.idempotency(f"comp {task_id}", form)
        async with true_to_the_queue(call, CONVERSION):
            new_id = await call.do(promises.of(call).around(start_comp), task_id, choice, idempotency)
    call.note(task_id=new_id)
    return await promises.answer(call, new_id, {"task_id": new_id})


_LABEL_FIELDS = {
    "name": {"type": "string", "maxLength": LONGEST_NAME, "description": "A name, or nothing for none."},
    "starred": {"type": "boolean", "description": "Whether the take is starred."},
}


@router.put(
    "/tasks/{task_id}/takes/{number}",
    operation_id="label_take",
    summary="Name or star a take",
    response_model=LabelledTake,
    responses=problems(404, *OF_UPLOADS),
    openapi_extra=body(_LABEL_FIELDS, (), MULTIPART, URLENCODED, JSON),
)
async def label(call: Calling, task_id: str, number: Annotated[int, Path(ge=1, le=100), WHOLE]) -> JSONResponse:
    """Name or star a take; a field that is left out stays as it is. The name is part of file names."""
    task_id = known_task_id(task_id)
    async with call.form() as form:
        fields = Fields(form)
        starred = fields.flag("starred", False) if fields.has("starred") else None
        name = fields.words("name")
        fields.check()
        found = await call.do(label_take, task_id, number, name, starred)
    return Shown(found)
