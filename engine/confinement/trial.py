"""Try, in a confined process, what it must not be able to do: what holds on this machine is seen, not assumed.

Each attempt is made past Python's own refusals, which a program in a file would not ask.
"""

import ctypes
import os
import sys
from contextlib import suppress
from typing import Never

_STREAM, _INTERNET = 1, 2


def attempt(secret: str, parent: int) -> tuple[dict[str, bool], dict[str, Never]]:
    """Return what this process can do, and no arrays: read files of others, start processes, call outside, see others.

    secret: a file that it was not given. parent: the number of the process that started it.
    """
    can = {"reads": _can_read(secret), "starts": False, "calls": True, "sees": False}
    if sys.platform == "win32":  # the job allows one process
        return can, {}
    library = ctypes.pythonapi  # all of the C library, without opening it
    child = library.fork()
    if child == 0:
        os._exit(0)
    with suppress(OSError):
        os.waitpid(child, 0)
    socket = library.socket(_INTERNET, _STREAM, 0)
    return can | {"starts": child > 0, "calls": socket >= 0, "sees": _can_read(f"/proc/{parent}/environ")}, {}


def _can_read(path: str) -> bool:
    with suppress(OSError):
        os.close(os.open(path, os.O_RDONLY))
        return True
    return False
