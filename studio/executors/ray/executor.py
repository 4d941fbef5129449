"""The Ray executor: a Ray cluster runs the tasks; database and storage hold the state.
Ray's client ends the process it runs in when the cluster's head is lost, so it lives in a process of its own, the
dispatcher, which is restarted whenever it dies. Of several services on one database one dispatcher leads."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from structlog.typing import FilteringBoundLogger

from engine.errors import SettingsError
from engine.installed import add_extra
from engine.texts import tr
from studio.executors.process import OrderedProcess, environment_of, start_process
from studio.executors.retries import LONGEST_BACKOFF_S, Backoff
from studio.executors.worker import OVERDUE_S, WAKE, Order
from studio.settings.environment import Settings
from studio.settings.service import LOOPBACK, ServiceSettings

COMMAND = (sys.executable, "-P", "-m", "studio.executors.ray.dispatcher")
DISPATCH = "dispatch"
_LOOK_S = 0.5
_LAST_S = 15.0  # for the dispatcher to leave the cluster after its tasks
_FIRST_BACKOFF_S = 0.5
_HEALTHY_S = 60.0
_TOKEN_FILE = ".ray/auth_token"  # noqa: S105


class RayExecutor:
    """Runs a service's tasks on a Ray cluster, between `start` and `stop`."""

    def __init__(
        self, settings: Settings, service: ServiceSettings, log: FilteringBoundLogger, command: Sequence[str] = COMMAND
    ) -> None:
        """command: the command that starts the dispatcher. Raises SettingsError for settings that cannot work."""
        refuse_what_cannot_work(service)
        self._settings, self._service, self._log, self._command = settings, service, log, tuple(command)
        self._stopping = threading.Event()
        self._process: OrderedProcess | None = None
        self._said: dict[str, float] = {}
        self._restarts = 0
        self._thread = threading.Thread(target=self._watch, name="dispatcher", daemon=True)

    # ---- control

    def start(self) -> None:
        """Start the dispatcher, and restart it whenever it dies, until `stop`."""
        self._thread.start()

    def wake(self) -> None:
        """Place a new task now rather than at the next check."""
        if process := self._process:
            process.send(WAKE)

    def alive(self) -> dict[str, float]:
        """Return the concurrent conversions of the cluster (`workers`), its `nodes`, workers `placed` on it, whether
        this service's dispatcher `leads`, and `restarts` of dead dispatchers."""
        counted = dict.fromkeys(("workers", "nodes", "placed", "leads"), 0.0)
        return {**counted, **self._said, "restarts": self._restarts, "watched": int(self._thread.is_alive())}

    def stop(self) -> None:
        """Stop the dispatcher; running tasks finish within the grace period, or are requeued."""
        self._stopping.set()
        if self._thread.ident is not None:
            self._thread.join(LONGEST_BACKOFF_S)
        process = self._process
        if process is None:
            return
        process.dismiss()
        try:
            process.popen.wait(self._service.grace_s + OVERDUE_S + _LAST_S)
        except subprocess.TimeoutExpired:
            process.popen.kill()  # then Ray kills its workers, and their leases expire
            process.popen.wait()

    # ---- supervision

    def _watch(self) -> None:
        backoff = Backoff(_FIRST_BACKOFF_S, _HEALTHY_S)
        while not self._stopping.is_set():
            if self._process is not None and (status := self._process.popen.poll()) is not None:
                self._log.warning("dispatcher_died", pid=self._process.popen.pid, status=status)
                self._process.dismiss()
                backoff.failed(self._process.lasted_s)
                self._process, self._said = None, {}
                self._restarts += 1
            if self._process is None and backoff.is_over:
                self._start()
            self._stopping.wait(_LOOK_S)

    def _start(self) -> None:
        order = Order(str(self._settings.data), self._service, DISPATCH, "", 1)
        self._process = start_process(
            self._command, order, environment_of(1) | ray_environment(), stdout=subprocess.PIPE
        )
        threading.Thread(target=self._receive, args=(self._process,), name="dispatcher says", daemon=True).start()
        self._log.info("dispatcher_started", pid=self._process.popen.pid)

    def _receive(self, process: OrderedProcess) -> None:
        """Keep the dispatcher's latest line of JSON, its state."""
        assert process.popen.stdout is not None
        with contextlib.suppress(OSError, ValueError), process.popen.stdout:
            for line in process.popen.stdout:
                with contextlib.suppress(ValueError):
                    said = json.loads(line)
                    if isinstance(said, dict) and process is self._process:
                        self._said = {str(name): float(number) for name, number in said.items()}


def ray_environment() -> dict[str, str]:
    """Environment of every process that uses Ray: a token is required, and no usage is reported."""
    return {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}


def is_of_this_machine(ray_address: str) -> bool:
    """Return whether tasks stay on this machine: the Ray is local, or only this machine can reach it."""
    return not ray_address or ray_address.rpartition(":")[0].strip("[]") in LOOPBACK


def refuse_what_cannot_work(service: ServiceSettings, environment: Mapping[str, str] | None = None) -> None:
    """Raise SettingsError if tasks could not be placed on Ray, or could not run there."""
    address = service.ray_address
    if importlib.util.find_spec("ray") is None:
        raise SettingsError(
            tr("executor=ray requires another package on every machine: {install}.", install=add_extra("ray"))
        )
    host, _, port = address.rpartition(":")
    if address and not (host and "/" not in host and port.isdigit()):
        raise SettingsError(
            tr("ray_address must be HOST:PORT, as `ray start --head` prints it, not '{address}'.", address=address)
        )
    if is_of_this_machine(address):
        if address:
            _refuse_without_token(os.environ if environment is None else environment)
        return
    if not service.database_url.startswith("postgresql"):
        raise SettingsError(
            tr(
                "Ray at {address} runs tasks on other machines, which cannot open a SQLite file of this one. Set "
                "database_url=postgresql://USER:PASSWORD@HOST/NAME, or leave ray_address out.",
                address=address,
            )
        )
    if not service.storage_url.startswith("s3://"):
        raise SettingsError(
            tr(
                "Ray at {address} runs tasks on other machines, which cannot read a folder of this one. Set "
                "storage_url=s3://BUCKET/PREFIX, or leave ray_address out.",
                address=address,
            )
        )
    _refuse_without_token(os.environ if environment is None else environment)


def _refuse_without_token(environment: Mapping[str, str]) -> None:
    if environment.get("RAY_AUTH_TOKEN"):
        return
    path = environment.get("RAY_AUTH_TOKEN_PATH")
    if not (Path(path) if path else Path.home() / _TOKEN_FILE).is_file():
        raise SettingsError(
            tr(
                "The token of the Ray cluster is missing. Copy the head's ~/.ray/auth_token to the same place here, "
                "or set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH. `ray get-auth-token --generate` makes one."
            )
        )
