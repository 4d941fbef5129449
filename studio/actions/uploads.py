"""Receive what users send or link: temporary folders, limits, and what a link leads to."""

import asyncio
import hashlib
import math
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from engine.archives import begins_as_zip
from engine.errors import SettingsError
from engine.progress import Report
from engine.spelling import composed
from engine.texts import numeral, tr
from studio.errors import Invalid, NotFound, TooLarge, Unavailable
from studio.settings.service import MEGABYTE
from studio.store.folder_locks import make_locked
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

if TYPE_CHECKING:  # what a conversion, whose recording is received here, does without
    import httpx

SCHEME = "https://"
LARGEST_FETCHED = 1_000_000_000  # bytes; a model of RVC has 55 MB, an index of a long data set 500
_SILENT_S = 30.0  # without data, and at most until the answer begins, over all redirects
_RETRY_S = 60.0
_MOST_REDIRECTS = 5
_MOST_DIGITS = 18  # of a length


@contextmanager
def scratch_folder(studio: Studio) -> Iterator[Path]:
    """Create a temporary folder and delete it afterwards. Raises DiskFull if there is no room to spare."""
    refuse_full_disk(studio)
    place = studio.settings.work / "incoming" / secrets.token_hex(8)
    release = make_locked(place)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        release()


def receive_upload(studio: Studio, upload: Path, copy: Path) -> Path:
    """Link or copy a file uploaded on the page. Raises DiskFull, and Invalid if it is too large or the page has deleted
    it meanwhile."""
    refuse_large(studio, upload)
    refuse_full_disk(studio, upload.stat().st_size)
    link_or_copy(upload, copy)
    return copy


@contextmanager
def stored_copy(studio: Studio, key: str, gone: str) -> Iterator[Path]:
    """Link or copy a stored file, which may then be moved. Raises NotFound with the sentence `gone`."""
    with scratch_folder(studio) as scratch:
        copy = scratch / "recording"
        try:
            link_or_copy(studio.storage.fetch(key, scratch / "fetched"), copy)
        except NotFound as cause:
            raise NotFound(gone, "recording_gone") from cause
        yield copy


def link_or_copy(file: Path, target: Path) -> None:
    """Hard-link a file, or copy it to another disk."""
    try:
        os.link(file, target)
    except OSError:
        shutil.copyfile(file, target)


def refuse_large(studio: Studio, upload: Path) -> None:
    """Raise Invalid if the file is larger than one upload may be, or no longer exists."""
    most = studio.service.page_upload_mb
    try:
        size = upload.stat().st_size / MEGABYTE
    except FileNotFoundError as cause:
        raise Invalid(
            [("recording", tr('"{name}" has been deleted: add it again.', name=upload.name))], "upload_gone"
        ) from cause
    if most is not None and size > most:
        sentence = tr(
            '"{name}" has {size} MB; the limit for one upload is {most} MB: upload less at once, or convert the '
            "recordings to flac or mp3.",
            name=upload.name,
            size=math.ceil(size),
            most=most,
        )
        raise Invalid([("recording", sentence + studio.service.raised_by("largest_upload_mb"))], "too_large")


def seems_zip(upload: Path) -> bool:
    """Return whether a file begins as a zip, or is unreadable: the engine explains the errors of these best."""
    try:
        return begins_as_zip(upload)
    except OSError:
        return True


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
    transport: "httpx.AsyncBaseTransport | None" = None,
) -> Fetched:
    """Fetch a file into a folder, under the name that its link gives it.

    `report` shows progress and may raise Cancelled. Raises SettingsError for a link that is none, is not by TLS, or
    leads to a private network, Unavailable if it cannot be fetched, TooLarge, DiskFull.
    """
    import httpx

    from studio.addresses import GuardedTransport, checked_address

    _refuse_plain(link)
    link = checked_address(link)
    target = folder / _name_in(link)
    try:
        return asyncio.run(_fetched(studio, link, target, report, most, transport or GuardedTransport()))
    except httpx.HTTPStatusError as cause:
        status = cause.response.status_code
        text = tr("The link could not be fetched: the server answered {status}. Check it in a browser.", status=status)
        raise Unavailable(text, _RETRY_S, "not_reachable") from cause
    except (UnicodeError, httpx.InvalidURL) as cause:  # of names that are none, where a redirect leads
        text = tr("The link is not valid, or leads to an address that is not: check it in a browser.")
        raise SettingsError(text) from cause
    except (httpx.HTTPError, TimeoutError) as cause:
        text = tr(
            "The link could not be fetched: the server cannot be reached, or the connection was lost. Try again later."
        )
        raise Unavailable(text, _RETRY_S, "not_reachable") from cause


async def _fetched(
    studio: Studio, link: str, target: Path, report: Report, most: int, transport: "httpx.AsyncBaseTransport"
) -> Fetched:
    import httpx

    digest, size = hashlib.sha256(), 0
    client = httpx.AsyncClient(
        transport=transport, trust_env=False, timeout=_SILENT_S, follow_redirects=True, max_redirects=_MOST_REDIRECTS,
        event_hooks={"request": [_only_tls]},
    )  # fmt: skip
    headers = {"Accept-Encoding": "identity"}
    async with client, asyncio.timeout(_SILENT_S) as patience, client.stream("GET", link, headers=headers) as answer:
        patience.reschedule(None)
        answer.raise_for_status()
        announced = _announced(answer)
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


def _announced(answer: "httpx.Response") -> int:
    """Return the bytes that an answer states to have; 0 if it does not, or cannot mean it."""
    length = answer.headers.get("content-length", "")
    return int(length) if length.isdecimal() and len(length) <= _MOST_DIGITS else 0


async def _only_tls(request: "httpx.Request") -> None:
    _refuse_plain(str(request.url))


def _refuse_plain(link: str) -> None:
    if not link.lower().startswith(SCHEME):
        raise SettingsError(tr("The link must begin with https://, so that nobody can change the file on its way."))


def _refuse_large(size: int, most: int) -> None:
    if size > most:
        raise TooLarge(
            tr(
                "The file is larger than {most} MB: download it with a browser, then import it from your disk.",
                most=numeral(most / 1000000.0, "g"),
            )
        )


def _name_in(link: str) -> str:
    """Return the last part of a link as the name of a file."""
    last = composed(unquote(urlsplit(link).path).replace("\\", "/").rstrip("/").rpartition("/")[2])
    shown = "".join(sign for sign in last if sign.isprintable()).strip(" .")
    return shown[-100:] or "voice"
