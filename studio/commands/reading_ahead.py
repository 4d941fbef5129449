"""The files that a conversion reads to start, read ahead of it where the disk is cold.

Python reads its modules one after the other and computes in between, so that on a cold disk a fifth of the time in
which a phrase is converted went by with nothing to do. So what the last conversion had loaded is asked for at once.
"""

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path

# a path in each line; it is kept beside the byte code, and belongs to this installation as that does
_LIST = Path(cache_from_source(__file__)).with_suffix(".txt")
_MOST = 10_000
_LARGEST = 64 << 20  # bytes: of larger ones, libraries, only parts are read
_CAN_ASK = hasattr(os, "posix_fadvise")


def read_ahead() -> None:
    """Ask the system for the files that the last conversion loaded, in a process of its own; returns at once.

    It must come before there are threads. The process ends long before this one.
    """
    if _CAN_ASK and os.fork() == 0:
        try:
            ask_for(map(os.fsdecode, _LIST.read_bytes().splitlines()[:_MOST]))
        finally:
            os._exit(0)


def ask_for(files: Iterable[str]) -> None:
    """Ask the system to read files soon; leaves out what is not there."""
    for path in files:
        with suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            try:
                if os.fstat(file).st_size <= _LARGEST:
                    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_WILLNEED)
            finally:
                os.close(file)


def keep_what_was_loaded() -> None:
    """Write down the files that this process has loaded, where they are not those that are written down.

    Nothing is where no byte code is to be written.
    """
    if not _CAN_ASK or sys.dont_write_bytecode:
        return
    files = [os.fsencode(path) for path in dict.fromkeys(filter(None, _loaded()))]
    with suppress(OSError):
        if not _LIST.exists() or set(_LIST.read_bytes().splitlines()) != set(files):
            new = _LIST.with_suffix(f".{os.getpid()}")
            new.write_bytes(b"\n".join(files))
            new.replace(_LIST)


def _loaded() -> Iterator[str | None]:
    """Yield the files of this process's modules in the order in which they were loaded, then its libraries."""
    for module in map(vars, list(sys.modules.values())):  # as they are: some make what they are asked for
        yield module.get("__cached__") or module.get("__file__")
    for line in os.fsdecode(Path("/proc/self/maps").read_bytes()).splitlines():
        name = line[line.find("/") :]
        if ".so" in name:
            yield name
