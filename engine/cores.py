"""The processor cores that there are to compute on."""

import os

# How torch's threads wait for each other: by default they spin, and beside other programs that keep the cores busy a
# conversion took 17 to 19 s instead of 2 to 4. And how many compiled operations oneDNN keeps: every length of window
# needs 14 of its own, which lie between the samples in memory, so that with the 1024 of the default the heap of a long
# conversion grew by 30 MB a minute; a training needs 92.
TORCH_ENVIRONMENT = {"OMP_WAIT_POLICY": "PASSIVE", "ONEDNN_PRIMITIVE_CACHE_CAPACITY": "128"}


def prepare_torch() -> None:
    """Set what torch reads from the environment when it is loaded, unless the user has set it.

    >>> prepare_torch()
    >>> os.environ["OMP_WAIT_POLICY"]
    'PASSIVE'
    """
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
