"""The process that works on a file from anybody: it gives up what it does not need, then answers requests.

    python -m engine.rvc.confined MODULE SOURCE PARENT DEVICE IDLE

Requests come by standard input: a function of MODULE, its arguments, and the processor time it may take. What it gives
up: files but SOURCE and Python's own, network, other programs and processes, signals (by what `engine.confinement` has
for this system; everywhere by Python's audit hook), and memory beyond a limit that grows with the file. Its environment
is empty already. It ends with its parent, process PARENT, and after IDLE seconds without a request.
"""

import importlib
import os
import select
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
_MOST_FILES = 256  # open at a time
_WATCH_S = 1.0
_REFUSED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.spawn", "ctypes.dlopen")
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class _Refused(PermissionError):
    """What a process that works on a model may not do."""


def main() -> None:
    """Answer requests until the parent is gone."""
    module, source, parent, device, idle = sys.argv[1:]
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no answer
    size = Path(source).stat().st_size
    importlib.import_module(module.partition(".")[0])  # the folder it lies in cannot be listed afterwards
    _leave_the_system(module, Path(source), device)
    _watch(int(parent))
    known = importlib.import_module(module)
    _limit_files()
    if device == "cpu":
        _limit_memory(size)
    if sys.platform == "linux":
        from engine.confinement.system_calls import close_system_calls

        close_system_calls(writes=device != "cpu")
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


def _leave_the_system(module: str, source: Path, device: str) -> None:
    """Give up what must be given up before there are threads; on macOS the parent has seen to it."""
    if sys.platform == "linux":
        from engine.confinement.linux import leave_the_system
        from engine.confinement.readable import gpu_paths, readable_paths

        leave_the_system(readable_paths(module, source, device), gpu_paths(device), device)
    elif sys.platform == "win32":
        from engine.confinement.windows import lower_integrity

        with suppress(OSError):
            lower_integrity()


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
        _lower(resource.RLIMIT_NOFILE, _MOST_FILES)


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
