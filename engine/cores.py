"""The processor cores that there are to compute on, and the memory that computing takes."""

import ctypes
import os
import sys

_LARGE, _SPARE = 4 << 20, 64 << 20  # bytes
_MAP_FROM = "MALLOC_MMAP_THRESHOLD_"
_MALLOC = {_MAP_FROM: (-3, _LARGE), "MALLOC_TRIM_THRESHOLD_": (-1, _SPARE)}  # and their numbers in glibc's malloc.h

# How torch's threads wait for each other: by default they spin, and beside other programs that keep the cores busy a
# conversion took 17 to 19 s instead of 2 to 4. How many compiled operations oneDNN keeps: every length of window needs
# 14 of its own, a training 92, and by default it keeps 1024. They lie between the samples in the heap, which so grew
# with the length of a recording; large arrays therefore have memory of their own, which goes back when they end.
TORCH_ENVIRONMENT = {
    "OMP_WAIT_POLICY": "PASSIVE", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128",
    **{name: str(size) for name, (_, size) in _MALLOC.items()},
}  # fmt: skip


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


def usable_cores() -> int:
    """Count the CPU cores available to this process, which can be fewer than the machine has (in a container).

    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
