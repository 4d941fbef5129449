"""HTTP/1.1 and WebSockets for uvicorn, limiting what they leave to the client.
httptools buffers whatever arrives: any client could fill the memory with headers, or hold connections open."""

from asyncio import BaseTransport, TimerHandle, Transport
from typing import cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode, Frame

from engine.texts import tr

LARGEST_HEAD = 64 << 10  # bytes of a request line with its headers, or between two pieces of a body
HEAD_S = 30.0  # from the start of a head, or of the connection, to the head's end; also for a body nobody reads
UNREAD_S = 30.0  # for which a client may leave alone what a WebSocket sends it
_MOST_PIECES = 100  # of a message; empty ones have no size that counts
_MOST_MESSAGES = 1000  # in one read of the network, which has up to 256 kB


class BoundedProtocol(HttpToolsProtocol):
    """A connection that closes if a head is too large or too slow."""

    _unused = 0  # bytes since the last complete part
    _timer: TimerHandle | None = None

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(cast(Transport, transport))
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; refuse a head that does not end."""
        self._unused += len(data)
        super().data_received(data)
        # checked only now, as the data may hold a head and much of its body; it is at most one read
        if self._unused > LARGEST_HEAD and not self.transport.is_closing():
            if self.cycle is None or self.cycle.response_complete:
                self.send_400_response(tr("The request's headers are too large."))
            else:
                self.transport.close()

    def on_message_begin(self) -> None:
        self._wait_for_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._unused = 0
        self._head_is_here()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count a piece of a body; what comes after the answer must end soon."""
        self._unused = 0
        super().on_body(body)
        if self.cycle is None or self.cycle.response_complete:
            self._wait_for_head()

    def on_message_complete(self) -> None:
        self._unused = 0
        self._head_is_here()
        super().on_message_complete()

    def _wait_for_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_S, self.transport.close)

    def _head_is_here(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that closes where uvicorn's would let a client fill the memory, hang, or write into the log."""

    _unread: TimerHandle | None = None

    def connection_lost(self, exc: Exception | None) -> None:
        self.resume_writing()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse data; refuse a head that websockets does not take, such as one of more than 128 headers."""
        super().data_received(data)
        if not self.handshake_initiated:  # though the first data are a whole head
            self.transport.write(b"".join(self.conn.data_to_send()))
            self.transport.close()

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) >= _MOST_PIECES:
            self._fail(CloseCode.POLICY_VIOLATION)
        else:
            super().handle_cont(event)

    def send_receive_event_to_app(self) -> None:
        """Pass on a message, unless there are too many already, or it is no text though it says so."""
        if self.close_sent:
            return
        if self.queue.qsize() >= _MOST_MESSAGES:
            self._fail(CloseCode.POLICY_VIOLATION)
        elif self.curr_msg_data_type == "text" and not _is_text(b"".join(self.frames)):
            self._fail(CloseCode.INVALID_DATA)
        else:
            super().send_receive_event_to_app()

    def handle_ping(self) -> None:
        """Answer a ping, unless the client leaves earlier answers unread."""
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()

    def handle_parser_exception(self) -> None:
        """Close after an invalid frame, which may come before the WebSocket is open."""
        if self.conn.close_sent is not None:
            super().handle_parser_exception()
        else:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": CloseCode.ABNORMAL_CLOSURE})
            self.close_sent = True
            self.transport.close()
        self.disconnected = True  # what the app still sends goes nowhere

    def pause_writing(self) -> None:
        """Wait for the client to read."""
        super().pause_writing()
        self._unread = self._unread or self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def _fail(self, code: CloseCode) -> None:
        self.frames = []
        self.conn.fail(code)
        self.handle_parser_exception()


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
