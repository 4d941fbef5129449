"""How a team meets: those who come say so in a store that all of them reach, and the first decides when it begins.

It begins with those who are there when all have come, or when the first has waited long enough; who comes later goes
away again. So a cluster that has no room for all of them learns with fewer, rather than not at all.
"""

import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from torch import distributed

from engine.training.distributed.team import Team, form_team

if TYPE_CHECKING:  # which some builds of torch lack, that can do all the rest
    from torch.distributed import Store

LOOPBACK = "127.0.0.1"
_CAME, _SIZE = "came", "size"
_LOOK_S = 0.05
_BEGINS_WITHIN = timedelta(minutes=10)  # for whoever has come; longer than any first waits
_REACHED_WITHIN = timedelta(seconds=30)


def store_on_disk(path: Path) -> "Store":
    """A store for processes of this machine, in a file that none has made yet, which nobody else can write to."""
    return distributed.FileStore(str(path), -1)


def store_of_first(address: str, secret: str) -> "tuple[Store, int]":
    """A store for processes of several machines, held by the first, and its port. secret: without it nothing is found
    in there."""
    store = distributed.TCPStore(address, 0, is_master=True, wait_for_workers=False, timeout=_REACHED_WITHIN)
    return distributed.PrefixStore(secret, store), store.port


def store_of_others(address: str, port: int, secret: str) -> "Store | None":
    """The same store, from elsewhere; None where the first is not there any more."""
    try:
        store = distributed.TCPStore(address, port, is_master=False, wait_for_workers=False, timeout=_REACHED_WITHIN)
    except (distributed.DistNetworkError, distributed.DistStoreError):
        return None
    return distributed.PrefixStore(secret, store)


def begin_team(store: "Store", expected: Callable[[], int], patience_s: float, address: str = LOOPBACK) -> Team:
    """The team, of which this process is the first, with those who have come: all that are expected, or as many as are
    there after `patience_s` seconds.

    expected: says how many others will have come in the end, as far as is known by now; address: as others reach this
    process. Raises TeamLost where one has come and died.
    """
    deadline = time.monotonic() + patience_s
    while (came := store.add(_CAME, 0)) < expected() and time.monotonic() < deadline:
        time.sleep(_LOOK_S)
    store.set(_SIZE, str(1 + came))
    return form_team(store, 0, 1 + came, address)


def join_team(store: "Store", address: str = LOOPBACK) -> Team | None:
    """The team, of which this process is one of the others; None where it has begun without it. Raises TeamLost."""
    place = store.add(_CAME, 1)
    try:
        store.wait([_SIZE], _BEGINS_WITHIN)
    except (distributed.DistNetworkError, distributed.DistStoreError):
        return None
    size = int(store.get(_SIZE))
    return form_team(store, place, size, address) if place < size else None
