"""Processes that read an order from stdin at their start, and exit when stdin closes."""

import contextlib
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import studio
from engine.cores import TORCH_ENVIRONMENT
from studio.executors.worker import Order
from studio.executors.worker_ids import owner_of


@dataclass
class OrderedProcess:
    """A process and its order; it claims tasks under the id `owner`."""

    popen: subprocess.Popen[bytes]
    order: Order
    begun_at: float = field(default_factory=time.monotonic)

    @property
    def lasted_s(self) -> float:
        return time.monotonic() - self.begun_at

    def send(self, line: bytes) -> None:
        """Send a line; a process that is dead or does not read misses it."""
        with contextlib.suppress(OSError, ValueError):
            if self.popen.stdin:
                self.popen.stdin.write(line)

    def dismiss(self) -> None:
        """Let it finish or requeue its task, then exit."""
        with contextlib.suppress(OSError):
            if self.popen.stdin:
                self.popen.stdin.close()


def start_process(
    command: Sequence[str], order: Order, environment: Mapping[str, str], stdout: int = subprocess.DEVNULL
) -> OrderedProcess:
    """Start a process with a new owner and send it its order."""
    popen = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=stdout, env=environment, bufsize=0)
    process = OrderedProcess(popen, replace(order, owner=owner_of(popen.pid)))
    process.send(process.order.as_line().encode())
    assert popen.stdin is not None
    with contextlib.suppress(OSError):
        os.set_blocking(popen.stdin.fileno(), False)  # do not block on a process that does not read
    return process


def environment_of(threads: int) -> dict[str, str]:
    """Return this process's environment, with this project on the path and a limit of compute threads."""
    home = str(Path(studio.__path__[0]).parent)
    path = os.pathsep.join(one for one in (home, os.environ.get("PYTHONPATH", "")) if one)
    numbers = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {**TORCH_ENVIRONMENT, **os.environ, "PYTHONPATH": path, **dict.fromkeys(numbers, str(threads))}
