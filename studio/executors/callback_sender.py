"""The sender of callbacks: reports ends of tasks to the addresses that calls named, signed, again where nobody answers.
Receivers are strangers: they get seconds, their answers are not read, and no redirect of theirs is followed."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import httpx
from structlog.typing import FilteringBoundLogger

from engine.errors import SettingsError
from engine.texts import numeral, tr
from studio.addresses import WHOSE, GuardedTransport, looked_up
from studio.errors import NotFound, StudioError
from studio.executors.turns import Turns
from studio.store.accounts import Account, account_of_id
from studio.store.callback_signatures import secret_of_account, signed_headers
from studio.store.deliveries import Delivery, take_due, was_delivered, was_not_delivered
from studio.store.records.codec import Record, plain
from studio.store.studio import Studio

View = Callable[[Studio, Account, str, str, float], Record]  # as studio.actions.tasks.task_view
TAKEN_S = 60.0  # by when an attempt must have ended
_PATIENCE_S = 15.0
_CLOSE_S = 1.0
_RECORD_AGAIN_S = 0.25
_LAST_S = 5.0  # for the record of what was answered when the sender closes
_AT_ONCE, _OF_ACCOUNT = 128, 4
_LOOK_UPS, _LOOK_UPS_OF_ACCOUNT = 32, 2  # threads: nobody can end a look-up that hangs
_GONE = 410
_PROGRAM = "Timbre-Studio"


@dataclass(frozen=True)
class _Outcome:
    """Of an attempt. status: that was answered; reason: why it failed, empty if it did not."""

    status: int | None = None
    reason: str = ""
    for_good: bool = False


class CallbackSender:
    """Sends what is due, until it is closed."""

    def __init__(
        self,
        studio: Studio,
        view: View,
        log: FilteringBoundLogger,
        clock: Callable[[], float] = time.time,
        transport: Callable[[], httpx.AsyncBaseTransport] | None = None,
    ) -> None:
        """Report tasks as `view` shows them. transport: makes what calls the addresses."""
        self._studio, self._view, self._log, self._clock = studio, view, log, clock
        self._transport = transport or (lambda: GuardedTransport(studio.service.callbacks == "any", self._resolved))
        self._look_ups = Turns(_LOOK_UPS, 2 * _OF_ACCOUNT, share=_LOOK_UPS_OF_ACCOUNT)
        self._under_way: Counter[str] = Counter()  # by account
        self._sending: set[Future[None]] = set()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def begin_due(self) -> int:
        """Begin to send what is due now and has a place; return how many. Raises Unavailable, DiskFull."""
        with self._lock:
            under_way = dict(self._under_way)
        free = _AT_ONCE - sum(under_way.values())
        due = take_due(self._studio.database, free, _OF_ACCOUNT, TAKEN_S, under_way) if free > 0 else []
        for delivery in due:
            self._begin(delivery)
        return len(due)

    def close(self) -> None:
        """Finish what is under way, and send no more."""
        with self._lock:
            sending, loop, thread = set(self._sending), self._loop, self._thread
        wait(sending, _PATIENCE_S + _LAST_S)
        self._look_ups.close()
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    def _begin(self, delivery: Delivery) -> None:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._run, args=(self._loop,), name="courier", daemon=True)
                self._thread.start()
            self._under_way[delivery.account_id] += 1
            sent = asyncio.run_coroutine_threadsafe(self._send(delivery), self._loop)
            self._sending.add(sent)
        sent.add_done_callback(partial(self._ended, delivery.account_id))

    def _run(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        self._client = httpx.AsyncClient(
            transport=self._transport(), follow_redirects=False, trust_env=False, timeout=2 * _PATIENCE_S
        )  # that of a whole attempt ends before
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(self._end_all())
            loop.close()

    async def _end_all(self) -> None:
        late = asyncio.all_tasks() - {asyncio.current_task()}
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        await self._client.aclose()

    def _ended(self, account_id: str, sent: Future[None]) -> None:
        with self._lock:
            self._under_way[account_id] -= 1
            self._under_way += Counter()  # removes the accounts without any
            self._sending.discard(sent)
        if not sent.cancelled() and (error := sent.exception()) is not None:
            self._log.error("callback_not_recorded", reason=repr(error))

    async def _send(self, delivery: Delivery) -> None:
        outcome = await self._outcome(delivery)
        await self._record(delivery, outcome)
        self._log.info("callback", delivery=delivery.id, task_id=delivery.task_id, status=outcome.status)

    async def _outcome(self, delivery: Delivery) -> _Outcome:
        try:
            body = await asyncio.to_thread(self._body, delivery)
            status = await self._status(delivery, body)
        except (SettingsError, NotFound) as refusal:
            return _Outcome(reason=str(refusal), for_good=True)
        except StudioError as trouble:
            return _Outcome(reason=str(trouble))
        except TimeoutError:
            patience = numeral(_PATIENCE_S, "g")
            return _Outcome(reason=tr("The address did not answer within {patience_s} s.", patience_s=patience))
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            return _Outcome(reason=tr("The address cannot be reached."))
        except Exception:  # noqa: BLE001 - a bug: the others are sent all the same
            self._log.exception("callback_failed", delivery=delivery.id)
            return _Outcome(reason=tr("Something went wrong in the studio. See its log for details."))
        if 200 <= status < 300:
            return _Outcome(status)
        return _Outcome(status, tr("The address answered with status {status}.", status=status), status == _GONE)

    async def _status(self, delivery: Delivery, body: bytes) -> int:
        """Return the status that the address answers; once it is known, nothing makes a failure of it any more."""
        secret = secret_of_account(self._studio.link_secret, delivery.account_id)
        headers = signed_headers(secret, delivery.id, int(self._clock()), body)
        headers |= {"Content-Type": "application/json", "User-Agent": _PROGRAM}
        request = self._client.build_request(
            "POST", delivery.url, content=body, headers=headers, extensions={WHOSE: delivery.account_id}
        )
        async with asyncio.timeout(_PATIENCE_S):  # from the look-up of the name to the head of the answer
            answer = await self._client.send(request, stream=True)
        with suppress(httpx.HTTPError, OSError, TimeoutError):  # the body is not read
            async with asyncio.timeout(_CLOSE_S):
                await answer.aclose()
        return answer.status_code

    async def _record(self, delivery: Delivery, outcome: _Outcome) -> None:
        """Record an attempt, again and again while the database is busy: unrecorded it would be repeated."""
        while True:
            try:
                await asyncio.to_thread(self._write, delivery, outcome)
            except StudioError:
                await asyncio.sleep(_RECORD_AGAIN_S)
            else:
                return

    def _write(self, delivery: Delivery, outcome: _Outcome) -> None:
        database = self._studio.database
        if outcome.status is not None and not outcome.reason:
            was_delivered(database, delivery, outcome.status)
        else:
            was_not_delivered(database, delivery, outcome.reason, outcome.status, outcome.for_good)

    async def _resolved(self, host: str, port: int, account_id: str) -> list[str]:
        """Look a name up in the account's turn; who waits no longer gives the turn back, unless it has begun."""
        return await asyncio.wrap_future(self._look_ups.submit(account_id, partial(looked_up, host, port)))

    def _body(self, delivery: Delivery) -> bytes:
        """Return what is reported: how the task has ended, with all that its account may see of it."""
        account = account_of_id(self._studio.database, delivery.account_id)
        task = plain(self._view(self._studio, account, delivery.task_id, delivery.base_url, self._clock()))
        said = {"type": f"task.{task['state']}", "timestamp": task["finished_at"], "data": task}
        return json.dumps(said, ensure_ascii=False).encode()
