"""Where the recordings lie that are gathered for a new voice, until it is made of them.

    drafts/{draft}/{moment}/{milliseconds}/{path}     what was brought at one moment, each recording below its length
    drafts/{draft}/model.json                         what came in a zip besides

So a list of keys tells all that is shown of them: names, lengths, and in what order they came.
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
    """A recording of a draft. place: below the draft, with its moment and length; name: its path as it was brought."""

    key: str
    place: str
    moment: str
    name: str
    duration_s: float


def new_draft_id() -> str:
    """An id that no other draft has."""
    return secrets.token_hex(12)


def is_draft_id(text: str) -> bool:
    """Whether this can be the id of a draft; it may come from anybody."""
    return bool(_ID.fullmatch(text))


def new_moment(now_s: float) -> str:
    """A name for what is brought now, after those of what was brought before."""
    return f"{round(now_s * 1000):013x}{secrets.token_hex(2)}"


def moment_of(place: str) -> float | None:
    """When the recording at a place below a draft was brought, in seconds since 1970; None for what is no recording."""
    found = _MOMENT.fullmatch(place.partition("/")[0])
    return int(found[1], 16) / 1000 if found else None


def gathered_at(key: str, draft: str) -> Gathered | None:
    """What a key below the prefix `draft` says of a recording; None for anything else."""
    place = key.removeprefix(f"{draft}/")
    found = _PLACE.fullmatch(place)
    return Gathered(key, place, found[1], found[4], int(found[3]) / 1000) if found else None
