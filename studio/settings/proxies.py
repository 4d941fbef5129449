"""Proxies and certificates for calls that leave this machine, which the environment names for all programs.
The page makes none, and Gradio ends where httpx cannot use one; a download names the one that it cannot use."""

import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from engine.errors import SettingsError
from engine.texts import tr

_SCHEMES = ("https", "http", "all")
_EXCEPTIONS = "no_proxy"
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


@contextmanager
def without_proxies() -> Iterator[None]:
    """Take proxies and certificates out of this process's environment for a block, and those of the system."""
    names = {f"{scheme}_proxy" for scheme in _SCHEMES} | {_EXCEPTIONS} | {name.lower() for name in _CERTIFICATES}
    taken = {name: os.environ.pop(name) for name in list(os.environ) if name.lower() in names}
    os.environ[_EXCEPTIONS] = "*"  # where the environment names none, the system's own are used
    try:
        yield
    finally:
        del os.environ[_EXCEPTIONS]
        os.environ.update(taken)


def proxy_for(url: str) -> str | None:
    """Return the address of the proxy for an address, from the environment or else the system; None if it has none.
    Raises SettingsError, which names the variable, if it cannot be used."""
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    known = getproxies()
    scheme = next((one for one in (parts.scheme, "all") if known.get(one, "").strip()), None)
    if scheme is None:
        return None
    address = known[scheme].strip()
    address = address if "://" in address else f"http://{address}"
    if not _is_usable(address):
        raise SettingsError(
            tr(
                "The proxy that {variable} names cannot be used: set it to one that begins with http://, or take it "
                "out of the environment.",
                variable=_variable(scheme),
            )
        )
    return address


def certificates() -> ssl.SSLContext:
    """Return the authorities to trust, as the environment says. Raises SettingsError for files that are none."""
    import httpx

    try:
        return httpx.create_ssl_context()
    except OSError as cause:
        variable = next((name for name in _CERTIFICATES if os.environ.get(name)), _CERTIFICATES[0])
        raise SettingsError(
            tr(
                "The certificates that {variable} names cannot be read ({strerror}): set it to a file of them, or "
                "take it out of the environment.",
                variable=variable,
                strerror=cause.strerror or cause,
            )
        ) from cause


def unusable_variables(environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the variables that name a proxy which cannot be used."""
    environment = os.environ if environment is None else environment
    given = {name: text.strip() for name, text in environment.items() if name.lower().endswith("_proxy")}
    return [
        name
        for name, text in sorted(given.items())
        if name.lower().removesuffix("_proxy") in _SCHEMES
        and text
        and not _is_usable(text if "://" in text else f"http://{text}")
    ]


def _is_usable(address: str) -> bool:
    """Whether httpx can use a proxy, and its host is a name; nothing is called."""
    import httpx

    try:
        httpx.HTTPTransport(proxy=address, verify=False).close()
        httpx.URL(address).raw_host.decode("ascii").encode("idna")
    except (ImportError, ValueError, httpx.InvalidURL):  # a package for SOCKS; a scheme; a host or port
        return False
    return True


def _variable(scheme: str) -> str:
    """Return the name of the variable for a scheme; the one in small letters wins."""
    names = sorted((name for name in os.environ if name.lower() == f"{scheme}_proxy"), reverse=True)
    return names[0] if names else f"{scheme.upper()}_PROXY"
