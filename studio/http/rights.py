"""Rights that end while a call goes on: its token is revoked or expires, or its account is deleted, by any process.
One look at the database serves all such calls of a server; calls answered within a second cost none."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial

import anyio
import structlog

from engine.texts import tr
from studio.errors import StudioError, Unauthorised
from studio.store.database import Database
from studio.store.reading import read_soon
from studio.store.tokens import valid_among

LOOK_S = 1.0
_ENDED = tr("The token was revoked or has expired, or its account was deleted.")


def ended() -> Unauthorised:
    """Return the error for a right that has ended."""
    return Unauthorised(_ENDED, "token_invalid")


class Right:
    """The right of one call, for its event loop alone. holders: ids of tokens and accounts that must be valid."""

    def __init__(self, *holders: str) -> None:
        self.holders = set(holders)
        self.has_ended = False
        self.is_old = False  # it has been there at an earlier look
        self._at_end: list[Callable[[], object]] = []

    def end(self) -> None:
        """Cut off what goes on."""
        self.has_ended = True
        for act in list(self._at_end):
            act()

    def refuse_ended(self) -> None:
        if self.has_ended:
            raise ended()

    @contextmanager
    def at_end(self, act: Callable[[], object]) -> Iterator[None]:
        """Do something if the right ends within the block, or has ended."""
        if self.has_ended:
            act()
        self._at_end.append(act)
        try:
            yield
        finally:
            self._at_end.remove(act)

    @contextmanager
    def while_it_lasts(self) -> Iterator[None]:
        """Leave the block, wherever it waits, when the right ends."""
        with anyio.CancelScope() as scope, self.at_end(scope.cancel):
            yield


class RightsWatch:
    """Watches the rights of the calls of one server. For its event loop alone."""

    def __init__(self, database: Database, pause: Callable[[], Awaitable[None]] | None = None) -> None:
        """pause: waits between two looks."""
        self._database, self._pause = database, pause or partial(asyncio.sleep, LOOK_S)
        self._open: set[Right] = set()
        self._looking: asyncio.Task[None] | None = None

    @contextmanager
    def granted(self, *holders: str) -> Iterator[Right]:
        """Watch over a right until the block ends."""
        right = Right(*holders)
        self._open.add(right)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look())
        try:
            yield right
        finally:
            self._open.discard(right)

    async def _look(self) -> None:
        try:
            while self._open:
                await self._pause()
                try:
                    await self._check()
                except StudioError:
                    pass  # a busy database is asked again
                except Exception:  # noqa: BLE001 - a bug must not leave what has ended unwatched
                    structlog.get_logger("studio.rights").exception("failed")
        finally:
            self._looking = None

    async def _check(self) -> None:
        old = [right for right in self._open if right.is_old and not right.has_ended]
        for right in self._open:
            right.is_old = True
        if not (holders := set[str]().union(*(right.holders for right in old))):
            return
        valid = await read_soon(self._database, valid_among, self._database, holders)
        for right in old:
            if not right.holders <= valid:
                right.end()
