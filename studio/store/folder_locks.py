"""Holds on temporary folders: whoever works in one locks it, and the system ends the lock with the process."""

import os
import secrets
from collections.abc import Callable
from pathlib import Path

from engine.files import UNFINISHED, make_private_folder

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def make_locked(folder: Path) -> Callable[[], None]:
    """Make a folder that is locked from its first moment on; return what lets it go, as `lock` does. Raises OSError."""
    unfinished = folder.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    make_private_folder(unfinished)
    release = lock(unfinished)
    unfinished.rename(folder)  # which the lock does not notice
    return release


def lock(folder: Path) -> Callable[[], None]:
    """Hold a folder until the returned function is called, or this process has ended. Raises OSError."""
    if fcntl is None:
        return lambda: None
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
    except OSError:  # a file system without locks
        os.close(descriptor)
        return lambda: None
    return lambda: os.close(descriptor)


def is_locked(folder: Path) -> bool | None:
    """Return whether any process of this machine holds a folder; None where that cannot be told."""
    if fcntl is None:
        return None
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # it is gone
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return None
    finally:
        os.close(descriptor)
    return False
