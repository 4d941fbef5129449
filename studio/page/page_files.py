"""The scripts, styles and pictures of the page. They lie beside the tab they belong to, and are served as one folder.

So a script imports another by its name alone ("./roll.js"), wherever it lies; `static/jsconfig.json` tells editors so.
"""

from pathlib import Path

STATIC = Path(__file__).parent / "static"  # what belongs to no tab
FOLDERS = (STATIC, *sorted({path.parent for path in STATIC.parent.glob("*/*.js")} - {STATIC}))
_SERVED = {".js", ".css", ".png", ".svg", ".webmanifest"}  # and not the modules beside them


def page_file(name: str) -> Path | None:
    """Return where the file of this name lies."""
    if Path(name).name != name or Path(name).suffix not in _SERVED:
        return None
    return next((folder / name for folder in FOLDERS if (folder / name).is_file()), None)
