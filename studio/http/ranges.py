"""Parts of files, as RFC 9110 asks for them: the Range header, and whether what the client has is still the same."""

import re
from dataclasses import dataclass
from email.utils import formatdate, parsedate_to_datetime

from starlette.datastructures import Headers

_RANGE = re.compile(r"bytes=\s*(\d*)-(\d*)\s*", re.ASCII)
_LONGEST_NUMBER = 18  # digits


@dataclass(frozen=True)
class Part:
    """Bytes start..stop of a file, stop not included."""

    start: int
    stop: int

    def content_range(self, size: int) -> str:
        """As the header Content-Range says it."""
        return f"bytes {self.start}-{self.stop - 1}/{size}"


class Unsatisfiable(Exception):
    """None of the bytes asked for is in the file."""


def wanted_part(headers: Headers, size: int, etag: str, modified_s: float) -> Part | None:
    """The part that a call asks for; None for all of it, also where several parts are asked for or what the client has
    has changed. Raises Unsatisfiable."""
    asked = _RANGE.fullmatch(headers.get("range", ""))
    if asked is None or not (asked[1] or asked[2]) or not _is_current(headers.get("if-range"), etag, modified_s):
        return None
    if len(asked[1]) > _LONGEST_NUMBER or len(asked[2]) > _LONGEST_NUMBER:
        raise Unsatisfiable
    if not asked[1]:
        part = Part(max(0, size - int(asked[2])), size)
    else:
        if asked[2] and int(asked[2]) < int(asked[1]):
            return None  # such a header counts as none
        part = Part(int(asked[1]), min(size, int(asked[2]) + 1) if asked[2] else size)
    if part.start >= part.stop:
        raise Unsatisfiable
    return part


def is_unchanged(headers: Headers, etag: str, modified_s: float) -> bool:
    """Whether the client says that it has this very file."""
    if known := headers.get("if-none-match"):
        tags = {tag.strip().removeprefix("W/") for tag in known.split(",")}
        return "*" in tags or etag in tags
    since = _seconds(headers.get("if-modified-since"))
    return since is not None and int(modified_s) <= since


def http_date(time_s: float) -> str:
    """A time as headers write it."""
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
