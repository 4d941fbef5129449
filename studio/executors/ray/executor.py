"""The Ray executor: tasks are done on a Ray cluster, which places and supervises; database and storage hold the truth.

    service --stdin/stdout--> dispatcher --Ray tasks--> workers on all machines, which claim tasks and carry them out

Ray's client ends the process it runs in when the cluster's head is lost, so it lives in a process of its own, the
dispatcher (see `studio.executors.ray.dispatcher`), which is begun anew as often as it dies. Where several services run
on one database, one dispatcher is on duty and the others stand by.
"""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from engine.errors import SettingsError
from studio.executors.local import environment_of
from studio.executors.worker import OVERDUE_S, WAKE, Order
from studio.executors.worker_ids import owner_of
from studio.settings.environment import Settings
from studio.settings.service import LOOPBACK, ServiceSettings

COMMAND = (sys.executable, "-P", "-m", "studio.executors.ray.dispatcher")
DISPATCH = "dispatch"
_LOOK_S = 0.5
_LAST_S = 15.0  # for the dispatcher to leave the cluster, after its tasks have ended
_FIRST_BACKOFF_S, _LONGEST_BACKOFF_S = 0.5, 30.0
_HEALTHY_S = 60.0
_TOKEN_FILE = ".ray/auth_token"


class RayExecutor:
    """Has the work of a service done by Ray, between `start` and `stop`."""

    def __init__(
        self,
        settings: Settings,
        service: ServiceSettings,
        log: FilteringBoundLogger,
        command: Sequence[str] = COMMAND,
    ) -> None:
        """command: what the dispatcher is started with. Raises SettingsError for settings that cannot work."""
        refuse_what_cannot_work(service)
        self._settings, self._service, self._log, self._command = settings, service, log, tuple(command)
        self._stopping = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._said: dict[str, float] = {}
        self._restarts = 0
        self._thread = threading.Thread(target=self._watch, name="dispatcher", daemon=True)

    # ---- from outside

    def start(self) -> None:
        """Start the dispatcher, and see to it that there is one until `stop`."""
        self._thread.start()

    def wake(self) -> None:
        """There is something to do: it is placed at once rather than at the next look."""
        with contextlib.suppress(OSError, ValueError, AttributeError):
            self._process.stdin.write(WAKE)  # type: ignore[union-attr]

    def alive(self) -> dict[str, float]:
        """`workers`: how many conversions the cluster does at a time; `nodes` of it; tasks that are `placed` on it;
        whether this service's dispatcher `leads`; and `restarts` of dispatchers that died."""
        counted = dict.fromkeys(("workers", "nodes", "placed", "leads"), 0.0)
        return {**counted, **self._said, "restarts": self._restarts, "watched": int(self._thread.is_alive())}

    def stop(self) -> None:
        """End; what is being worked on finishes within the time of grace, or goes back into the queue."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(_LONGEST_BACKOFF_S)
        process = self._process
        if process is None:
            return
        self._dismiss(process)
        try:
            process.wait(self._service.grace_s + OVERDUE_S + _LAST_S)
        except subprocess.TimeoutExpired:
            process.kill()  # then Ray ends its workers, and their leases will be over
            process.wait()

    # ---- watching

    def _watch(self) -> None:
        failures, not_before, begun_at = 0, 0.0, 0.0
        while not self._stopping.wait(_LOOK_S if self._process else 0.0):
            now = time.monotonic()
            if self._process is not None and (status := self._process.poll()) is not None:
                self._log.warning("dispatcher_died", pid=self._process.pid, status=status)
                self._dismiss(self._process)
                self._process, self._said = None, {}
                self._restarts += 1
                failures = 1 if now - begun_at > _HEALTHY_S else failures + 1
                not_before = now + min(_LONGEST_BACKOFF_S, _FIRST_BACKOFF_S * 2**failures)
            if self._process is None:
                if now < not_before:
                    self._stopping.wait(_LOOK_S)
                    continue
                begun_at = now
                self._process = self._started()

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment_of(1) | ray_environment(),
            bufsize=0,
        )
        assert process.stdin is not None
        order = Order(str(self._settings.data), asdict(self._service), DISPATCH, owner_of(process.pid), 1)
        with contextlib.suppress(OSError):  # dead already, which is noticed at the next look
            process.stdin.write(order.as_line().encode())
            os.set_blocking(process.stdin.fileno(), False)
        threading.Thread(target=self._hear, args=(process,), name="dispatcher says", daemon=True).start()
        self._log.info("dispatcher_started", pid=process.pid)
        return process

    def _dismiss(self, process: subprocess.Popen[bytes]) -> None:
        """Say by the end of its stdin that it is to end."""
        with contextlib.suppress(OSError):
            if process.stdin:
                process.stdin.close()

    def _hear(self, process: subprocess.Popen[bytes]) -> None:
        """Keep what the dispatcher says last: a line of JSON whenever something has changed."""
        assert process.stdout is not None
        with contextlib.suppress(OSError, ValueError), process.stdout:
            for line in process.stdout:
                with contextlib.suppress(ValueError):
                    said = json.loads(line)
                    if isinstance(said, dict) and process is self._process:
                        self._said = {str(name): float(number) for name, number in said.items()}


def ray_environment() -> dict[str, str]:
    """What Ray reads from the environment of every process that has to do with it: it asks for a token, and tells
    nobody elsewhere that it is used."""
    return {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}


def is_of_this_machine(ray_address: str) -> bool:
    """Whether tasks stay on this machine: on a Ray that is started for them, or one that only it can reach."""
    return not ray_address or ray_address.rpartition(":")[0].strip("[]") in LOOPBACK


def refuse_what_cannot_work(service: ServiceSettings, environment: Mapping[str, str] | None = None) -> None:
    """Raises SettingsError where tasks on Ray could not do their work, or nobody could place them."""
    address = service.ray_address
    if importlib.util.find_spec("ray") is None:
        raise SettingsError("executor=ray needs a package more, on every machine: pip install 'ray==2.60.*'.")
    host, _, port = address.rpartition(":")
    if address and not (host and "/" not in host and port.isdigit()):
        raise SettingsError(f"ray_address is HOST:PORT, as `ray start --head` says it, not '{address}'.")
    if is_of_this_machine(address):
        if address:
            _refuse_without_token(os.environ if environment is None else environment)
        return
    if not service.database_url.startswith("postgresql"):
        raise SettingsError(
            f"Ray at {address} does tasks on other machines, which cannot open a SQLite file of this one: give "
            "database_url=postgresql://USER:PASSWORD@HOST/NAME, or leave ray_address out."
        )
    if not service.storage_url.startswith("s3://"):
        raise SettingsError(
            f"Ray at {address} does tasks on other machines, which cannot see a folder of this one: give "
            "storage_url=s3://BUCKET/PREFIX, or leave ray_address out."
        )
    _refuse_without_token(os.environ if environment is None else environment)


def _refuse_without_token(environment: Mapping[str, str]) -> None:
    if environment.get("RAY_AUTH_TOKEN"):
        return
    path = environment.get("RAY_AUTH_TOKEN_PATH")
    if not (Path(path) if path else Path.home() / _TOKEN_FILE).is_file():
        raise SettingsError(
            "The Ray cluster's token is not here: copy the head's ~/.ray/auth_token to the same place on this machine, "
            "or set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH. `ray get-auth-token --generate` makes one."
        )
