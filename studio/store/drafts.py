"""Keys of the recordings collected for a new voice.

    drafts/{draft}/{moment}/{milliseconds}/{path}     files added together, each below its duration
    drafts/{draft}/model.json                         model.json of a zip

So a list of keys holds everything shown: names, durations, and the order of arrival.
"""

import re
import secrets
from dataclasses import dataclass

DRAFTS = "drafts"
_ID = re.compile("[0-9a-f]{24}")
_MOMENT = re.compile("([0-9a-f]{13})[0-9a-f]{4}")
_PLACE = re.compile(rf"({_MOMENT.pattern})/(\d+)/(.+)")


@dataclass(frozen=True)
class Gathered:
    """A recording of a draft. place: below the draft, with its moment and duration; name: its original path."""

    key: str
    place: str
    moment: str
    name: str
    duration_s: float


def new_draft_id() -> str:
    return secrets.token_hex(12)


def is_draft_id(text: str) -> bool:
    """Return whether an untrusted text can be the id of a draft."""
    return bool(_ID.fullmatch(text))


def new_moment(now_s: float) -> str:
    """Return a name for files added now that sorts after all earlier ones."""
    return f"{round(now_s * 1000):013x}{secrets.token_hex(2)}"


def moment_of(place: str) -> float | None:
    """Return when the recording at a place below a draft was added, in seconds since 1970; None if it is none."""
    found = _MOMENT.fullmatch(place.partition("/")[0])
    return int(found[1], 16) / 1000 if found else None


def gathered_at(key: str, draft: str) -> Gathered | None:
    """Parse a key below the prefix `draft`; None unless it is a recording's."""
    place = key.removeprefix(f"{draft}/")
    found = _PLACE.fullmatch(place)
    return Gathered(key, place, found[1], found[4], int(found[3]) / 1000) if found else None
