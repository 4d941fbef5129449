"""A user of its own for a process that root started, and none of root's rights but to read what is shown to it."""

import os
import struct
from pathlib import Path

from engine.confinement.kernel import checked, system

_KEEP_RIGHTS = 8  # of prctl
_RIGHTS_VERSION = 0x20080522
_READ_ALL = 1 << 2  # CAP_DAC_READ_SEARCH
_FREE_USERS = 0x70000000  # which no system gives to anybody (systemd, "Users, Groups, UIDs and GIDs")
_MOST_PROCESSES = 1 << 22  # the highest number of a process


def take_own_user() -> bool:
    """Become a user whom no other process has, if this is root, and give up all rights; return whether it is one.

    Only to read the files of others is still allowed: models are readable for the service alone. What can be opened
    is decided before by a root of its own and by Landlock. Raises OSError where rights cannot be given up.
    """
    own = _own_user() if os.geteuid() == 0 else None
    if own is None or not _rights() & _READ_ALL:
        _keep_rights(0)
        return False
    checked(system().prctl(_KEEP_RIGHTS, 1, 0, 0, 0))
    os.setgroups([])
    os.setresgid(own, own, own)
    os.setresuid(own, own, own)
    _keep_rights(_READ_ALL)
    return True


def _own_user() -> int | None:
    """Return the number of a user for this process alone, among those of this system or container; None without any."""
    spans = [tuple(map(int, line.split())) for line in Path("/proc/self/uid_map").read_text().splitlines()]
    last = max(first + count for first, _, count in spans)
    if last > _FREE_USERS + _MOST_PROCESSES:
        return _FREE_USERS + os.getpid()
    room = max(count for _, _, count in spans) // 2  # the upper half, which containers leave free
    return last - 2 - os.getpid() % room if room > 1 else None


def _rights() -> int:
    words = Path("/proc/self/status").read_text()
    return int(words.split("CapPrm:")[1].split()[0], 16)


def _keep_rights(rights: int) -> None:
    """Give up all of root's rights but these."""
    header = struct.pack("<Ii", _RIGHTS_VERSION, 0)
    checked(system().capset(header, struct.pack("<6I", rights, rights, 0, 0, 0, 0)))
