"""Fetch the network that separates songs, on request: nothing is fetched by itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import httpx

from engine.errors import SeparationError
from engine.progress import Report
from engine.songs import separator_file
from engine.songs.separator_file import (
    FETCH,
    SeparatorFile,
    accept_separator,
    refuse_other,
    separator_state,
    stored_separator,
)
from studio.errors import WrongState
from studio.settings.environment import Settings
from studio.store.free_space import refuse_full_disk
from studio.store.studio import Studio

_TIMEOUT_S = 30.0
_BLOCK = 1 << 18
_PARTIAL = 206


def refuse_without_separator(settings: Settings) -> None:
    """Raise WrongState if songs cannot be separated yet."""
    found = separator_state(settings.separators)
    if found.remedy:
        text = (
            f"Songs cannot be separated yet: {found.remedy} on the machine that serves this, "
            "or send the vocal and its backing."
        )
        raise WrongState(text, "no_separator")


def fetch_separator(studio: Studio, report: Report, pinned: SeparatorFile | None = None) -> Path:
    """Download the separator and return its path; what a cut-off download has received is used again.

    `report` shows progress and may raise Cancelled. Raises SeparationError if it cannot be reached or is not the pinned
    file, DiskFull.
    """
    pinned = pinned or separator_file.PINNED[0]
    folder = studio.settings.separators
    if stored_separator(folder, pinned):
        refuse_other(folder / pinned.file_name, pinned, report)
        return folder / pinned.file_name
    refuse_full_disk(studio, pinned.size)
    folder.mkdir(parents=True, exist_ok=True)
    partial = folder / f"{pinned.file_name}.download"
    with _network_errors(pinned):
        download(pinned, partial, report)
    try:
        refuse_other(partial, pinned)
    except SeparationError:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(folder / pinned.file_name)
    return folder / pinned.file_name


def accept_file(studio: Studio, path: Path, report: Report) -> Path:
    """Store a file that the user has, if it is a pinned one. Raises SeparationError, DiskFull."""
    refuse_full_disk(studio, separator_file.PINNED[0].size)
    return accept_separator(path, studio.settings.separators, report=report)


class Fetchable(Protocol):
    """A pinned file."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def url(self) -> str:
        """Where it is."""

    @property
    def size(self) -> int:
        """In bytes."""


def download(pinned: Fetchable, partial: Path, report: Report) -> None:
    """Fetch the rest of the file into `partial`. Raises httpx.HTTPError."""
    have = partial.stat().st_size if partial.exists() else 0
    if have >= pinned.size:
        partial.unlink()
        have = 0
    headers = {"Range": f"bytes={have}-"} if have else {}
    with httpx.stream("GET", pinned.url, headers=headers, timeout=_TIMEOUT_S, follow_redirects=True) as answer:
        answer.raise_for_status()
        have = have if answer.status_code == _PARTIAL else 0
        with partial.open("ab" if have else "wb") as file:
            for block in answer.iter_bytes(_BLOCK):
                have += len(block)
                if have > pinned.size:
                    break  # the checksum will say so
                file.write(block)
                report(min(1.0, have / pinned.size), f"fetching {pinned.name}")


@contextmanager
def _network_errors(pinned: SeparatorFile) -> Iterator[None]:
    try:
        yield
    except httpx.HTTPStatusError as cause:
        text = f"{pinned.name} could not be fetched: the server answered {cause.response.status_code}."
        raise SeparationError(f"{text} A file from elsewhere works too: {FETCH} --file FILE.") from cause
    except httpx.HTTPError as cause:
        text = f"{pinned.name} could not be fetched: {str(cause) or type(cause).__name__}."
        raise SeparationError(f"{text} The same command goes on where it stopped.") from cause
