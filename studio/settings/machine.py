"""What this machine has, and how many workers it can hold."""

import os
import sys
from pathlib import Path

from engine.cores import usable_cores

_WORKER_BYTES = 700_000_000  # of a worker that converts
_MEMORY_SHARE = 0.25  # of the machine's, for them all
_MOST = 8
_MOST_ON_A_GPU = 2  # each keeps networks and windows of its own in the GPU's memory
_CORES_EACH = 2  # a short recording is one window, which hardly uses more


def memory_bytes() -> int | None:
    """Return the memory of this machine, where the system says."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def conversions_at_once(device: str) -> int:
    """Return how many conversions at once use this machine well: of its cores, and a part of its memory.

    device: as in the settings.

    >>> conversions_at_once("cpu") >= 1
    True
    """
    cores, memory = usable_cores(), memory_bytes()
    fitting = _MOST if memory is None else int(_MEMORY_SHARE * memory / _WORKER_BYTES)
    most = _MOST_ON_A_GPU if device != "cpu" and _may_have_a_gpu() else _MOST
    return max(1, min(cores, max(2, cores // _CORES_EACH), fitting, most))


def _may_have_a_gpu() -> bool:
    """Return whether there may be one that torch can use; only torch, which a server does not load, knows."""
    return sys.platform != "linux" or Path("/proc/driver/nvidia").exists() or Path("/dev/kfd").exists()
