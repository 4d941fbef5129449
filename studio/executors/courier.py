"""The courier: reports the ends of tasks to the addresses that calls named, signed, and again where nobody answers.

Receivers are strangers: they get seconds, their answers are not read, and no redirect of theirs is followed. See
`studio.store.deliveries` for what becomes of a delivery, `studio.addresses` for whom it may reach.
"""

import asyncio
import json
import time
from collections.abc import Callable, Mapping

import httpx
from structlog.typing import FilteringBoundLogger

from engine.errors import SettingsError
from engine.texts import numeral, tr
from studio.addresses import GuardedTransport
from studio.errors import NotFound
from studio.store.accounts import Account, account_of_id
from studio.store.callback_signatures import secret_of_account, signed_headers
from studio.store.deliveries import Delivery, take_due, was_delivered, was_not_delivered
from studio.store.studio import Studio

View = Callable[[Studio, Account, str, str, float], Mapping[str, object]]  # as studio.actions.tasks.task_view
TAKEN_S = 60.0  # by when an attempt must have ended
_PATIENCE_S = 15.0
_AT_ONCE, _OF_ACCOUNT = 16, 4
_GONE = 410
_PROGRAM = "Timbre-Studio"


class Courier:
    """Sends what is due. For one thread."""

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
        self._transport = transport or (lambda: GuardedTransport(studio.service.callbacks == "any"))

    def deliver_due(self) -> int:
        """Send what is due now, several at a time; return how many. Raises Unavailable, DiskFull."""
        due = take_due(self._studio.database, _AT_ONCE, _OF_ACCOUNT, TAKEN_S)
        if due:
            asyncio.run(self._send_all(due))
        return len(due)

    async def _send_all(self, due: list[Delivery]) -> None:
        async with httpx.AsyncClient(transport=self._transport(), follow_redirects=False, trust_env=False) as client:
            await asyncio.gather(*(self._send(client, one) for one in due))

    async def _send(self, client: httpx.AsyncClient, delivery: Delivery) -> None:
        database, status = self._studio.database, None
        try:
            body = self._body(delivery)
            async with asyncio.timeout(_PATIENCE_S):  # from the look-up of the name to the head of the answer
                status = await self._status(client, delivery, body)
        except (SettingsError, NotFound) as refusal:
            was_not_delivered(database, delivery, str(refusal), for_good=True)
        except TimeoutError:
            was_not_delivered(database, delivery, tr(
                "The address did not answer within {patience_s} s.",
                patience_s=numeral(_PATIENCE_S, "g"),
            ))
        except (httpx.HTTPError, httpx.InvalidURL, OSError):
            was_not_delivered(database, delivery, tr("The address cannot be reached."))
        except Exception:  # noqa: BLE001 - a bug: the others are sent all the same
            self._log.exception("callback_failed", delivery=delivery.id)
            was_not_delivered(database, delivery, tr("Something went wrong in the studio. See its log for details."))
        else:
            if 200 <= status < 300:
                was_delivered(database, delivery, status)
            else:
                reason = tr("The address answered with status {status}.", status=status)
                was_not_delivered(database, delivery, reason, status, for_good=status == _GONE)
        self._log.info("callback", delivery=delivery.id, task_id=delivery.task_id, status=status)

    async def _status(self, client: httpx.AsyncClient, delivery: Delivery, body: bytes) -> int:
        secret = secret_of_account(self._studio.link_secret, delivery.account_id)
        headers = signed_headers(secret, delivery.id, int(self._clock()), body)
        headers |= {"Content-Type": "application/json", "User-Agent": _PROGRAM}
        async with client.stream("POST", delivery.url, content=body, headers=headers) as answer:
            return answer.status_code

    def _body(self, delivery: Delivery) -> bytes:
        """Return what is reported: how the task has ended, with all that its account may see of it."""
        account = account_of_id(self._studio.database, delivery.account_id)
        task = self._view(self._studio, account, delivery.task_id, delivery.base_url, self._clock())
        said = {"type": f"task.{task['state']}", "timestamp": task["finished_at"], "data": task}
        return json.dumps(said, ensure_ascii=False).encode()
