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
_SYSTEM = (
    "/System", "/usr/lib", "/usr/share", "/Library/Apple", "/Library/Frameworks", "/private/var/db/dyld",
    "/private/var/db/timezone", "/private/etc/localtime", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom",
)  # fmt: skip
_TRY_S = 60.0


def profile_of(paths: Iterable[Path], program_folders: Iterable[Path], device: str) -> str:
    """Return the profile of a process that may read these files and folders alone.

    paths: without links. program_folders: where Python itself lies, which `sandbox-exec` has to start. device: "cpu",
    or another, which needs services of the system.
    """
    read = " ".join(f"(subpath {_quoted(path)})" for path in [*map(Path, _SYSTEM), *paths])
    run = " ".join(f"(subpath {_quoted(path)})" for path in program_folders)
    lines = [
        "(version 1)", "(allow default)", "(deny file-read-data file-read-xattr)",
        f'(allow file-read-data (literal "/") {read} {run})', "(deny file-write*)",
        "(deny network*)", "(deny process-fork)", "(deny process-exec*)", f"(allow process-exec* {run})",
        "(deny process-info* (target others))", "(deny signal (target others))", "(deny mach-priv-task-port)",
        "(deny system-socket)",
    ]  # fmt: skip
    return "\n".join([*lines, "(deny mach-lookup)", "(deny appleevent-send)"] if device == "cpu" else lines)


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
