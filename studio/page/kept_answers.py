"""Answers that are the same for everyone until the studio changes: kept packed, and sent once to each browser."""

import gzip
import hashlib
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.responses import Response

_CHECK_EACH_TIME = "no-cache"  # kept, and asked whether it is still the same


@dataclass(frozen=True)
class KeptAnswer:
    """A text, as it is and packed, and its entity tag."""

    body: bytes
    packed: bytes
    tag: str
    media_type: str

    @classmethod
    def of(cls, text: str, media_type: str) -> "KeptAnswer":
        """Return the answer with this text."""
        body = text.encode()
        return cls(body, gzip.compress(body), f'"{hashlib.sha256(body).hexdigest()[:20]}"', media_type)

    def response(self, asked: Headers) -> Response:
        """Return it to a request: nothing where the browser has it already."""
        headers = {"ETag": self.tag, "Cache-Control": _CHECK_EACH_TIME, "Vary": "Accept-Encoding"}
        if self.tag in asked.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if "gzip" in asked.get("accept-encoding", ""):
            return Response(self.packed, headers=headers | {"Content-Encoding": "gzip"}, media_type=self.media_type)
        return Response(self.body, headers=headers, media_type=self.media_type)
