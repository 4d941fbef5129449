"""The processor cores that there are to compute on."""

import os


def wait_quietly() -> None:
    """Make torch's threads sleep while they wait for each other, unless the user has set how they wait.

    By default they spin: beside other programs that keep the cores busy a conversion took 17 to 19 s instead of 2 to 4.
    OpenMP reads it once, when torch is loaded, so this must come before.

    >>> wait_quietly()
    >>> os.environ["OMP_WAIT_POLICY"]
    'PASSIVE'
    """
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def usable_cores() -> int:
    """Count the CPU cores available to this process, which can be fewer than the machine has (in a container).

    >>> usable_cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
