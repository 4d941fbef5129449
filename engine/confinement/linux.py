"""All that Linux has to confine a process, one over the other: what one lacks or misses, another holds.

Before there are threads: namespaces and a root of its own, a user of its own, Landlock. Once libraries are loaded: a
filter of system calls, for all threads.
"""

import os
import struct
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from engine.confinement.kernel import checked, system
from engine.confinement.landlock import forbid_files
from engine.confinement.namespaces import change_root, leave_namespaces

_FEWEST_THREADS, _THREADS_PER_CORE = 64, 4  # PyTorch and ONNX Runtime start one or two for each core
_KEEP_RIGHTS = 8  # of prctl
_RIGHTS_VERSION = 0x20080522
_READ_ALL = 1 << 2  # CAP_DAC_READ_SEARCH
_FREE_USERS = 0x70000000  # which no system gives to anybody (systemd, "Users, Groups, UIDs and GIDs")
_MOST_PROCESSES = 1 << 22  # the highest number of a process


def leave_the_system(readable: Sequence[Path], writable: Sequence[Path], device: str) -> None:
    """Give up all files but these, network and rights, as far as this system can; call it before there are threads.

    readable, writable: files and folders, devices. device: on a GPU, whose drivers look for much, the root stays.
    """
    readable = [*readable, Path("/proc") / str(os.getpid())]  # what libraries ask of the process itself
    own_space = own_user = False
    with suppress(OSError):
        own_space = leave_namespaces()
    if own_space and device == "cpu":
        change_root(readable)
    with suppress(OSError):
        own_user = take_own_user()
    with suppress(OSError):
        forbid_files(readable, writable)
    if own_user or (own_space and _counts_by_namespace()):
        _limit_threads()


def most_threads() -> int:
    """Return how many threads work on a model may take."""
    return _FEWEST_THREADS + _THREADS_PER_CORE * (os.cpu_count() or 1)


def _counts_by_namespace() -> bool:
    """Return whether a limit of processes counts those of a user namespace, not all of the user's: since Linux 5.14."""
    numbers = [int(one) for one in os.uname().release.split("-")[0].split(".")[:2] if one.isdigit()]
    return numbers >= [5, 14]


def _limit_threads() -> None:
    import resource

    most = most_threads()
    _, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_NPROC, (most, most))


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
