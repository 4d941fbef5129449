"""Read files from anybody in a process of its own: no network, no other programs, limited memory and time.

    run_apart("engine.rvc.checkpoint:extract", source, target) -> what the function returned, as JSON values

The process may read what this user may, and writes one file. `weights_only` already refuses pickles that would run
code; this is the second wall, and the one that stops a file made to fill the memory.
"""

import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from engine.errors import VoiceError

_LONGEST_S, _LONGEST_WORK_S = 600, 180  # by the clock, which goes on while others work; of the processor
_MEMORY_BYTES = 1 << 30  # beyond PyTorch's own, and four times the file
_LARGEST_ANSWER = 1 << 20
_LAST_WORDS = 2_000  # characters of what a failed process said
_REFUSED = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.system", "os.spawn", "ctypes.dlopen")
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000


class ModelFileError(VoiceError):
    """A file that is no model the studio can use; `code` says why in one word."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.code = code


class _Refused(PermissionError):
    """What a process that reads a model may not do."""


def too_demanding(name: str) -> ModelFileError:
    """Return the error of a file that needs more than a model of its size would."""
    text = f'"{name}" needs more memory or time than a model of its size, and was not opened: download it again.'
    return ModelFileError(text, "too_large")


def unsafe(name: str) -> ModelFileError:
    """Return the error of a file that holds a program."""
    text = f'"{name}" holds more than weights, and could run a program: it was not opened. Get it from another source.'
    return ModelFileError(text, "unsafe")


def no_such_speaker(name: str, speaker: int, speakers: int | None = None) -> ModelFileError:
    """Return the error of a speaker that a model lacks; speakers: how many it has, where it says so."""
    range_of = f"they are numbered from 0 to {speakers - 1}" if speakers else "they are numbered from 0"
    return ModelFileError(f'"{name}" has no speaker {speaker}: {range_of}.', "no_such_speaker")


def run_apart(function: str, source: Path, *arguments: str | Path) -> Any:
    """Call `module:function(source, *arguments)` in a process of its own, and return its answer.

    Raises ModelFileError where the function did, where the file cannot be read, and where the process ran out of time
    or memory.
    """
    if not source.is_file():
        raise ModelFileError(f'There is no file "{source}".', "no_file")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        "OMP_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-m", __name__, function, str(source), *map(str, arguments)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_LONGEST_S, env=environment, check=False)
    except subprocess.TimeoutExpired as cause:
        raise too_demanding(source.name) from cause
    try:
        answer = json.loads(done.stdout[-_LARGEST_ANSWER:].splitlines()[-1])
    except (ValueError, IndexError) as cause:
        if done.returncode < 0:  # killed, or given up for lack of memory
            raise too_demanding(source.name) from cause
        raise RuntimeError(done.stderr[-_LAST_WORDS:].decode(errors="replace")) from cause
    if "error" in answer:
        raise ModelFileError(*answer["error"])
    return answer["found"]


def _confine(source: Path) -> None:
    """Give up the network, other programs, and all but some memory and time."""
    try:
        import ctypes

        ctypes.CDLL(None).unshare(_NEW_USER | _NEW_NETWORK)  # where the system lets us; else the hook below alone
    except (OSError, AttributeError, TypeError):
        pass
    import torch  # noqa: F401 - before the limit, which leaves room for the file alone

    size = source.stat().st_size
    try:
        import resource
    except ImportError:  # on Windows the time limit alone holds
        pass
    else:
        pages = Path("/proc/self/statm")
        own = int(pages.read_text().split()[0]) * resource.getpagesize() if pages.exists() else 0
        most = own + _MEMORY_BYTES + 4 * size
        for limit, value in (
            (resource.RLIMIT_AS, most),
            (resource.RLIMIT_CPU, _LONGEST_WORK_S),
            (resource.RLIMIT_CORE, 0),
        ):
            _, hard = resource.getrlimit(limit)
            resource.setrlimit(limit, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))

    def refuse(event: str, arguments: Any) -> None:
        if event.startswith(_REFUSED):
            raise _Refused(f"{event} is not for reading a model")

    sys.addaudithook(refuse)


def _named(name: str, cause: MemoryError | OSError) -> ModelFileError:
    if isinstance(cause, MemoryError):
        return too_demanding(name)
    if isinstance(cause, _Refused):
        return unsafe(name)
    return ModelFileError(f'"{name}" could not be read: {cause.strerror or cause}.', "not_readable")


def _main() -> None:
    function, source, *arguments = sys.argv[1:]
    module, name = function.split(":")
    _confine(Path(source))
    try:
        answer = {"found": getattr(importlib.import_module(module), name)(Path(source), *arguments)}
    except VoiceError as cause:
        answer = {"error": [str(cause), getattr(cause, "code", "not_a_model")]}
    except (MemoryError, OSError) as cause:
        refused = _named(Path(source).name, cause)
        answer = {"error": [str(refused), refused.code]}
    os.write(1, f"\n{json.dumps(answer)}\n".encode())


if __name__ == "__main__":
    # as the module that others import, so that the errors they raise are the ones this one catches
    importlib.import_module("engine.rvc.sandbox")._main()
