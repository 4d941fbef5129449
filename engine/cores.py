"""The processor cores that there are to compute on."""

import os


def usable_cores() -> int:
    """Count the CPU cores available to this process, which can be fewer than the machine has (in a container).

    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
