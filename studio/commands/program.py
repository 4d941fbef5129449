"""What this program is called where it is installed."""

import os
import shutil
import sys
from pathlib import Path

from engine.installed import NAME, shown_path
from studio.commands.wording import BY_MODULE, PROGRAM


def installed_name(called: str) -> str:
    """Return what to type for this program: its command's name where that is found, else its path.
    called: the program's own first argument. Only where no command is installed it is `python -m studio`."""
    by_name = Path(called).stem == PROGRAM
    script = Path(called) if by_name else Path(sys.executable).with_name(NAME + (".exe" if os.name == "nt" else ""))
    found = shutil.which(PROGRAM)
    if not script.is_file():
        return PROGRAM if by_name else BY_MODULE
    return PROGRAM if found and script.samefile(found) else shown_path(script.absolute())
