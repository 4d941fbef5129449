"""The process that works on a file from anybody: it gives up what it does not need, then answers requests.

    python -m engine.rvc.confined MODULE PARENT DEVICE SIZE IDLE

Requests come by standard input: a function of MODULE, its arguments, and the processor time it may take. What it gives
up: network, other programs, writing files, sending signals (on Linux by a user namespace and by Landlock, where the
system has them; everywhere by Python's audit hook), and memory beyond a limit that grows with the file. Its environment
is empty already. It ends with its parent, process PARENT, and after IDLE seconds without a request.
"""

import ctypes
import importlib
import os
import select
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from math import ceil, inf
from pathlib import Path
from types import ModuleType
from typing import Any, BinaryIO

_MEMORY_BYTES = 3 << 30  # beyond what Python and its libraries take, and four times the file
_LONGEST_WORDS = 1 << 16  # bytes of what it may say on standard error, the one file it writes
_WATCH_S = 1.0
_REFUSED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.spawn", "ctypes.dlopen")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_NO_NEW_PRIVILEGES = 38
# Landlock (linux/landlock.h): its calls have the same numbers on every processor
_CREATE_RULES, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_EXECUTE, _WRITE, _REMOVE_AND_MAKE, _REFER, _TRUNCATE = 1, 2, 0x1FF0, 1 << 13, 1 << 14
_BIND_AND_CONNECT, _SOCKETS_AND_SIGNALS = 0b11, 0b11


class _Refused(PermissionError):
    """What a process that works on a model may not do."""


def main() -> None:
    """Answer requests until the parent is gone."""
    module, parent, device, size, idle = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    if sys.platform == "linux":  # before there are threads: they would not be bound, and forbid a namespace
        _leave_network()
        _forbid_files(device)
    _watch(int(parent))
    known = importlib.import_module(module)
    _limit_files()
    if device == "cpu":
        _limit_memory(int(size))
    sys.addaudithook(_refuse)
    _serve(known, sys.stdin.buffer, answers, float(idle))


def _serve(module: ModuleType, requests: BinaryIO, answers: BinaryIO, idle_s: float) -> None:
    from engine.rvc.messages import receive, send

    while _is_asked(requests, idle_s):
        try:
            request, arrays = receive(requests, sys.maxsize)
        except EOFError:
            return
        _limit_work(request["work_s"])
        work = partial(getattr(module, request["function"]), *request["arguments"], **arrays)
        send(answers, *_answer(work))


def _is_asked(requests: BinaryIO, idle_s: float) -> bool:
    """Wait for the next request, but not for ever; nothing of it has been read, since each waits for its answer."""
    try:
        return bool(select.select([requests], [], [], idle_s)[0])
    except OSError:  # Windows waits for sockets alone
        return True


def _answer(work: Callable[[], tuple[Any, dict[str, Any]]]) -> tuple[Any, dict[str, Any]]:
    """Return what a function returns, or its error; see `engine.rvc.sandbox.ModelProcess`."""
    from engine.errors import EngineError

    try:
        values, arrays = work()
        return {"values": values}, arrays
    except EngineError as cause:
        error = ["refused", str(cause), getattr(cause, "code", None)]
    except _Refused:
        error = ["unsafe", "", None]
    except OSError as cause:
        error = ["system", str(cause.strerror or cause), None]
    except Exception as cause:  # noqa: BLE001 - the parent raises it
        short = isinstance(cause, MemoryError) or "alloc" in str(cause)  # torch and ONNX Runtime have their own kinds
        error = ["memory", "", None] if short else ["mistake", traceback.format_exc(), None]
    return {"error": error}, {}


# ---- what it gives up


def _watch(parent: int) -> None:
    """End when the parent has ended, also in the middle of a request."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_S)
        os._exit(1)

    if os.getppid() == parent:  # else it is started by way of another program, and ends with its pipe
        threading.Thread(target=watch, daemon=True).start()


def _leave_network() -> None:
    with suppress(OSError, AttributeError):  # where the system lets us; else the hook alone
        ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NETWORK)


def _forbid_files(device: str) -> None:
    """Give up writing, making and running files, TCP and signals, as far as this kernel can forbid them."""
    with suppress(OSError, AttributeError):
        system = ctypes.CDLL(None, use_errno=True)
        version = system.syscall(_CREATE_RULES, None, 0, 1)
        if version < 1:
            return
        files = _EXECUTE | _WRITE | _REMOVE_AND_MAKE
        files |= (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
        asked = struct.pack("<QQQ", files, _BIND_AND_CONNECT, _SOCKETS_AND_SIGNALS)
        asked = asked[: 8 if version < 4 else 16 if version < 6 else 24]
        rules = system.syscall(_CREATE_RULES, asked, len(asked), 0)
        if device != "cpu":  # a GPU is used by writing to it
            devices = os.open("/dev", os.O_RDONLY)
            system.syscall(_ADD_RULE, rules, 1, struct.pack("<Qi", _WRITE, devices), 0)
            os.close(devices)
        system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        system.syscall(_RESTRICT_SELF, rules, 0)
        os.close(rules)


def _limit_memory(size: int) -> None:
    with suppress(ImportError):  # on Windows
        import resource

        pages = Path("/proc/self/statm")
        if pages.exists():
            own = int(pages.read_text().split()[0]) * resource.getpagesize()
            _lower(resource.RLIMIT_AS, own + _MEMORY_BYTES + 4 * size)


def _limit_files() -> None:
    with suppress(ImportError):
        import resource

        _lower(resource.RLIMIT_CORE, 0)
        _lower(resource.RLIMIT_FSIZE, _LONGEST_WORDS)


def _limit_work(work_s: float) -> None:
    """End this process once it has used so much more of the processor."""
    with suppress(ImportError):
        import resource

        used = resource.getrusage(resource.RUSAGE_SELF)
        _lower(resource.RLIMIT_CPU, ceil(used.ru_utime + used.ru_stime + work_s), for_good=False)


def _lower(limit: int, value: int, for_good: bool = True) -> None:
    import resource

    _, hard = resource.getrlimit(limit)
    value = int(min(value, inf if hard == resource.RLIM_INFINITY else hard))
    resource.setrlimit(limit, (value, value if for_good else hard))


def _refuse(event: str, arguments: tuple[object, ...]) -> None:
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITING
    if writes or event.startswith(_REFUSED):
        raise _Refused(f"{event} is not for working on a model")


if __name__ == "__main__":
    main()
