"""The courier: what receivers get, and what becomes of it when they refuse, redirect, dawdle or are not allowed."""

import asyncio
import base64
import hmac
import json

import httpx
import pytest
import structlog
from sqlalchemy import update

from engine.errors import SettingsError
from studio.actions.tasks import task_view
from studio.executors import courier as module
from studio.executors.courier import Courier
from studio.settings.environment import Settings
from studio.settings.service import ServiceSettings
from studio.store.callback_signatures import secret_of_account
from studio.store.deliveries import find_delivery, promise_delivery
from studio.store.studio import open_studio
from studio.store.tables import deliveries
from studio.store.tasks import remove, request_cancel, submit

NOW_S = 1_700_000_000.0
URL = "https://example.com/done"


@pytest.fixture
def studio(tmp_path):
    opened = open_studio(Settings(tmp_path), ServiceSettings())
    yield opened
    opened.close()


def view(studio, account, task_id, base_url, now_s):
    link = f"{base_url}/{now_s:.0f}"
    return {"id": task_id, "state": "completed", "finished_at": "then", "link": link, "who": account.name}


def promised(studio, url=URL) -> str:
    with studio.database.write() as connection:
        task_id = submit(connection, studio.local.id, "conversion", {})
    request_cancel(studio.database, studio.local.id, task_id)
    return promise_delivery(studio.database, studio.local.id, task_id, url, "http://studio")


def sent(studio, answer, shown=view):
    """Deliver what is due to a receiver that answers so; return what it got."""
    got = []

    def receive(request: httpx.Request) -> httpx.Response:
        got.append(request)
        return answer(request) if callable(answer) else httpx.Response(answer)

    log = structlog.get_logger("test")
    Courier(studio, shown, log, lambda: NOW_S, lambda: httpx.MockTransport(receive)).deliver_due()
    return got


def state_of(studio, delivery_id):
    found = find_delivery(studio.database, studio.local.id, delivery_id)
    return found.state, found.status, found.error


def test_deliver_due_posts_the_task_signed_with_the_accounts_secret(studio):
    delivery_id = promised(studio)
    [request] = sent(studio, 204)
    assert (request.method, str(request.url)) == ("POST", URL)
    task = json.loads(request.content)
    assert (task["type"], task["timestamp"]) == ("task.completed", "then")
    assert (task["data"]["link"], task["data"]["who"]) == ("http://studio/1700000000", "local")
    key = base64.b64decode(secret_of_account(studio.link_secret, studio.local.id).removeprefix("whsec_"))
    signed = f"{delivery_id}.{NOW_S:.0f}.".encode() + request.content
    expected = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    assert request.headers["webhook-signature"] == f"v1,{expected}"
    assert request.headers["webhook-timestamp"] == "1700000000"
    assert request.headers["content-type"] == "application/json"
    assert state_of(studio, delivery_id) == ("delivered", 204, None)
    assert sent(studio, 204) == []


@pytest.mark.parametrize("status", [302, 307, 400, 404, 500])
def test_deliver_due_tries_again_after_a_refusal_and_follows_no_redirect(studio, status):
    delivery_id = promised(studio)
    answer = httpx.Response(status, headers={"Location": "http://127.0.0.1/"})
    assert len(sent(studio, lambda request: answer)) == 1
    assert state_of(studio, delivery_id) == ("waiting", status, f"The address answered with status {status}.")
    assert sent(studio, 200) == []  # not yet
    with studio.database.write() as connection:
        connection.execute(update(deliveries).values(next_at=0.0))
    assert len(sent(studio, 200)) == 1
    assert state_of(studio, delivery_id)[0] == "delivered"


def test_deliver_due_gives_up_where_the_address_says_that_it_is_gone(studio):
    delivery_id = promised(studio)
    sent(studio, 410)
    assert state_of(studio, delivery_id)[0] == "failed"


def test_deliver_due_gives_up_for_addresses_that_lead_inside_and_deleted_tasks(studio):
    def refuse(request):
        raise SettingsError("The address leads to a private network.")

    delivery_id = promised(studio)
    sent(studio, refuse)
    assert state_of(studio, delivery_id) == ("failed", None, "The address leads to a private network.")
    other = promised(studio)
    remove(studio.database, studio.local.id, find_delivery(studio.database, studio.local.id, other).task_id)
    assert sent(studio, 200, task_view) == []
    assert state_of(studio, other)[0] == "failed"


def test_deliver_due_tries_again_where_nobody_answers_or_too_slowly(studio, monkeypatch):
    def unreachable(request):
        raise httpx.ConnectError("no route")

    delivery_id = promised(studio)
    sent(studio, unreachable)
    assert state_of(studio, delivery_id) == ("waiting", None, "The address cannot be reached.")

    async def dawdle(request):
        await asyncio.Event().wait()

    monkeypatch.setattr(module, "_PATIENCE_S", 0.01)
    slow = promised(studio)
    Courier(
        studio, view, structlog.get_logger("test"), lambda: NOW_S, lambda: httpx.MockTransport(dawdle)
    ).deliver_due()
    assert state_of(studio, slow) == ("waiting", None, "The address did not answer within 0.01 s.")


def test_deliver_due_survives_a_bug_with_one_delivery(studio):
    broken, fine = promised(studio), promised(studio)
    of_broken = find_delivery(studio.database, studio.local.id, broken).task_id

    def shown(studio, account, task_id, base_url, now_s):
        return {} if task_id == of_broken else view(studio, account, task_id, base_url, now_s)

    sent(studio, 200, shown)
    assert state_of(studio, broken)[2].startswith("Something went wrong in the studio.")
    assert state_of(studio, fine)[0] == "delivered"


def test_deliver_due_calls_this_machine_only_where_the_host_allows_it(studio):
    delivery_id = promised(studio, "http://127.0.0.1:9/")
    Courier(studio, view, structlog.get_logger("test"), lambda: NOW_S).deliver_due()
    assert state_of(studio, delivery_id)[0] == "failed"
