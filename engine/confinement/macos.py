"""The sandbox of macOS: a profile with which `sandbox-exec` starts a process. See `man sandbox-exec`.

All is allowed but what the profile denies, where the last rule that fits decides: files but those given, writing,
network, other programs and processes; services of the system too, but for a GPU, whose driver is one.
"""

import json
import os
import subprocess
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

PROGRAM = Path("/usr/bin/sandbox-exec")
_LIBRARIES = ("/System", "/usr/lib", "/usr/share", "/Library/Apple", "/Library/Frameworks", "/private/var/db/dyld")
_TIMES = ("/private/var/db/timezone", "/private/etc/localtime")
_SYSTEM = (*_LIBRARIES, *_TIMES, "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom")
_OTHERS = (
    "(deny process-info* (target others))\n(deny signal (target others))\n(deny mach-priv-task-port)\n"
    "(deny system-socket)"
)
_TRY_S = 60.0


def profile_of(paths: Iterable[Path], program_folders: Iterable[Path], device: str) -> str:
    """Return the profile of a process that may read these files and folders alone.

    paths: without links. program_folders: where Python itself lies, which `sandbox-exec` has to start. device: "cpu",
    or another, which needs services of the system.
    """
    read = " ".join(f"(subpath {_quoted(path)})" for path in [*map(Path, _SYSTEM), *paths])
    run = " ".join(f"(subpath {_quoted(path)})" for path in program_folders)
    reading = f'(deny file-read-data file-read-xattr)\n(allow file-read-data (literal "/") {read} {run})'
    running = f"(deny process-fork)\n(deny process-exec*)\n(allow process-exec* {run})"
    services = "\n(deny mach-lookup)\n(deny appleevent-send)" if device == "cpu" else ""
    held = "(deny file-write*)\n(deny network*)"
    return f"(version 1)\n(allow default)\n{reading}\n{held}\n{running}\n{_OTHERS}{services}"


def confined_command(command: Sequence[str], profile: str) -> list[str]:
    """Return what starts a command under a profile; the command itself where this system's sandbox does not work."""
    return [str(PROGRAM), "-p", profile, *command] if _works(command[0], profile) else list(command)


@lru_cache(maxsize=8)
def _works(python: str, profile: str) -> bool:
    """Return whether Python starts under a profile: Apple promises nothing about its language."""
    if not PROGRAM.exists():
        return False
    tried = [str(PROGRAM), "-p", profile, python, "-P", "-c", "import json, socket, ctypes"]
    ended = subprocess.run(tried, stdin=subprocess.DEVNULL, capture_output=True, timeout=_TRY_S, check=False, env={})
    return ended.returncode == 0


def _quoted(path: Path) -> str:
    return json.dumps(os.fspath(path), ensure_ascii=False)
