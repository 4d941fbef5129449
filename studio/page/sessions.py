"""The sessions of the page: whose they are, and how many are kept.

Gradio keeps each session, some 0.1 MB with `parts.shared_config`, until 10,000 others have come, and takes any text for
a new one. So the longest unused of whoever has most give way here, a demo limits those of one address, and a session
serves only the visitor who began it. Of Gradio's interface only what the page uses is open.
"""

import json
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.errors import EngineError
from engine.texts import tr
from studio.errors import Invalid, NotFound, Unauthorised
from studio.http.errors import problem_of
from studio.page.cookies import visitor_of
from studio.settings.service import ServiceSettings
from studio.store.rate_limits import Bucket

if TYPE_CHECKING:  # gradio takes seconds to load
    from gradio import Blocks

PREFIX = "/gradio_api/"
USED = frozenset(
    set("queue cancel reset heartbeat upload upload_progress file= info app_id startup-events theme.css".split())
)
IDLE_S = 24 * 3600.0  # afterwards a session is forgotten; a page that is open and watches a task is not idle
_MOST_ADDRESSES = 10_000
_LONGEST_NAME = 64


@dataclass
class _Session:
    visitor: str
    address: str
    used_s: float


class SessionRegister:
    """The sessions that are kept. Times in seconds of any clock."""

    def __init__(self, service: ServiceSettings) -> None:
        self._most, self._of_address = service.page_sessions, service.page_sessions_per_address
        self._events = service.page_events_per_minute
        self._idle_s = service.visitor_minutes * 60 if service.is_demo else IDLE_S
        self._sessions: OrderedDict[str, _Session] = OrderedDict()  # the longest unused first
        self._buckets: OrderedDict[str, tuple[Bucket, Bucket]] = OrderedDict()  # of addresses: events, new sessions

    def __len__(self) -> int:
        return len(self._sessions)

    def check(self, name: str, visitor: str) -> None:
        """Raise Unauthorised if the session is another visitor's."""
        session = self._sessions.get(name)
        if session is not None and session.visitor != visitor:
            raise Unauthorised(tr("This session belongs to another visitor. Reload the page."), "log_in")

    def use(self, name: str, visitor: str, address: str, now_s: float) -> Sequence[str]:
        """Note an event of a session; return the sessions that give way. Raises Unauthorised and TooMany."""
        self.check(name, visitor)
        self._count(address, name not in self._sessions, now_s)
        giving_way = [old for old, session in self._sessions.items() if now_s - session.used_s > self._idle_s]
        if name not in self._sessions:
            others = [old for old, session in self._sessions.items() if session.address == address]
            if self._of_address and len(others) >= self._of_address:
                giving_way.append(others[0])
            elif len(self._sessions) >= self._most:
                giving_way.append(self._longest_unused_of_the_greediest())
        for old in giving_way:
            self._sessions.pop(old, None)
        self._sessions[name] = _Session(visitor, address, now_s)
        self._sessions.move_to_end(name)
        return giving_way

    def _longest_unused_of_the_greediest(self) -> str:
        """Return a session of the visitor who has most, in a demo of the address: nobody ends those of all others."""
        owners = {
            name: session.address if self._of_address else session.visitor for name, session in self._sessions.items()
        }
        counts = Counter(owners.values())
        return max(owners, key=lambda name: counts[owners[name]])  # the first of them

    def _count(self, address: str, is_new: bool, now_s: float) -> None:
        if not self._of_address:
            return
        if address not in self._buckets:
            self._buckets[address] = Bucket(self._events, now_s), Bucket(self._of_address, now_s)
            if len(self._buckets) > _MOST_ADDRESSES:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(address)
        events, sessions = self._buckets[address]
        events.take(now_s)
        if is_new:
            sessions.take(now_s)


class PageSessions:
    """Middleware that bounds the sessions of the page `blocks`."""

    def __init__(self, app: ASGIApp, blocks: "Blocks", service: ServiceSettings) -> None:
        self._app, self._blocks = app, blocks
        self._register = SessionRegister(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on what the page uses, or refuse it with a problem document."""
        if scope["type"] != "http" or not scope["path"].startswith(PREFIX):
            await self._app(scope, receive, send)
            return
        route, _, rest = scope["path"].removeprefix(PREFIX).partition("/")
        try:
            if "".join(route.partition("=")[:2]) not in USED:
                raise NotFound(tr("The page does not use this address."))
            if scope["method"] == "POST" and route in ("queue", "cancel"):
                body = await _body(receive)
                await self._note(scope, _session_in(body), is_event=route == "queue")
                receive = _again(body, receive)
            else:
                asked = parse_qs(scope["query_string"].decode("latin-1")).get("session_hash", [""])[0]
                self._register.check(rest if route == "heartbeat" else asked, visitor_of(scope))
        except EngineError as error:
            await problem_of(error).response()(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _note(self, scope: Scope, session: str, is_event: bool) -> None:
        if not is_event:
            self._register.check(session, visitor_of(scope))
            return
        for old in self._register.use(session, visitor_of(scope), address_of(scope), time.monotonic()):
            await self._forget(old)

    async def _forget(self, session: str) -> None:
        queue, states = self._blocks._queue, self._blocks.state_holder
        await queue.clean_events(session_hash=session)
        for kept in (
            *(queue.pending_messages_per_session, queue.pending_event_ids_session, states.session_data),
            states.time_last_used,
        ):
            kept.pop(session, None)


def address_of(scope: Scope) -> str:
    """Return the address of a client, as the nearest proxy reports it if the request came through one.

    Only proxies in private networks are believed. IPv6 addresses count by their network: a household has 2^64.
    """
    peer = str((scope.get("client") or ("",))[0])
    reported = ",".join(Headers(scope=scope).getlist("x-forwarded-for"))
    for hop in reversed([*reported.split(","), peer]):
        try:
            address = ip_address(hop.strip())
        except ValueError:
            break
        if address.is_global:
            return str(IPv6Network((address, 64), strict=False) if isinstance(address, IPv6Address) else address)
    return peer


async def _body(receive: Receive) -> bytes:
    """Return the body of an event, which `studio.page.body_limits` limits."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if message["type"] != "http.request" or not message.get("more_body", False):
            return bytes(body)


def _again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that begins with this body."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return messages.pop() if messages else await receive()

    return received


def _session_in(body: bytes) -> str:
    """Return the session of an event. Raises Invalid."""
    try:
        event = json.loads(body)
    except (ValueError, RecursionError) as cause:
        raise Invalid([("body", tr("The event is not valid JSON."))], "malformed_body") from cause
    name = event.get("session_hash") if isinstance(event, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not name.isalnum():
        raise Invalid([("session_hash", tr("The event names no session of the page."))])
    return name
