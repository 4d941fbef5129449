"""The files of the page, served: each by itself, and all styles and all modules as one file, for a quick first visit.

`all.css` is page.css with what it imports. `all.js` holds the source of each module, of which the browser makes a file
again (`joining.js`): they stay modules, and errors name the file and the line as they lie here.
"""

import json
import os
import re
from functools import lru_cache

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from studio.page.kept_answers import KeptAnswer
from studio.page.page_files import FOLDERS, STATIC, page_file

STYLES, SCRIPTS = "all.css", "all.js"
_FIRST_STYLE, _FIRST_MODULE, _JOINING = "page.css", "elements.js", "joining.js"
_FILES = "const FILES = [];"
_STYLE, _MODULE = re.compile(r'@import "([\w-]+\.css)";\n'), re.compile(r'(?:from|import) "\./([\w-]+\.js)"')


class PageFiles(StaticFiles):
    """Serves the files by their names, and the two."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return where the file lies, and what is known of it; ("", None) where there is none."""
        found = page_file(path)
        return (str(found), found.stat()) if found is not None else ("", None)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Answer a request."""
        joined = _answer(path, Headers(scope=scope)) if scope["method"] in ("GET", "HEAD") else None
        return joined or await super().get_response(path, scope)


def _answer(name: str, asked: Headers) -> Response | None:
    """Return the answer to a request for one of the two; None for any other file."""
    if name not in (STYLES, SCRIPTS):
        return None
    changed_ns = max(path.stat().st_mtime_ns for folder in FOLDERS for path in folder.iterdir())
    return _joined(name, changed_ns).response(asked)


@lru_cache(4)
def _joined(name: str, changed_ns: int) -> KeptAnswer:
    """Return a file as it is since then."""
    if name == STYLES:
        return KeptAnswer.of(joined_styles(), "text/css")
    return KeptAnswer.of(joined_scripts(), "text/javascript")


def joined_styles() -> str:
    """Return page.css with the styles that it imports in their place."""
    return _STYLE.sub(lambda found: _read(found[1]), _read(_FIRST_STYLE))


def joined_scripts() -> str:
    """Return the script that loads all modules, each after those that it imports."""
    return _read(_JOINING).replace(_FILES, f"{_FILES[:-3]}{json.dumps([*modules().items()], ensure_ascii=False)};")


def modules() -> dict[str, str]:
    """Return the source of each module of the page by its name, in such an order. Raises ValueError for a circle."""
    found: dict[str, str] = {}

    def add(name: str, above: tuple[str, ...] = ()) -> None:
        if name in above:
            raise ValueError(f"Modules import each other: {', '.join((*above, name))}.")
        if name not in found:
            source = _read(name)
            for other in _MODULE.findall(source):
                add(other, (*above, name))
            found[name] = source

    add(_FIRST_MODULE)
    return found


def _read(name: str) -> str:
    path = page_file(name)
    if path is None:
        raise ValueError(f"The page has no file {name}.")
    return path.read_text(encoding="utf-8")
