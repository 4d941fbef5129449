"""Holds on temporary folders: whoever works in one locks it, and the system ends the lock with the process."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

CAN_TELL = fcntl is not None  # whether a hold can be seen by others


def hold(folder: Path) -> Callable[[], None]:
    """Hold a folder until the returned function is called, or this process has ended. Raises OSError."""
    if not CAN_TELL:
        return lambda: None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:  # a file system without locks
        os.close(descriptor)
        return lambda: None
    return lambda: os.close(descriptor)


def is_held(folder: Path) -> bool:
    """Return whether any process of this machine holds a folder; never where that cannot be told."""
    if not CAN_TELL:
        return False
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(descriptor)
    return False
