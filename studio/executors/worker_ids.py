"""The names workers sign their tasks with, from which another process can tell that a worker is dead.

A name holds the machine as it runs now (its present boot, and the space its process numbers count in), the process's
number and when it began. Where the system does not say these, a name tells nothing, and a lost worker is noticed only
when its lease is over.
"""

import os
import secrets
from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc")
_START_FIELD = 19  # of /proc/PID/stat, counted behind the program's name: 22 in the manual
_STATE_FIELD = 0


def owner_of(pid: int) -> str:
    """A name for the worker that is the running process `pid`; no two workers have the same."""
    return f"{_machine()}/{pid}.{_began(pid)}/{secrets.token_hex(4)}"


def dead_among(owners: Iterable[str]) -> list[str]:
    """Those of the owners that are known to be dead: processes of this machine that are no more."""
    return [owner for owner in owners if _is_dead(owner)]


def _is_dead(owner: str) -> bool:
    machine, _, rest = owner.partition("/")
    process = rest.partition("/")[0]
    pid, _, began = process.partition(".")
    if not machine or machine != _machine() or not pid.isdigit() or not began:
        return False
    return _began(int(pid)) != began


def _machine() -> str:
    """Empty where the system does not tell."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        space = os.readlink(_PROC / "self/ns/pid")
    except OSError:
        return ""
    return f"{boot}-{space.strip('pid:[]')}"


def _began(pid: int) -> str:
    """When the process began, in ticks since the machine did; empty where there is none, or one that has ended."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[_STATE_FIELD] in "ZX" else fields[_START_FIELD]
