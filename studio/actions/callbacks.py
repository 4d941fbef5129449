"""Callbacks of an account: listed, shown, repeated, and the secret that signs them."""

from typing import Any

from studio.actions.tasks import written_time
from studio.store.accounts import Account
from studio.store.callback_signatures import secret_of_account
from studio.store.deliveries import Delivery, State, find_delivery, list_deliveries, repeat
from studio.store.studio import Studio


def callback_views(
    studio: Studio, account: Account, *, task_id: str | None, state: State | None, limit: int, cursor: str | None
) -> dict[str, Any]:
    """Return the account's callbacks, the newest first, and the next page's cursor. Raises Invalid."""
    found, following = list_deliveries(
        studio.database, account.id, task_id=task_id, state=state, limit=limit, cursor=cursor
    )
    return {"callbacks": [_view(one) for one in found], "next_cursor": following}


def callback_view(studio: Studio, account: Account, callback_id: str) -> dict[str, Any]:
    """Return one of them. Raises NotFound."""
    return _view(find_delivery(studio.database, account.id, callback_id))


def repeat_callback(studio: Studio, account: Account, callback_id: str, url: str | None) -> dict[str, Any]:
    """Send it again, from the first attempt on; url: to another address. Raises NotFound."""
    return _view(repeat(studio.database, account.id, callback_id, url))


def callback_secret(studio: Studio, account: Account) -> dict[str, str]:
    """Return the secret to check the signatures with."""
    return {"secret": secret_of_account(studio.link_secret, account.id)}


def _view(delivery: Delivery) -> dict[str, Any]:
    return {
        "id": delivery.id,
        "task_id": delivery.task_id,
        "url": delivery.url,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "next_attempt_at": written_time(delivery.next_at) if delivery.state == "waiting" else None,
        "status": delivery.status,
        "error": delivery.error,
        "created_at": written_time(delivery.created_at),
        "finished_at": written_time(delivery.finished_at),
    }
