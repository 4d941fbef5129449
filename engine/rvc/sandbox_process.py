"""One process that works on a file from anybody, and its pipes: started under the limits of this system, and watched.

What it may not do at all is held by the system (see `engine.confinement`); how much it uses is seen from here as well,
since a program in a file could ask the system for more.
"""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from engine.confinement.linux import most_threads
from engine.confinement.macos import confined_command, profile_of
from engine.confinement.readable import readable_paths
from engine.confinement.windows import close_job, put_in_job
from engine.rvc.messages import Arrays, receive, send

_LAST_WORDS = 2_000  # characters of what a failed process said
_LOOK_S = 0.5
_SPARE_S = 30.0  # of the processor, in which libraries are loaded and it may end by itself
_WINDOWS_BYTES = 5 << 30  # with the libraries, and four times the file
# what Python, its libraries and a GPU's driver need to be found; nothing of the user's
_KEPT = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


@dataclass(frozen=True)
class Patience:
    """How long a process may take for a call: seconds of the processor, and by the clock."""

    work_s: float
    clock_s: float


class Ended(Exception):
    """A process that gave no answer."""

    def __init__(self, took_too_long: bool, was_idle: bool, last_words: str) -> None:
        super().__init__(last_words)
        self.took_too_long, self.was_idle, self.last_words = took_too_long, was_idle, last_words


class Running:
    """One process and its pipes."""

    def __init__(self, module: str, source: Path, threads: int, device: str, idle_s: float) -> None:
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "PYTHONPATH": os.pathsep.join(map(os.path.abspath, sys.path)),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OMP_NUM_THREADS": str(threads),
            "OPENBLAS_NUM_THREADS": "1",  # NumPy would start its own while it is loaded
            "OMP_WAIT_POLICY": "PASSIVE",
            "MALLOC_ARENA_MAX": "2",  # or each thread reserves 64 MB
        }
        size = source.stat().st_size
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self._process = subprocess.Popen(
            [*_python(module, source, device), module, str(source.absolute()), str(os.getpid()), device, str(idle_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=environment,
            cwd=Path(os.sep).absolute(),  # nothing of the user's
            # what a user types in a terminal is for the studio. No session of its own: Linux shares the processor among
            # sessions first (sched(7), autogroup), so that its priority would count for nothing beside the server
            process_group=0,
        )
        self._requests: BinaryIO = self._process.stdin  # type: ignore[assignment]
        self._answers: BinaryIO = self._process.stdout  # type: ignore[assignment]
        self._job: int | None = None
        if sys.platform == "win32":
            with suppress(OSError):
                most = _WINDOWS_BYTES + 4 * size if device == "cpu" else 0
                self._job = put_in_job(int(self._process._handle), most)  # type: ignore[attr-defined]

    @property
    def has_ended(self) -> bool:
        """Whether the process is gone."""
        return self._process.poll() is not None

    def ask(self, request: object, arrays: Arrays, patience: Patience, largest: int) -> tuple[Any, dict[str, Any]]:
        """Return the answer to a request. Raises Ended without one."""
        late, answered = threading.Event(), threading.Event()
        threading.Thread(target=self._watch, args=(patience, answered, late), name="watch", daemon=True).start()
        try:
            send(self._requests, request, arrays)
            return receive(self._answers, largest)
        except (OSError, EOFError, ValueError) as cause:
            if isinstance(cause, ValueError):  # no answer, though it runs
                self._process.kill()
            status = self._process.wait()
            worked_too_long = status == -getattr(signal, "SIGXCPU", 0) < 0
            raise Ended(late.is_set() or worked_too_long, status == 0, self._last_words(status)) from cause
        finally:
            answered.set()

    def _watch(self, patience: Patience, answered: threading.Event, late: threading.Event) -> None:
        """End the process, and say so in `late`, if it takes too long or too much before it has `answered`."""
        end_s, spent_s = time.monotonic() + patience.clock_s, _usage(self._process.pid)[0]
        while not answered.wait(max(0.0, min(_LOOK_S, end_s - time.monotonic()))):
            used_s, threads = _usage(self._process.pid)
            too_much = used_s - spent_s > patience.work_s + _SPARE_S or threads > most_threads()
            if too_much or time.monotonic() >= end_s:
                late.set()
                self._process.kill()
                return

    def _last_words(self, status: int) -> str:
        """Return why Python ended, where it did so by itself: a mistake of ours."""
        if status <= 0:
            return ""
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _LAST_WORDS))
        return self._errors.read().decode(errors="replace") or repr(self._process)

    def stop(self) -> None:
        """End it; does nothing a second time."""
        self._process.kill()
        for pipe in (self._requests, self._answers, self._errors):
            with suppress(OSError):  # what was not sent yet
                pipe.close()
        self._process.wait()
        if self._job is not None:
            close_job(self._job)
            self._job = None


def _python(module: str, source: Path, device: str) -> list[str]:
    """Return what starts the process, without its arguments."""
    # in an environment of Windows python.exe starts another, which a job with one process forbids
    python = getattr(sys, "_base_executable", sys.executable) if sys.platform == "win32" else sys.executable
    command = [python, "-X", "utf8", "-P", "-m", "engine.rvc.confined"]
    if sys.platform != "darwin":
        return command
    programs = {Path(os.path.realpath(one)) for one in (sys.prefix, sys.base_prefix)}
    return confined_command(command, profile_of(readable_paths(module, source, device), sorted(programs), device))


def _usage(process: int) -> tuple[float, int]:
    """Return the seconds of the processor and the threads of a process; 0 where the system does not show them."""
    try:
        words = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0, 0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK"), int(words[17])
