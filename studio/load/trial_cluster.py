"""A Ray cluster of one's own for a while, with several nodes on this machine: for measurements and tests."""

import contextlib
import os
import re
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import DEVNULL, STDOUT, Popen

from engine.errors import EngineError
from engine.provenance.installation import VARIABLES as PREFIX
from studio.executors.process import environment_of
from studio.executors.ray.executor import ray_environment
from studio.load.waiting import PATIENCE_S

_LOOK_S = 0.2
_TRIES = 3  # to start a node: Ray gives its processes a short time, which a busy machine may not have
_FIRST_PORT, _LAST_PORT = 2000, 9900  # below what Ray gives its workers
_STARTED = "Ray runtime started"
_WORKER = re.compile(r"ray::(?!\w*Agent)")  # what Ray calls those of its processes that do work
_SHOWN_OF_LOG = 2000  # characters


@dataclass
class TrialNode:
    """A node of the cluster: the process that started all others of it, and the log of what it said."""

    process: Popen[bytes]
    log: Path

    def processes(self) -> list[int]:
        """Numbers of all processes of the node, also of those whose parent has died: they are one session."""
        import psutil  # of the extra "development"

        found = []
        for number in psutil.pids():
            with contextlib.suppress(OSError):
                found += [number] if os.getsid(number) == self.process.pid else []
        return found

    def workers(self) -> list[int]:
        """Process numbers of the node's workers, busy or not."""
        return [number for number in self.processes() if _WORKER.match(_command_of(number))]

    def kill(self) -> None:
        """End all processes of the node at once, as a power cut does."""
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that none begins another meanwhile
            for process in self.processes():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, number)
        self.process.wait()


@dataclass
class TrialCluster:
    """A running cluster: its head, which does no work, and the other nodes."""

    address: str
    folder: Path
    environment: dict[str, str]
    head: TrialNode
    nodes: list[TrialNode] = field(default_factory=list)

    def add_node(self, cpus: int = 1, **environment: str) -> TrialNode:
        """Another node that does work; environment: beside what all have. Raises EngineError."""
        given = [f"--address={self.address}", f"--num-cpus={cpus}"]
        number = len(list(self.folder.glob("node-*.log")))
        node = _started(given, self.environment | environment, self.folder / f"node-{number}.log")
        self.nodes.append(node)
        return node


@contextmanager
def trial_cluster(folder: Path, nodes: int = 2, cpus: int = 1, **environment: str) -> Iterator[TrialCluster]:
    """A cluster of a head and `nodes` that do work, each with so many `cpus`, whatever this machine has.

    folder: for its logs and token; environment: of all its processes, beside this process's own. Whoever joins needs
    `TrialCluster.environment`. It is ended with all its processes. Raises EngineError where it does not start.
    """
    token = folder / "token"
    folder.mkdir(parents=True, exist_ok=True)
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    kept = {name: value for name, value in environment_of(1).items() if not name.startswith(PREFIX)}
    given = kept | ray_environment() | {"RAY_AUTH_TOKEN_PATH": str(token)} | environment
    [port] = _free_ports(1)
    place = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # Ray's sockets need a short path
    arguments = ["--head", f"--port={port}", "--num-cpus=0", "--include-dashboard=false", f"--temp-dir={place}"]
    cluster = TrialCluster(f"127.0.0.1:{port}", folder, given, _started(arguments, given, folder / "head.log"))
    try:
        for _ in range(nodes):
            cluster.add_node(cpus)
        yield cluster
    finally:
        for node in (*cluster.nodes, cluster.head):
            node.kill()
        shutil.rmtree(place, ignore_errors=True)


def _started(arguments: Sequence[str], environment: dict[str, str], log: Path) -> TrialNode:
    for _ in range(_TRIES):
        node = _begun(arguments, environment, log)
        end_s = time.monotonic() + PATIENCE_S
        while node.process.poll() is None and time.monotonic() < end_s:
            if _STARTED in log.read_text(errors="replace"):
                return node
            time.sleep(_LOOK_S)
        node.kill()
    raise EngineError(f"A Ray node did not start. It said last: {log.read_text(errors='replace')[-_SHOWN_OF_LOG:]}")


def _begun(arguments: Sequence[str], environment: dict[str, str], log: Path) -> TrialNode:
    names = "dashboard-agent-grpc dashboard-agent-listen metrics-export runtime-env-agent".split()
    names += ["node-manager", "object-manager"]
    # without these each is looked for when Ray starts, and it waits no longer than some seconds for who looks
    ports = [f"--{name}-port={port}" for name, port in zip(names, _free_ports(len(names)), strict=True)]
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", *arguments, *ports]
    command += ["--node-ip-address=127.0.0.1", "--object-store-memory=80000000", "--min-worker-port=0"]
    command += ["--max-worker-port=0", "--disable-usage-stats", "--block"]
    with log.open("wb") as said:
        process = Popen(command, env=environment, stdin=DEVNULL, stdout=said, stderr=STDOUT, start_new_session=True)
    return TrialNode(process, log)


def _free_ports(count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        port = _FIRST_PORT + secrets.randbelow(_LAST_PORT - _FIRST_PORT)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            found += [port] if port not in found else []
    return found


def _command_of(process: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_text(errors="replace").replace("\0", " ").strip()
    return ""
