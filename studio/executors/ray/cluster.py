"""The dispatcher's view of a Ray cluster: places work on it, receives the outcomes, and kills what hangs."""

import importlib
import os
from collections.abc import Collection, Mapping
from importlib.metadata import version
from types import ModuleType
from typing import Protocol

from studio.executors.ray.executor import is_of_this_machine
from studio.executors.ray.work import PACKAGE, TROUBLE, carry_out
from studio.executors.worker import Order
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.kinds import LANES

LOST = "lost"  # its process or node died
WITHDRAWN = "withdrawn"  # stopped, or never started, on request
NAMESPACE = "timbre-studio"
_STORE_BYTES = 80_000_000  # for objects: hardly any, as each result is a word


class _Remote(Protocol):
    """A function that Ray calls on one of its nodes."""

    def options(self, *, name: str) -> "_Remote": ...

    def remote(self, order: Order) -> object: ...


class RayCluster:
    """A client's connection to a cluster. Placed work is identified by its owner, the id it claims its task under."""

    def __init__(self, settings: Settings, service: ServiceSettings) -> None:
        self._settings, self._service = settings, service
        self._references: dict[str, object] = {}
        self._remote: dict[str, _Remote] = {}
        self._threads: dict[str, int] = {}

    def connect(self) -> None:
        """Join the cluster, or start one on this machine. Raises what Ray raises, such as ConnectionError."""
        address = self._service.ray_address
        own = {} if address else {"include_dashboard": False, "object_store_memory": _STORE_BYTES}
        _ray().init(address or "local", **own, namespace=NAMESPACE, log_to_driver=False, logging_level="ERROR")
        for lane, (cpus, gpus) in self._shares().items():
            # only our retries: Ray's could repeat what another worker has done meanwhile
            options = {"num_cpus": cpus, "num_gpus": gpus, "max_retries": 0, "scheduling_strategy": "SPREAD"}
            self._remote[lane] = _ray().remote(**options)(carry_out)
            self._threads[lane] = int(cpus)

    def place(self, lane: str, owner: str) -> None:
        """Run the next task of a lane as soon as there is room."""
        # on this machine's database they share its folder too
        data = str(self._settings.data) if is_of_this_machine(self._service.ray_address) else ""
        order = Order(data, self._service, lane, owner, self._threads[lane], version=version(PACKAGE))
        self._references[owner] = self._remote[lane].options(name=f"timbre-studio {lane}").remote(order)

    def ended(self) -> dict[str, tuple[str, str]]:
        """Return new outcomes by owner: (outcome, text) from `carry_out`, or LOST or WITHDRAWN."""
        if not self._references:
            return {}
        owners = {reference: owner for owner, reference in self._references.items()}
        over, _ = _ray().wait(list(owners), num_returns=len(owners), timeout=0, fetch_local=False)
        found = {owners[reference]: _outcome(reference) for reference in over}
        for owner in found:
            del self._references[owner]
        return found

    def ask_to_stop(self, owners: Collection[str]) -> None:
        """Let running work finish or requeue its task; work not yet started is withdrawn."""
        self._cancel(owners, force=False)

    def kill(self, owner: str) -> None:
        self._cancel([owner], force=True)

    def size(self) -> dict[str, float]:
        """Return the number of working `nodes`, and of `workers`: concurrent conversions."""
        cpus, gpus = self._shares()["conversions"]
        nodes = [node["Resources"] for node in _ray().nodes() if node["Alive"]]
        each = [_room(resources, cpus, gpus) for resources in nodes]
        return {"workers": sum(each), "nodes": sum(room > 0 for room in each)}

    def leave(self) -> None:
        """Leave the cluster, which kills everything this client still runs."""
        _ray().shutdown()

    def _cancel(self, owners: Collection[str], force: bool) -> None:
        for owner in owners:
            if owner in self._references:
                # distributed training handles its own processes
                _ray().cancel(self._references[owner], force=force, recursive=False)

    def _shares(self) -> Mapping[str, tuple[float, float]]:
        service = self._service
        cores = float(service.threads or 1)  # as many as it computes with
        gpus = {"trainings": service.ray_training_gpus}
        return {lane: (cores, gpus.get(lane, service.ray_conversion_gpus)) for lane in LANES}


def _ray() -> ModuleType:
    """Import Ray, which is slow to load and optional."""
    return importlib.import_module("ray")


def _outcome(reference: object) -> tuple[str, str]:
    exceptions = _ray().exceptions
    try:
        word, text = _ray().get(reference)
        return str(word), str(text)
    except exceptions.TaskCancelledError:
        return WITHDRAWN, ""
    except exceptions.RayTaskError as error:
        return TROUBLE, str(error)
    except exceptions.RayError as error:
        return LOST, type(error).__name__


def _room(resources: Mapping[str, float], cpus: float, gpus: float) -> int:
    """Return how many conversions fit on a node."""
    have, need = (resources.get("CPU", 0.0), resources.get("GPU", 0.0)), (cpus, gpus)
    wanted = [(mine, one) for mine, one in zip(have, need, strict=True) if one > 0]
    return min((int(mine / one) for mine, one in wanted), default=os.cpu_count() or 1)
