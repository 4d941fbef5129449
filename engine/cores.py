"""The processor cores that there are to compute on, and the memory that computing takes."""

import ctypes
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_LARGE, _SPARE = 16 << 20, 256 << 20  # bytes
_MAP_FROM = "MALLOC_MMAP_THRESHOLD_"
_MALLOC = {_MAP_FROM: (-3, _LARGE), "MALLOC_TRIM_THRESHOLD_": (-1, _SPARE)}  # and their numbers in glibc's malloc.h

# How torch's threads wait for each other: by default they spin, and beside other programs that keep the cores busy a
# conversion took 17 to 19 s instead of 2 to 4. How many compiled operations oneDNN keeps: every length of window needs
# 14 of its own, a training 92, and by default it keeps 1024. They lie between the samples in the heap, which so grew
# with the length of a recording; large arrays therefore have memory of their own, which goes back when they end.
TORCH_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE",
    "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128",
    **{name: str(size) for name, (_, size) in _MALLOC.items()},
}


def prepare_torch() -> None:
    """Set what torch and the memory it uses read from the environment, unless the user has set it.

    OpenMP and oneDNN read it when torch is loaded, so this must come before. glibc has read it at the start of the
    process, and is told; so are processes that this one starts.

    >>> prepare_torch()
    >>> os.environ["OMP_WAIT_POLICY"]
    'PASSIVE'
    """
    if sys.platform == "linux" and _MAP_FROM not in os.environ:
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):  # other C libraries have none
            for option, size in _MALLOC.values():
                library.mallopt(option, size)
    for name, value in TORCH_ENVIRONMENT.items():
        os.environ.setdefault(name, value)


def usable_cores(system: str | os.PathLike[str] = "/") -> int:
    """Count the CPU cores available to this process, which can be fewer than the machine has.

    That is, those it may run on, or as many as a container's quota of processor time lets it use (`--cpus 2`), rounded
    up. system: the root of the file system that tells the quota.

    >>> usable_cores() >= 1
    True
    """
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min([there, *(math.ceil(quota) for quota in _quotas(Path(system)))]))


def free_memory(system: str | os.PathLike[str] = "/") -> int | None:
    """Return how many bytes this process may still take, by what the machine has left and a container may have.

    None where the system does not say. system: the root of the file system that tells.
    """
    root = Path(system)
    available = _numbers(root / "proc/meminfo").get("MemAvailable:")
    left = [] if available is None else [1024 * available]
    for group in _groups(root, "memory"):
        most, taken = (_read(group / f"memory.{name}").strip() for name in ("max", "current"))
        if most.isdecimal() and taken.isdecimal():
            cached = _numbers(group / "memory.stat").get("inactive_file", 0)  # files, given back when it is needed
            left.append(max(0, int(most) - int(taken) + cached))
    return min(left, default=None)


def _numbers(path: Path) -> dict[str, int]:
    """Return the numbers of a file with a name and a number in each line."""
    lines = (line.split() for line in _read(path).splitlines())
    return {line[0]: int(line[1]) for line in lines if len(line) > 1 and line[1].isdecimal()}


def _quotas(system: Path) -> Iterator[float]:
    """Yield the cores' worth of time that control groups allow.

    See "cpu.max" in Linux's cgroup-v2.rst, and "cpu.cfs_quota_us" in sched-bwc.rst for version 1.
    """
    for group in _groups(system, "cpu"):
        time_us, period_us = _read(group / "cpu.max").split() or (
            _read(group / f"cpu.cfs_{one}_us").strip() for one in ("quota", "period")
        )
        if time_us.isdecimal() and period_us.isdecimal() and int(period_us):  # neither "max" nor -1, nor no file
            yield int(time_us) / int(period_us)


def _groups(system: Path, controller: str) -> Iterator[Path]:
    """Yield the folders of the control groups that this process is in, and of those around them.

    A container sees its own group as the root, under whatever name `/proc` has for it.
    """
    for line in _read(system / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        folder = system / "sys/fs/cgroup" / (controller if controllers else "")
        for group in (own := folder / path.strip("/"), *own.parents):
            if not group.is_relative_to(folder):
                break
            yield group


def _read(path: Path) -> str:
    try:
        return path.read_text("ascii")
    except (OSError, UnicodeError):
        return ""
