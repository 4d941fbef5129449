"""Addresses that others gave: checked before they are called, so that nobody reaches this network through the studio.

A name is resolved once, and the connection goes to the very address that was checked, so that a name that means
another one a moment later (DNS rebinding) gains nothing. Certificates are those of the name, as ever. Redirects are
calls of their own: each is checked again, or none is followed, as the caller's client says.
"""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable

import httpx

from engine.errors import SettingsError
from engine.texts import tr

Resolve = Callable[[str, int], Awaitable[list[str]]]
_INVALID = tr("The address is not valid. Write it as https://HOST/PATH.")
LONGEST_ADDRESS = 2000  # characters
_PORTS = {"http": 80, "https": 443}
_OWN_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa")  # by themselves, or at the end of a name
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
_FOR_PROTOCOLS = ipaddress.IPv4Network("192.0.0.0/24")  # older Pythons take some of it for public
_OF_IPV4 = ipaddress.IPv6Network("64:ff9b::/96")  # NAT64 (RFC 6052)
_PRIVATE = tr("The address leads to a private network or to this machine, which is not allowed here.")


def checked_address(text: str, private: bool = False) -> str:
    """Return a web address that may be called, as far as that can be seen without resolving its name.

    private: whether those of this machine and of private networks may be. Raises SettingsError.
    """
    try:
        address = httpx.URL(text)
    except (httpx.InvalidURL, UnicodeError) as cause:
        raise SettingsError(_INVALID) from cause
    is_plain = text.isprintable() and _HOST.fullmatch(address.raw_host.decode("ascii"))
    has_port = address.port is None or 0 < address.port < 1 << 16  # sockets take no others
    if len(text) > LONGEST_ADDRESS or address.scheme not in _PORTS or not (is_plain and has_port):
        raise SettingsError(_INVALID)
    if address.userinfo:
        raise SettingsError(tr("The address must not hold a user or a password."))
    if not private:
        _refuse_private(address)
    return str(address.copy_with(fragment=None))


def is_public(address: str) -> bool:
    """Return whether an IP address belongs to the public internet, and so does an IPv4 address that it carries."""
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found in _OF_IPV4:
            return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)))
        carried = (found.ipv4_mapped, found.sixtofour, *(found.teredo or ()))
        if any(one is not None and not is_public(str(one)) for one in carried):
            return False
        if found.ipv4_mapped is not None:
            return True
    elif found in _FOR_PROTOCOLS:
        return False
    return found.is_global and not found.is_multicast and not found.is_reserved


async def resolved(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host. Raises httpx.ConnectError."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as cause:
        raise httpx.ConnectError(tr("{host} cannot be found.", host=host)) from cause
    return [str(place[0]) for *_, place in found]


class GuardedTransport(httpx.AsyncBaseTransport):
    """Calls only addresses of the public internet, or any. Raises SettingsError for others."""

    def __init__(self, private: bool = False, resolve: Resolve = resolved) -> None:
        self._private, self._resolve = private, resolve
        self._calls = httpx.AsyncHTTPTransport(trust_env=False)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Call the address that the host means now."""
        checked_address(str(request.url), self._private)
        name = request.url.raw_host.decode("ascii").strip("[]")
        places = await self._resolve(name, request.url.port or _PORTS[request.url.scheme])
        if not places:
            raise httpx.ConnectError(tr("{name} cannot be found.", name=name), request=request)
        if not self._private and not all(map(is_public, places)):
            raise SettingsError(_PRIVATE)
        aimed = httpx.Request(
            request.method,
            request.url.copy_with(host=places[0]),
            headers=request.headers,  # with the Host that was meant
            stream=request.stream,
            extensions={**request.extensions, "sni_hostname": name},
        )
        return await self._calls.handle_async_request(aimed)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._calls.aclose()


def _refuse_private(address: httpx.URL) -> None:
    host = address.host.rstrip(".").lower()
    try:
        is_private = not is_public(host)
    except ValueError:  # a name
        is_private = any(host == name or host.endswith(f".{name}") for name in _OWN_NAMES)
    if is_private:
        raise SettingsError(_PRIVATE)
