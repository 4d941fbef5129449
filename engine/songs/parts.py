"""Stretches of a recording in different voices, as people write them: "kathleen, from 1:42 koguchi"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from engine.errors import SettingsError
from engine.texts import ntr, tr
from engine.units import clock as clock
from engine.units import in_words

KEEP = "keep"  # instead of a voice: the stretch is left as it is
MOST_PARTS = 100
SHORTEST_PART_S = 1.0
_ITEM = re.compile(r"(?:from\s+)?(?:(?P<time>[0-9][0-9:.]*)\s+)?(?P<voice>[^\s,;]+)", re.IGNORECASE)
_TIME = re.compile(r"(?:(?:(\d{1,2}):)?(\d{1,2}):)?(\d{1,5}(?:\.\d{1,3})?)")


@dataclass(frozen=True)
class Part:
    """From `start_s` on, until the next part, the recording is in this voice.

    - start_s: where it begins, in seconds
    - voice: an id, or keep: the recording is left as it is
    """

    start_s: float
    voice: str


def read_parts(text: str, first: str = KEEP) -> tuple[Part, ...]:
    """Read parts as people write them.

    Parameters
    ----------
    text : str
        Such as "kathleen, from 1:42 koguchi", separated by commas, semicolons or lines.
    first : str
        The voice until the first part, if that does not begin at 0.

    Returns
    -------
    tuple of Part
        In order of time, the first from 0 s.

    Raises
    ------
    SettingsError
        If a part is invalid, or the parts are not in order.

    Examples
    --------
    >>> read_parts("kathleen, from 1:42 koguchi; 2:00.5 keep")
    (Part(start_s=0.0, voice='kathleen'), Part(start_s=102.0, voice='koguchi'), Part(start_s=120.5, voice='keep'))
    """
    parts: list[Part] = []
    for item in filter(None, (one.strip() for one in re.split(r"[,;\n]", text))):
        match = _ITEM.fullmatch(item)
        if match is None or (match["time"] is None and (parts or ":" in match["voice"])):  # a time alone
            raise SettingsError(tr("'{item}' is not a part: use \"time voice\", e.g. 1:42 koguchi.", item=item[:40]))
        parts.append(Part(seconds_of(match["time"] or "0"), match["voice"]))
    return checked_parts(parts, first)


def checked_parts(parts: Sequence[Part], first: str = KEEP) -> tuple[Part, ...]:
    """Return the parts if they can be carried out, `first` before the first one. Raises SettingsError."""
    if not parts:
        raise SettingsError(tr("No part is given: write one like 1:42 koguchi."))
    if len(parts) > MOST_PARTS:
        raise SettingsError(
            ntr(
                "{parts} part is too many: at most {most_parts} are possible.",
                "{parts} parts are too many: at most {most_parts} are possible.",
                parts=len(parts),
                most_parts=MOST_PARTS,
            )
        )
    if parts[0].start_s > 0.0:
        parts = [Part(0.0, first), *parts]
    for before, after in pairwise(parts):
        if not after.start_s >= before.start_s + SHORTEST_PART_S:
            raise SettingsError(
                tr(
                    "The part from {start} must begin at least {shortest_part_s} after the one before it, at {before}.",
                    start=clock(after.start_s),
                    shortest_part_s=in_words(SHORTEST_PART_S),
                    before=clock(before.start_s),
                )
            )
    return tuple(parts)


def seconds_of(time: str) -> float:
    """Return a time like 1:42, 1:02:03.5 or 102 in seconds. Raises SettingsError.

    >>> seconds_of("1:42"), seconds_of("1:02:03.5")
    (102.0, 3723.5)
    """
    match = _TIME.fullmatch(time.strip())
    if match is None:
        raise SettingsError(tr("'{time}' is not a time: write it like 1:42 or 102.5.", time=time[:20]))
    hours, minutes, seconds = match.groups()
    return 3600.0 * int(hours or 0) + 60.0 * int(minutes or 0) + float(seconds)
