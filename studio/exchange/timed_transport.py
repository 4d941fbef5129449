"""HTTP whose answers end: httpx's own limit is for each read, so that a server that trickles is waited for without end.
Once a request has been sent, all of its answer, heads that precede another included, has to come within one time."""

import math
import ssl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

_FAILURES = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)


class TimedTransport(httpx.BaseTransport):
    """Calls whose answers come within `answer_s`; streams that may go on are `unlimited`. Raises httpx.TransportError.
    Where a redirect leads is left out: httpx would read the address, although nobody follows it."""

    def __init__(self, answer_s: float, first: httpx.URL, takes_proxies: bool = True) -> None:
        """first: what will be called; RuntimeError, OSError and httpx.InvalidURL if its proxy or the certificates
        cannot be used. takes_proxies: whether those of the environment are used."""
        self._backend = _Backend(answer_s)
        self._certificates = httpx.create_ssl_context()
        self._proxies = getproxies() if takes_proxies else {}
        self._pools: dict[str, httpcore.ConnectionPool] = {}
        self._pool(first)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request; return its answer, of which the head has come."""
        url = request.url
        called = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        assert isinstance(request.stream, httpx.SyncByteStream)
        with _as_of_httpx():
            raw, more = request.headers.raw, request.extensions
            sent = httpcore.Request(request.method, called, headers=raw, content=request.stream, extensions=more)
            answer = self._pool(url).handle_request(sent)
        headers = [(name, value) for name, value in answer.headers if name.lower() != b"location"]
        return httpx.Response(answer.status, headers=headers, stream=_Body(answer), extensions=answer.extensions)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool(self, url: httpx.URL) -> httpcore.ConnectionPool:
        host = url.raw_host.decode("ascii")
        proxy = "" if proxy_bypass(host) else self._proxies.get(url.scheme) or self._proxies.get("all", "")
        if proxy not in self._pools:
            self._pools.setdefault(proxy, self._made(proxy))
        return self._pools[proxy]

    def _made(self, proxy: str) -> httpcore.ConnectionPool:
        if not proxy:
            return httpcore.ConnectionPool(self._certificates, network_backend=self._backend)
        given = httpx.Proxy(proxy if "://" in proxy else f"http://{proxy}")
        kind = httpcore.SOCKSProxy if given.url.scheme.startswith("socks") else httpcore.HTTPProxy
        url = httpcore.URL(str(given.url))
        return kind(url, proxy_auth=given.raw_auth, ssl_context=self._certificates, network_backend=self._backend)


def unlimited(response: httpx.Response) -> None:
    """Let the rest of an answer take as long as it does, each read in the time of its own."""
    response.extensions["network_stream"].limit_s = math.inf


class _Body(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        with _as_of_httpx():
            yield from self._answer.iter_stream()

    def close(self) -> None:
        self._answer.close()


class _Backend(httpcore.NetworkBackend):
    def __init__(self, answer_s: float) -> None:
        self._answer_s, self._calls = answer_s, httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        return _Stream(self._calls.connect_tcp(host, port, timeout, local_address, socket_options), self._answer_s)


class _Stream(httpcore.NetworkStream):
    """A connection, on which one answer at a time is read."""

    def __init__(self, calls: httpcore.NetworkStream, answer_s: float) -> None:
        self._calls, self._answer_s = calls, answer_s
        self.limit_s = math.inf  # on the monotonic clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        left_s = self.limit_s - time.monotonic()
        if left_s <= 0:
            raise httpcore.ReadTimeout("The answer goes on and on.")
        within_s = min(left_s, math.inf if timeout is None else timeout)
        return self._calls.read(max_bytes, None if within_s == math.inf else within_s)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._calls.write(buffer, timeout)
        self.limit_s = time.monotonic() + self._answer_s

    def close(self) -> None:
        self._calls.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._calls.start_tls(ssl_context, server_hostname, timeout), self._answer_s)

    def get_extra_info(self, info: str) -> object:
        return self._calls.get_extra_info(info)


@contextmanager
def _as_of_httpx() -> Iterator[None]:
    """Raise failures of httpcore as those of the same names of httpx."""
    try:
        yield
    except _FAILURES as cause:
        raise getattr(httpx, type(cause).__name__)(str(cause)) from cause
