"""Range requests (RFC 9110): the requested range, and whether the client's copy is still current."""

import re
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime

from starlette.datastructures import Headers

_RANGE = re.compile(r"bytes=\s*(\d*)-(\d*)\s*", re.ASCII)
_LONGEST_NUMBER = 18  # digits


@dataclass(frozen=True)
class Part:
    """Bytes start..stop of a file, stop excluded."""

    start: int
    stop: int

    def content_range(self, size: int) -> str:
        """Return the value of the Content-Range header."""
        return f"bytes {self.start}-{self.stop - 1}/{size}"


class Unsatisfiable(Exception):
    """The file has none of the requested bytes."""


def wanted_part(headers: Headers, size: int, etag: str, modified_s: float) -> Part | None:
    """Return the requested range; None for the whole file, also if several ranges are requested or the client's copy is
    outdated. Raises Unsatisfiable."""
    asked = _RANGE.fullmatch(headers.get("range", ""))
    if asked is None or not (asked[1] or asked[2]) or not _is_current(headers.get("if-range"), etag, modified_s):
        return None
    if len(asked[1]) > _LONGEST_NUMBER or len(asked[2]) > _LONGEST_NUMBER:
        raise Unsatisfiable
    if not asked[1]:
        part = Part(max(0, size - int(asked[2])), size)
    else:
        if asked[2] and int(asked[2]) < int(asked[1]):
            return None  # an invalid header is ignored
        part = Part(int(asked[1]), min(size, int(asked[2]) + 1) if asked[2] else size)
    if part.start >= part.stop:
        raise Unsatisfiable
    return part


def is_unchanged(headers: Headers, etag: str, modified_s: float) -> bool:
    """Return whether the client already has this version of the file."""
    if known := headers.get("if-none-match"):
        tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
        return "*" in tags or etag in tags
    since = _seconds(headers.get("if-modified-since"))
    return since is not None and int(modified_s) <= since


def http_date(time_s: float) -> str:
    """Format a time for HTTP headers."""
    return formatdate(time_s, usegmt=True)


def _is_current(condition: str | None, etag: str, modified_s: float) -> bool:
    if condition is None:
        return True
    if condition.startswith('"'):
        return condition == etag
    return _seconds(condition) == int(modified_s)


def _seconds(date: str | None) -> float | None:
    if not date:
        return None
    try:
        return parsedate_to_datetime(date).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
