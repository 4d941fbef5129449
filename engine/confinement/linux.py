"""All that Linux has to confine a process, one over the other: what one lacks or misses, another holds.

Before there are threads: namespaces and a root of its own, a user of its own, Landlock. Once libraries are loaded: a
filter of system calls, for all threads.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from engine.confinement.landlock import forbid_files
from engine.confinement.namespaces import change_root, leave_namespaces
from engine.confinement.users import take_own_user

_FEWEST_THREADS, _THREADS_PER_CORE = 64, 4  # PyTorch and ONNX Runtime start one or two for each core


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
