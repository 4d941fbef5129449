"""What many that only wait cost the server: `python -m studio.load.watchers`.

    python -m studio.load.watchers     500 streams of events and 200 waiting calls on tasks that do not end, then 300
                                      visitors who open the page as chromium does and let it lie open, then as many
                                      in their place: memory and threads of the server, before and with them

Exit status 1 where a bound is not kept: 60 MB and no thread for each of those who wait, 120 MB for the visitors, and
40 MB for those who come after them.
"""

import asyncio
import itertools
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import psutil

from engine.errors import EngineError
from studio.load.payloads import sample
from studio.load.trial_service import Chosen, TrialService, trial_service
from studio.load.visits import first_events, open_pages
from studio.settings.service import MEGABYTE

EVENTS, WAITS, VISITORS = 500, 200, 300
MOST_MB, MOST_MB_OF_VISITORS, MOST_MB_OF_NEXT = 60.0, 120.0, 40.0
MOST_THREADS = 40  # more: AnyIO's pool, which everything shares
_OF_ACCOUNT = 100  # as many as an account may have
_ALIKE = 10  # of each, which come before the first look: what is loaded for the first one is nobody's
_SETTLE_S = 5.0
LIMITS: Chosen = {"executor": "none", "submissions_per_minute": 1_000_000}
LIMITS |= {"free_disk_mb": 0, "page_sessions": VISITORS + _ALIKE}


@dataclass(frozen=True)
class Cost:
    """Of so many that wait: what they add to the server, and the bound."""

    what: str
    megabytes: float
    threads: int
    most_megabytes: float

    @property
    def keeps_bounds(self) -> bool:
        """Whether it is little."""
        return self.megabytes <= self.most_megabytes and self.threads <= MOST_THREADS

    def __str__(self) -> str:
        return f"{self.what}: {self.megabytes:+.0f} MB (at most {self.most_megabytes:.0f}), {self.threads:+} threads"


def measure(service: TrialService, events: int = EVENTS, waits: int = WAITS, visitors: int = VISITORS) -> list[Cost]:
    """Measure those who wait, then the visitors, on a service without workers."""
    return asyncio.run(_measured(service, events, waits, visitors))


async def _measured(service: TrialService, events: int, waits: int, visitors: int) -> list[Cost]:
    server = psutil.Process(service.process.pid)

    def look() -> tuple[float, int]:
        return server.memory_info().rss / MEGABYTE, server.num_threads()

    async with httpx.AsyncClient(
        base_url=service.base_url, timeout=None, trust_env=False, limits=httpx.Limits(max_connections=None)
    ) as http:
        tasks = await _tasks(http, service, -(-(events + waits + _ALIKE) // _OF_ACCOUNT))
        places = itertools.chain.from_iterable(itertools.repeat(one, _OF_ACCOUNT) for one in tasks)
        async with _waiting(http, itertools.islice(places, _ALIKE), _ALIKE // 2):
            before = look()
            async with _waiting(http, itertools.islice(places, events + waits), events):
                beside = look()
        found = [Cost(f"{events} streams of events and {waits} waits", *_more(before, beside), MOST_MB)]
        http.headers["Origin"] = service.base_url
        sent = await asyncio.to_thread(first_events, service.base_url)
        async with open_pages(http, sent, _ALIKE):
            before = look()
            for what, most in (("visitors", MOST_MB_OF_VISITORS), ("visitors in their place", MOST_MB_OF_NEXT)):
                async with open_pages(http, sent, visitors):
                    await asyncio.sleep(_SETTLE_S)
                    beside = look()
                found.append(Cost(f"{visitors} {what}", *_more(before, beside), most))
                before = beside
        return found


def _more(before: tuple[float, int], after: tuple[float, int]) -> tuple[float, int]:
    return after[0] - before[0], after[1] - before[1]


async def _tasks(http: httpx.AsyncClient, service: TrialService, accounts: int) -> list[tuple[str, str]]:
    """A token of each account, and a task of its own that nobody carries out."""
    found = []
    for number in range(accounts):
        token = service.token(f"waits-{number}")
        headers, files = {"Authorization": f"Bearer {token}"}, {"audio": ("a.flac", sample())}
        answer = await http.post("/convert", headers=headers, files=files, data={"model": "kathleen"})
        found.append((token, answer.raise_for_status().json()["task_id"]))
    return found


@asynccontextmanager
async def _waiting(http: httpx.AsyncClient, places: Iterator[tuple[str, str]], events: int) -> AsyncIterator[None]:
    """Open a call for each place, the first of them streams of events, until all have begun and the end."""
    begun, calls = asyncio.Semaphore(0), []

    async def stream(token: str, task: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        async with http.stream("GET", f"/tasks/{task}/events", headers=headers) as answer:
            answer.raise_for_status()
            async for _ in answer.aiter_bytes():
                begun.release()

    async def wait(token: str, task: str) -> None:
        headers = {"Authorization": f"Bearer {token}", "Prefer": "wait=600"}
        begun.release()
        await http.get(f"/tasks/{task}", headers=headers)

    for number, (token, task) in enumerate(places):
        calls.append(asyncio.create_task((stream if number < events else wait)(token, task)))
    try:
        for _ in calls:
            await begun.acquire()
        await asyncio.sleep(_SETTLE_S)
        for call in calls:
            if call.done():
                raise EngineError(f"A call that was to wait has ended: {call.exception() or 'it was answered'}")
        yield
    finally:
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and report; returns the exit status."""
    try:
        with tempfile.TemporaryDirectory() as folder, trial_service(Path(folder) / "home", **LIMITS) as service:
            found = measure(service)
    except EngineError as error:
        print(error, file=sys.stderr)
        return 1
    print(*found, sep="\n")
    return 0 if all(one.keeps_bounds for one in found) else 1


if __name__ == "__main__":
    with suppress(KeyboardInterrupt):
        sys.exit(main())
