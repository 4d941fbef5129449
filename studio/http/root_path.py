"""Serve the studio under a path, whether the proxy in front removes that path from the requests or passes it on."""

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send


class RootPath:
    """ASGI app around another that never sees the path it is served under. path_prefix: as "/studio", or empty."""

    def __init__(self, app: ASGIApp, path_prefix: str) -> None:
        self._app, self._prefix = app, path_prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Remove the path if it is there; the bare path leads to its folder, where the page's relative links work."""
        path = scope.get("path", "")
        if self._prefix and path == self._prefix:
            await RedirectResponse(f"{self._prefix}/")(scope, receive, send)
            return
        if self._prefix and path.startswith(f"{self._prefix}/"):
            raw = scope["raw_path"].removeprefix(self._prefix.encode())
            scope = {**scope, "path": path.removeprefix(self._prefix), "raw_path": raw}
        await self._app(scope, receive, send)
