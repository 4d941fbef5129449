"""Addresses that others gave: checked before they are called, so that nobody reaches this network through the studio.

A name is resolved once, and the connection goes to the very address that was checked, so that a name that means
another one a moment later (DNS rebinding) gains nothing. Certificates are those of the name, as ever. Redirects are
calls of their own: each is checked again, or none is followed, as the caller's client says.
"""

import asyncio
import ipaddress
import re
import socket
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from urllib.parse import urlsplit

import httpx
import idna

from engine.errors import SettingsError
from engine.texts import tr

Resolve = Callable[[str, int, str], Awaitable[list[str]]]  # of a host and a port, for whom
WHOSE = "whose"  # the extension of a request that says for whom it is made
LOOK_UP_S = 10.0
LONGEST_ADDRESS = 2000  # characters
_INVALID = tr("The address is not valid. Write it as https://HOST/PATH.")
_PRIVATE = tr("The address leads to a private network or to this machine, which is not allowed here.")
_PORTS = {"http": 80, "https": 443}
_OWN_NAMES = ("localhost", "local", "internal", "localdomain", "home.arpa")  # by themselves, or at the end of a name
_LONGEST_HOST, _MOST_LABELS = 253, 16  # characters (RFC 1035); a look-up may ask somebody for each label
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")  # as the last label: then the system reads an IPv4 address
# registered as special (IANA, RFC 6890), though `is_global` of some or all Pythons takes them for public
_SPECIAL_IPV4 = tuple(map(ipaddress.IPv4Network, ("192.0.0.0/24", "192.88.99.0/24")))
_UNICAST = ipaddress.IPv6Network("2000::/3")  # all global addresses (RFC 4291); not site-local, compatible, SRv6
# of protocols (Teredo and ORCHID among them), of documents twice, 6to4
_SPECIAL_IPV6 = tuple(map(ipaddress.IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20", "2002::/16")))
_OF_IPV4 = ipaddress.IPv6Network("64:ff9b::/96")  # NAT64 (RFC 6052)


def checked_address(text: str, private: bool = False) -> str:
    """Return a web address that may be called, as far as can be seen without resolving its name. Raises SettingsError.
    private: whether those of this machine and of private networks may be."""
    if len(text) > LONGEST_ADDRESS or not text.isprintable():
        raise SettingsError(_INVALID)
    try:
        address, parts = httpx.URL(text), urlsplit(text)
        port = parts.port  # which must be plain digits here
        host = address.raw_host.decode("ascii").lower()
    except (httpx.InvalidURL, ValueError) as cause:
        raise SettingsError(_INVALID) from cause
    if address.scheme not in _PORTS or port == 0 or not _is_host(host):
        raise SettingsError(_INVALID)
    if address.userinfo or parts.username is not None:
        raise SettingsError(tr("The address must not contain a user name or a password."))
    if not private and _leads_inside(host):
        raise SettingsError(_PRIVATE)
    return str(address.copy_with(fragment=None))


def is_public(address: str) -> bool:
    """Return whether an IP address, and the IPv4 address that it carries, belongs to the public internet.
    Tunnels into this network (6to4, Teredo) are not public."""
    found = ipaddress.ip_address(address)
    if isinstance(found, ipaddress.IPv4Address):
        special = any(found in network for network in _SPECIAL_IPV4)
        return found.is_global and not (special or found.is_multicast or found.is_reserved)
    if found.scope_id is not None:
        return False
    if found in _OF_IPV4:
        return is_public(str(ipaddress.IPv4Address(int(found) & 0xFFFF_FFFF)))
    if found.ipv4_mapped is not None:
        return is_public(str(found.ipv4_mapped))
    return found in _UNICAST and not any(found in network for network in _SPECIAL_IPV6)


def looked_up(host: str, port: int) -> list[str]:
    """Return the IP addresses of a host; takes as long as the system does. Raises httpx.ConnectError."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as cause:
        raise httpx.ConnectError(tr("{host} cannot be found.", host=host)) from cause
    return [str(place[0]) for *_, place in found]


async def resolved(host: str, port: int, whose: str) -> list[str]:
    """Return the same from a thread of its own, which nothing waits for at the end. Raises httpx.ConnectError."""
    future: Future[list[str]] = Future()

    def look_up() -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(looked_up(host, port))
        except httpx.ConnectError as error:
            future.set_exception(error)

    threading.Thread(target=look_up, name="look-up", daemon=True).start()
    return await asyncio.wrap_future(future)


class GuardedTransport(httpx.AsyncBaseTransport):
    """Calls only addresses of the public internet, or any. Raises SettingsError for others."""

    def __init__(self, private: bool = False, resolve: Resolve = resolved) -> None:
        self._private, self._resolve = private, resolve
        # connections are kept by IP address, so that one with the certificate of another name would be used again
        self._calls = httpx.AsyncHTTPTransport(trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Call the address that the host means now."""
        checked_address(str(request.url), self._private)
        name = request.url.raw_host.decode("ascii").strip("[]")
        places = await self._places_of(name, request)
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

    async def _places_of(self, name: str, request: httpx.Request) -> list[str]:
        port, whose = request.url.port or _PORTS[request.url.scheme], str(request.extensions.get(WHOSE, ""))
        try:
            async with asyncio.timeout(LOOK_UP_S):
                return await self._resolve(name, port, whose)
        except TimeoutError as cause:
            raise httpx.ConnectTimeout(tr("{name} cannot be found.", name=name), request=request) from cause

    async def aclose(self) -> None:
        await self._calls.aclose()


def _is_host(host: str) -> bool:
    """Return whether a host is an IP address, spelled as usual, or a name that can be looked up."""
    labels = host.split(".")
    if ":" in host or _NUMBER.fullmatch(labels[-1]):
        return _ip_address(host) is not None
    if len(host) > _LONGEST_HOST or len(labels) > _MOST_LABELS:
        return False
    return all(_LABEL.fullmatch(label) and _is_encoded_well(label) for label in labels)


def _is_encoded_well(label: str) -> bool:
    """Return whether a label in Punycode stands for letters (RFC 5891); others do by themselves."""
    try:
        return not label.startswith("xn--") or idna.alabel(idna.ulabel(label)) == label.encode()
    except idna.IDNAError:
        return False


def _ip_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return None if "%" in host else ipaddress.ip_address(host)
    except ValueError:
        return None


def _leads_inside(host: str) -> bool:
    if _ip_address(host) is not None:
        return not is_public(host)
    return any(host == name or host.endswith(f".{name}") for name in _OWN_NAMES)
