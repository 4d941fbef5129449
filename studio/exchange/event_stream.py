"""Server-sent events, as the HTML standard interprets an event stream.
https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation"""

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass

_LINE_END = re.compile("\r\n|\r|\n")
_MOST_DIGITS = 9  # of a number of milliseconds: some eleven days


@dataclass(frozen=True)
class StreamEvent:
    """An event as it was sent. name: message, unless the stream says another. last_id: of this or an earlier event."""

    name: str
    data: str
    last_id: str


class EventStream:
    """Interprets the bytes of a stream, over all of its connections. last_id: to send as Last-Event-ID with the next
    one.
    retry_s: to wait before that, None if the stream does not say."""

    def __init__(self) -> None:
        self.last_id = ""
        self.retry_s: float | None = None
        self.connect()

    def connect(self) -> None:
        """Begin a connection: what an earlier one left unfinished is discarded."""
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._line: list[str] = []  # pieces of the line that is not complete yet
        self._follows_return = False
        self._name, self._data, self._id = "", list[str](), self.last_id

    def receive(self, piece: bytes) -> Iterator[StreamEvent]:
        """Yield the events that end in the next bytes."""
        text = self._decoder.decode(piece)
        if not text:
            return
        if self._follows_return:  # the line ended with CR already; this may be the LF of CRLF
            text = text.removeprefix("\n")
        self._follows_return = text.endswith("\r")
        first, *others = _LINE_END.split(text)
        self._line.append(first)
        for following in others:
            line = "".join(self._line)
            self._line = [following]
            if line:
                self._field(line)
            elif event := self._event():
                yield event

    def _field(self, line: str) -> None:
        """Process a line that is not empty; comments begin with a colon, and so have a field without a name."""
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._name = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry_s = (int(value) if len(value) <= _MOST_DIGITS else 10**_MOST_DIGITS) / 1000

    def _event(self) -> StreamEvent | None:
        """Dispatch what the lines since the last empty one say; None without data."""
        self.last_id = self._id
        name, data = self._name, self._data
        self._name, self._data = "", []
        return StreamEvent(name or "message", "\n".join(data), self.last_id) if data else None
