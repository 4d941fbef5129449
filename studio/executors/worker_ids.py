"""Worker ids, from which other processes can see that a worker is dead: boot of the machine, process namespace, process
id and start time. Where the system does not provide these, a lost worker is noticed only when its lease is over."""

import secrets
from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc")
_START_FIELD = 19  # of /proc/PID/stat, counted behind the program's name: 22 in the manual
_STATE_FIELD = 0


def owner_of(pid: int) -> str:
    """Return a unique id for the worker in the running process `pid`."""
    return f"{_machine()}/{pid}.{_began(pid)}/{secrets.token_hex(4)}"


def dead_among(owners: Iterable[str]) -> list[str]:
    """Return the owners that are dead: processes of this machine that have ended."""
    return [owner for owner in owners if _is_dead(owner)]


def _is_dead(owner: str) -> bool:
    machine, _, rest = owner.partition("/")
    process = rest.partition("/")[0]
    pid, _, began = process.partition(".")
    if not machine or machine != _machine() or not pid.isdigit() or not began:
        return False
    return _began(int(pid)) != began


def _machine() -> str:
    """Empty where the system does not provide it."""
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        space = str((_PROC / "self/ns/pid").readlink())
    except OSError:
        return ""
    return f"{boot}-{space.strip('pid:[]')}"


def _began(pid: int) -> str:
    """Start time of the process in ticks since the boot; empty if it has ended."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[_STATE_FIELD] in "ZX" else fields[_START_FIELD]
