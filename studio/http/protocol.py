"""HTTP/1.1 for uvicorn through httptools, limiting the size and duration of request heads.

httptools buffers whatever arrives: without limits, any client could fill the memory with headers, or hold connections
open by sending none.
"""

from asyncio import BaseTransport, TimerHandle
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LARGEST_HEAD = 64 << 10  # bytes of a request line with its headers, or between two pieces of a body
HEAD_S = 30.0  # from the start of a head, or of the connection, to the head's end


class BoundedProtocol(HttpToolsProtocol):
    """A connection that closes if a head is too large or too slow."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._unused = 0  # bytes since the last complete part
        self._timer: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        """Start waiting for a head."""
        super().connection_made(cast(Any, transport))
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop waiting."""
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; refuse a head that does not end."""
        self._unused += len(data)
        super().data_received(data)
        # checked only now, as the data may hold a head and much of its body; it is at most one read
        if self._unused > LARGEST_HEAD and not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.send_400_response("The request's headers are too large.")
            else:
                self.transport.close()

    def on_message_begin(self) -> None:
        """Start a head."""
        self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """End a head."""
        self._unused = 0
        self._head_is_here()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count a piece of a body."""
        self._unused = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._unused = 0
        super().on_message_complete()

    def _wait_for_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_S, self.transport.close)

    def _head_is_here(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
