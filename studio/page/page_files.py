"""The scripts, styles and pictures of the page. They lie beside the tab they belong to, and are served as one folder.

So a script imports another by its name alone ("./roll.js"), wherever it lies; `static/jsconfig.json` tells editors so.
"""

import os
from pathlib import Path

from fastapi.staticfiles import StaticFiles

STATIC = Path(__file__).parent / "static"  # what belongs to no tab
FOLDERS = (STATIC, *sorted({path.parent for path in STATIC.parent.glob("*/*.js")} - {STATIC}))
_SERVED = {".js", ".css", ".png", ".svg", ".webmanifest"}  # and not the modules beside them


class PageFiles(StaticFiles):
    """Serves these files by their names."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    def lookup_path(self, path: str) -> tuple[str, os.stat_result | None]:
        """Return where the file lies, and what is known of it; ("", None) where there is none."""
        found = page_file(path)
        return (str(found), found.stat()) if found is not None else ("", None)


def page_file(name: str) -> Path | None:
    """Return where the file of this name lies."""
    if Path(name).name != name or Path(name).suffix not in _SERVED:
        return None
    return next((folder / name for folder in FOLDERS if (folder / name).is_file()), None)


def styles() -> list[str]:
    """Return the names of all style sheets, the one that imports the others first."""
    names = (path.name for folder in FOLDERS for path in folder.glob("*.css"))
    return sorted(names, key=lambda name: (name != "page.css", name))
