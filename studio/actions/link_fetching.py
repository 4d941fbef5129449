"""Fetch a voice by its link: from the public internet alone, by TLS, up to a limit, with the checksum of what came."""

import asyncio
import hashlib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx

from engine.errors import SettingsError
from engine.progress import Report
from engine.spelling import composed
from engine.texts import numeral, tr
from studio.addresses import GuardedTransport, checked_address
from studio.errors import TooLarge, Unavailable
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

SCHEME = "https://"
LARGEST_FETCHED = 1_000_000_000  # bytes; a model of RVC has 55 MB, an index of a long data set 500
_SILENT_S = 30.0  # without data
_RETRY_S = 60.0
_MOST_REDIRECTS = 5


@dataclass(frozen=True)
class Fetched:
    """A file that was fetched; sha256: of its contents."""

    path: Path
    sha256: str
    size: int  # bytes


def is_link(text: str) -> bool:
    """Return whether this is the link of a file rather than its path."""
    return text.lower().startswith((SCHEME, "http://"))


def fetch_link(
    studio: Studio,
    link: str,
    folder: Path,
    report: Report,
    most: int = LARGEST_FETCHED,
    transport: httpx.AsyncBaseTransport | None = None,
) -> Fetched:
    """Fetch a file into a folder, under the name that its link gives it.

    `report` shows progress and may raise Cancelled. Raises SettingsError for a link that is none, is not by TLS, or
    leads to a private network, Unavailable if it cannot be fetched, TooLarge, DiskFull.
    """
    _refuse_plain(link)
    target = folder / _name_in(checked_address(link))
    try:
        return asyncio.run(_fetched(studio, link, target, report, most, transport or GuardedTransport()))
    except httpx.HTTPStatusError as cause:
        status = cause.response.status_code
        text = tr("The link could not be fetched: the server answered {status}. Check it in a browser.", status=status)
        raise Unavailable(text, _RETRY_S, "not_reachable") from cause
    except (httpx.HTTPError, httpx.InvalidURL) as cause:
        text = tr("The link could not be fetched: the server cannot be reached, or broke off. Try again later.")
        raise Unavailable(text, _RETRY_S, "not_reachable") from cause


async def _fetched(
    studio: Studio, link: str, target: Path, report: Report, most: int, transport: httpx.AsyncBaseTransport
) -> Fetched:
    digest, size = hashlib.sha256(), 0
    client = httpx.AsyncClient(
        transport=transport, trust_env=False, timeout=_SILENT_S, follow_redirects=True, max_redirects=_MOST_REDIRECTS,
        event_hooks={"request": [_only_tls]},
    )  # fmt: skip
    async with client, client.stream("GET", link, headers={"Accept-Encoding": "identity"}) as answer:
        answer.raise_for_status()
        announced = int(length) if (length := answer.headers.get("content-length", "")).isdecimal() else 0
        _refuse_large(announced, most)
        refuse_full_disk(studio, announced)
        with target.open("wb") as file:
            async for block in answer.aiter_bytes():
                size += len(block)
                _refuse_large(size, most)
                digest.update(block)
                file.write(block)
                report(min(size / announced, 1.0) if announced else 0.0, tr("fetching the voice"))
    return Fetched(target, digest.hexdigest(), size)


async def _only_tls(request: httpx.Request) -> None:
    _refuse_plain(str(request.url))


def _refuse_plain(link: str) -> None:
    if not link.lower().startswith(SCHEME):
        raise SettingsError("The link must begin with https://, so that nobody can change the file on its way.")


def _refuse_large(size: int, most: int) -> None:
    if size > most:
        raise TooLarge(tr(
            "The file has more than {most} MB: fetch it with a browser, and import it from there.",
            most=numeral(most / 1000000.0, "g"),
        ))


def _name_in(link: str) -> str:
    """Return the last part of a link as the name of a file."""
    last = composed(unquote(urlsplit(link).path).replace("\\", "/").rstrip("/").rpartition("/")[2])
    shown = "".join(sign for sign in last if sign.isprintable()).strip(" .")
    return shown[-100:] or "voice"
