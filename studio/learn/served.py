"""The site of the lessons at /learn, in the language of who reads it."""

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from studio.languages.reading import reader_language
from studio.learn.contents import START
from studio.learn.site import files, pages_in

PLACE = "learn"
# nothing is fetched from elsewhere, whatever a lesson may link to
_POLICY = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; media-src 'self'; base-uri 'none'"
_HOME = "../"


def lesson_routes() -> list[Route]:
    return [Route(f"/{PLACE}", _first, methods=["GET"]), Route(f"/{PLACE}/{{name:path}}", _answer, methods=["GET"])]


async def _first(request: Request) -> Response:
    return RedirectResponse(f"{PLACE}/")  # from here, so under any path of a proxy


async def _answer(request: Request) -> Response:
    name = request.path_params["name"] or f"{START}.html"
    page, file = pages_in(reader_language(), _HOME).get(name), files().get(name)
    if page is not None:
        return HTMLResponse(page, headers={"Content-Security-Policy": _POLICY, "Vary": "Accept-Language, Cookie"})
    return FileResponse(file) if file is not None else Response(status_code=404)
