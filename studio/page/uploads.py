"""Uploads to the page: under names that say nothing of this machine, and that only their visitor can use.

Gradio answers an upload with its path, and gives any uploaded file to anybody who knows its path. Here a browser
receives a signed name instead, which is valid for its own visitor alone, until the server restarts.
"""

import hashlib
import hmac
import json
import secrets
from pathlib import Path

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.texts import tr
from studio.errors import NotFound
from studio.http.errors import problem_of
from studio.page.cookies import visitor_of

UPLOAD, FILE = "/gradio_api/upload", "/gradio_api/file="
_GONE = tr("This file was not uploaded here. Choose it again.")


class UploadNames:
    """Names of the files in the folder of uploads."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key = folder.resolve(), secrets.token_bytes(32)

    def name_of(self, path: str, visitor: str) -> str:
        """Return the name under which the visitor knows a file of the folder."""
        inside = Path(path).resolve().relative_to(self._folder).as_posix()
        return f"{self._signature(inside, visitor)}/{inside}"

    def path_of(self, name: str, visitor: str) -> Path:
        """Return the path of a file. Raises NotFound for a name that this visitor has not been given."""
        signature, _, inside = name.partition("/")
        if not hmac.compare_digest(signature.encode("utf-8", "replace"), self._signature(inside, visitor).encode()):
            raise NotFound(_GONE)
        return self._folder / inside

    def _signature(self, inside: str, visitor: str) -> str:
        signed = json.dumps([visitor, inside]).encode()
        return hmac.new(self._key, signed, hashlib.sha256).hexdigest()[:32]


class PageUploads:
    """Middleware that puts names in the place of paths."""

    def __init__(self, app: ASGIApp, names: UploadNames) -> None:
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on an upload, or a request for an uploaded file."""
        path = scope["path"] if scope["type"] == "http" else ""
        try:
            if path.startswith(FILE):
                found = FILE + str(self._names.path_of(path.removeprefix(FILE), visitor_of(scope)))
                await self._app({**scope, "path": found, "raw_path": found.encode()}, receive, send)
            elif path == UPLOAD:
                await self._upload(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        except NotFound as error:
            await problem_of(error).response()(scope, receive, send)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        start, body = None, bytearray()

        async def sent(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            body.extend(message.get("body", b""))
            if message.get("more_body") or start is None:
                return
            answer = self._named(bytes(body), visitor_of(scope)) if start["status"] == 200 else bytes(body)
            MutableHeaders(scope=start)["content-length"] = str(len(answer))
            await send(start)
            await send({"type": "http.response.body", "body": answer})

        plain = [(name, value) for name, value in scope["headers"] if name != b"accept-encoding"]
        await self._app({**scope, "headers": plain}, receive, sent)

    def _named(self, answer: bytes, visitor: str) -> bytes:
        return json.dumps([self._names.name_of(path, visitor) for path in json.loads(answer)]).encode()
