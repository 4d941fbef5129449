"""Callbacks: what an account was told of its tasks, told again, and the secret that signs them."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from studio.actions.tasks import written_time
from studio.store.accounts import Account
from studio.store.callback_signatures import secret_of_account
from studio.store.deliveries import Delivery, State, find_delivery, list_deliveries, repeat
from studio.store.records.codec import Record, Time, Url, shown_as
from studio.store.studio import Studio


@dataclass(frozen=True, kw_only=True)
class CallbackView(Record):
    """A report of the end of a task to an address."""

    id: Annotated[str, Field(description="Also the header `webhook-id`; the same in each attempt.")]
    task_id: str
    url: Url
    state: State
    attempts: Annotated[int, Field(ge=0)]
    next_attempt_at: Annotated[Time | None, Field(description="Not before that, and not before the task has ended.")]
    status: Annotated[int | None, Field(description="Of the last answer.")]
    error: Annotated[str | None, Field(description="Why the last attempt failed.")]
    created_at: Annotated[str | None, shown_as(Time)]
    finished_at: Time | None


@dataclass(frozen=True, kw_only=True)
class Callbacks(Record):
    """Callbacks, the newest first."""

    callbacks: list[CallbackView]
    next_cursor: str | None


def callback_views(
    studio: Studio, account: Account, *, task_id: str | None, state: State | None, limit: int, cursor: str | None
) -> Callbacks:
    """Return the account's callbacks, the newest first, and the next page's cursor. Raises Invalid."""
    found, following = list_deliveries(
        studio.database, account.id, task_id=task_id, state=state, limit=limit, cursor=cursor
    )
    return Callbacks(callbacks=[_callback_view(one) for one in found], next_cursor=following)


def callback_view(studio: Studio, account: Account, callback_id: str) -> CallbackView:
    """Return one of them. Raises NotFound."""
    return _callback_view(find_delivery(studio.database, account.id, callback_id))


def repeat_callback(studio: Studio, account: Account, callback_id: str, url: str | None) -> CallbackView:
    """Send it again, from the first attempt on; url: to another address. Raises NotFound."""
    return _callback_view(repeat(studio.database, account.id, callback_id, url))


def callback_secret(studio: Studio, account: Account) -> dict[str, str]:
    """Return the secret to check the signatures with."""
    return {"secret": secret_of_account(studio.link_secret, account.id)}


def _callback_view(delivery: Delivery) -> CallbackView:
    return CallbackView(
        id=delivery.id,
        task_id=delivery.task_id,
        url=delivery.url,
        state=delivery.state,
        attempts=delivery.attempts,
        next_attempt_at=written_time(delivery.next_at) if delivery.state == "waiting" else None,
        status=delivery.status,
        error=delivery.error,
        created_at=written_time(delivery.created_at),
        finished_at=written_time(delivery.finished_at),
    )
