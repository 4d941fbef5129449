"""Projects over HTTP: recordings with everything that was made of them, listed, named, exported and deleted."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import JSONResponse, Response

from engine.analysis.timeline import Timeline
from studio.actions.history import search
from studio.actions.project_exports import Suffix, project_zip
from studio.actions.projects import PAGE, change_project, delete_project, project_view, projects_view
from studio.actions.projects import ProjectView as Project
from studio.actions.tasks import written_time
from studio.http.bodies import JSON, MULTIPART, URLENCODED
from studio.http.routes.answers import described
from studio.http.routes.call import Calling
from studio.http.routes.checked_answers import CheckedRoute, Shown
from studio.http.routes.documentation import OF_UPLOADS, Described, body, problems
from studio.http.routes.fields import FLAG, WHOLE, Fields
from studio.http.routes.identifiers import known_project_id
from studio.http.routes.schemas import ProjectExport, Projects, ProjectView
from studio.http.routes.setting_fields import parse_changes, setting_property
from studio.http.routes.tasks import Cursor
from studio.store.projects import LONGEST_NAME

MOST_PROJECTS = 100

router = APIRouter(tags=["projects"], route_class=CheckedRoute)

Words = Annotated[
    str, Query(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$", description="In the names of project, file or voice.")
]
_CHANGES: Described = {
    "name": {"type": "string", "maxLength": LONGEST_NAME, "description": "A name, or nothing for the recording's."},
    **{one.name: setting_property(one) for one in fields(Timeline)},
}


@router.get("/projects", **described("list_projects", "List projects", Projects, problems(422)))
async def list_projects(
    call: Calling,
    q: Words = "",
    limit: Annotated[int, Query(ge=1, le=MOST_PROJECTS), WHOLE] = PAGE,
    cursor: Cursor = None,
) -> JSONResponse:
    """List the account's projects, the last changed first."""
    wanted = await call.do(search, q)
    found = await call.do(projects_view, call.base_url, call.now_s, wanted=wanted, limit=limit, cursor=cursor)
    return Shown({"projects": [_written(one) for one in found.projects], "next_cursor": found.next_cursor})


@router.get("/projects/{project_id}", **described("get_project", "Show a project", ProjectView, problems(404, 422)))
async def one_project(call: Calling, project_id: str) -> JSONResponse:
    """Return a project with its conversions, the newest first."""
    return Shown(await _view(call, known_project_id(project_id)))


@router.put(
    "/projects/{project_id}",
    operation_id="change_project",
    summary="Change a project",
    response_model=ProjectView,
    responses=problems(404, *OF_UPLOADS),
    openapi_extra=body(_CHANGES, (), MULTIPART, URLENCODED, JSON),
)
async def change(call: Calling, project_id: str) -> JSONResponse:
    """Name a project, or place its recording in a song; a field that is left out stays as it is."""
    project_id = known_project_id(project_id)
    async with call.form() as form:
        given = Fields(form)
        timeline = parse_changes(given, Timeline)
        name = given.words("name")
        given.check()
        await call.do(change_project, project_id, name, timeline)
    return Shown(await _view(call, project_id))


@router.get(
    "/projects/{project_id}/export",
    **described("export_project", "Export a project", ProjectExport, problems(404, 422, 507)),
)
async def export(
    call: Calling,
    project_id: str,
    dry: Annotated[bool, Query(description="Takes without their effects."), FLAG] = False,
    format: Annotated[
        Suffix, Query(description="A .dawproject is opened by Bitwig Studio, Cubase, Studio One and others.")
    ] = "zip",
) -> JSONResponse:
    """Return a link to the project as a zip for a DAW: stems that begin together, MIDI, tables of pitch and phrases."""
    project_id = known_project_id(project_id)
    made = await call.do(project_zip, project_id, call.base_url, call.now_s, dry=dry, suffix=format)
    return Shown(made)


@router.delete(
    "/projects/{project_id}",
    status_code=204,
    **described("delete_project", "Delete a project", None, problems(404, 409, 422)),
)
async def remove(call: Calling, project_id: str) -> Response:
    """Delete all conversions of a project with their recordings and takes."""
    await call.do(delete_project, known_project_id(project_id))
    return Response(status_code=204)


async def _view(call: Calling, project_id: str) -> Mapping[str, object]:
    return _written(await call.do(project_view, project_id, call.base_url, call.now_s))


def _written(project: Project) -> Mapping[str, object]:
    """Return a project with its times as text."""
    times = {"created_at": written_time(project.created_at), "changed_at": written_time(project.changed_at)}
    return {**vars(project), **times}
