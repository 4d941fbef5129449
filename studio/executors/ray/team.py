"""A team of Ray tasks that learn one voice together, each on whatever node of the cluster has room for it.

The training itself is one Ray task as ever, the first of the team; it asks for the others, waits a while for them, and
learns with those that came. What the others need to know it tells them: they open no database and no storage.
"""

import importlib
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from engine.errors import TeamLost
from studio.errors import StudioError
from studio.settings.service import ServiceSettings

if TYPE_CHECKING:  # they load torch
    from engine.training.distributed.team import Team

PACKAGE = "timbre-studio"
_PATIENCE_S = 60.0  # for a node to begin a task; who comes later goes away again


@dataclass(frozen=True)
class TeamOrder:
    """What another of the team is told: where the first is found, and what to compute on and with."""

    address: str
    port: int
    secret: str
    device: str
    threads: int
    version: str


@contextmanager
def team_on_ray(service: ServiceSettings, threads: int, processes: int, device: str) -> "Iterator[Team]":
    """A team of at most so many Ray tasks, this one the first; a `Gather`, once the rest is given.

    To be used in a Ray task, whose node the others must be able to reach. Raises TeamLost.
    """
    from engine.training.distributed.rendezvous import begin_team, store_of_first
    from engine.training.distributed.team import ALONE
    from engine.training.distributed.team_member import led

    if processes == 1:
        yield ALONE
        return
    ray = _ray()
    address, secret = ray.util.get_node_ip_address(), secrets.token_hex(16)
    store, port = store_of_first(address, secret)
    order = TeamOrder(address, port, secret, device, threads, version(PACKAGE))
    share = {"num_cpus": service.ray_training_cpus, "num_gpus": service.ray_training_gpus}
    options = share | {"max_retries": 0, "scheduling_strategy": "SPREAD", "name": "timbre-studio team"}
    members = [ray.remote(**options)(learn_along).remote(order) for _ in range(processes - 1)]

    def expected() -> int:
        over, _ = ray.wait(members, num_returns=len(members), timeout=0, fetch_local=False)
        return len(members) - len(over)

    try:
        with led(begin_team(store, expected, _PATIENCE_S, address)) as team:
            yield team
    finally:
        for member in members:  # those that never got a place
            ray.cancel(member, force=False, recursive=False)


def learn_along(order: TeamOrder) -> None:
    """Be one of the team, until it is over. Raises StudioError on a node with another version of the program."""
    # before torch is loaded, which reads it then: threads that wait by turning round and round take the processor
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    import torch

    from engine.training.distributed.rendezvous import join_team, store_of_others
    from engine.training.distributed.team_member import follow

    refuse_other_version(order.version)
    torch.set_num_threads(order.threads)
    store = store_of_others(order.address, order.port, order.secret)
    if store is None:
        return
    with suppress(TeamLost):  # the first is lost, and who needs to know does
        team = join_team(store, _ray().util.get_node_ip_address())
        if team is not None:
            follow(team, order.device)
            team.dismiss()


def refuse_other_version(wanted: str) -> None:
    """Raises StudioError where this node has another version of the program than the service."""
    here = version(PACKAGE)
    if here != wanted:
        raise StudioError(f"{os.uname().nodename} has Timbre Studio {here}, and the service is {wanted}.", "version")


def _ray() -> Any:
    return importlib.import_module("ray")
