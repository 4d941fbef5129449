"""How the processes of a service share its cores: each has a byte in a small mapped file that says what it works on.
Live sessions have two cores each, conversions all others in equal shares, trainings what is left; one each at least."""

import mmap
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from engine.cores import usable_cores

CONVERSIONS, TRAININGS, LIVE = "conversions", "trainings", "live"
KINDS = (CONVERSIONS, TRAININGS, LIVE)  # by their number in the file, from 1
LIVE_CORES = 2  # its networks, and the pitch beside them
_PLACES = 1024  # beyond it a process computes by itself


@dataclass(frozen=True)
class Division:
    """The cores of each process that is at work."""

    conversions: tuple[int, ...]
    trainings: tuple[int, ...]
    live: tuple[int, ...]


def divided(conversions: int, trainings: int, live: int, cores: int, most: int = 0) -> Division:
    """Divide cores among so many processes; most: that one may have, 0 for any number.

    >>> divided(conversions=1, trainings=1, live=0, cores=4)
    Division(conversions=(4,), trainings=(1,), live=())
    >>> divided(conversions=2, trainings=1, live=1, cores=8, most=2)
    Division(conversions=(2, 2), trainings=(2,), live=(2,))
    """
    most = most or cores
    left = max(1, cores - LIVE_CORES * live)
    converting = _shares(left, conversions, most)
    return Division(converting, _shares(left - sum(converting), trainings, most), (min(LIVE_CORES, cores),) * live)


def _shares(cores: int, number: int, most: int) -> tuple[int, ...]:
    return tuple(min(most, max(1, cores // number + (one < cores % number))) for one in range(number))


class CoreShares:
    """The file, as its server has it, until `close`. most: cores of one process; 0: any number."""

    def __init__(self, most: int = 0) -> None:
        self.most = most
        descriptor, path = tempfile.mkstemp(prefix="timbre-studio-cores-")
        os.write(descriptor, bytes(_PLACES))
        os.close(descriptor)
        self.path = Path(path)
        self._board = _Board(self.path)
        self._taken: set[int] = set()
        self._lock = threading.Lock()

    def enter(self, kind: str = "") -> int:
        """Return a place for a process; kind: what it is at work on from now on, if anything."""
        with self._lock:
            place = next(one for one in count() if one not in self._taken)
            self._taken.add(place)
        self._board.note(place, kind)
        return place

    def leave(self, place: int) -> None:
        """Empty the place of a process that has ended."""
        self._board.note(place, "")
        with self._lock:
            self._taken.discard(place)

    def division(self) -> Division:
        """Return what each process that is at work may use now."""
        return self._board.division(self.most)

    def close(self) -> None:
        """Remove the file; processes that are at work keep to what it says."""
        self._board.close()
        with suppress(OSError):  # Windows removes no file that others have open
            self.path.unlink()


class CoreShare:
    """The share of this process. path, place: of the file; kind: what it works on; most: cores that it may have."""

    def __init__(self, path: Path, place: int, kind: str, most: int = 0) -> None:
        self._board, self._place, self._kind, self._most = _Board(path), place, kind, most

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Have the other processes make room during the block."""
        self._board.note(self._place, self._kind)
        try:
            yield
        finally:
            self._board.note(self._place, "")

    def threads(self) -> int:
        """Return how many cores this process, which is at work, may use now."""
        return self._board.share(self._place, self._kind, self._most)


class _Board:
    """A byte for each process: 0, or the number of a kind."""

    def __init__(self, path: Path) -> None:
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), 0)

    def note(self, place: int, kind: str) -> None:
        if place < _PLACES:
            with suppress(ValueError):  # it is closed: the service has ended
                self._bytes[place] = KINDS.index(kind) + 1 if kind else 0

    def division(self, most: int) -> Division:
        return _divided(self._bytes[:], most)

    def share(self, place: int, kind: str, most: int) -> int:
        """Return the share of a process: where they cannot be equal, those in lower places have one core more."""
        now = self._bytes[:]
        shares = {CONVERSIONS: _divided(now, most).conversions, TRAININGS: _divided(now, most).trainings}[kind]
        rank = now[:place].count(KINDS.index(kind) + 1)
        return shares[rank] if rank < len(shares) else 1

    def close(self) -> None:
        self._bytes.close()


def _divided(now: bytes, most: int) -> Division:
    conversions, trainings, live = (now.count(number) for number in range(1, len(KINDS) + 1))
    return divided(conversions, trainings, live, usable_cores(), most)
