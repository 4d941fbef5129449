"""What the report says of several speakers: how many, and which recordings or moments are whose."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.datasets.findings import Finding, finding
from engine.features.speakers import Turn
from engine.texts import joined, ntr, tr
from engine.units import clock

_MOST_PLACES = 6  # named of a speaker


@dataclass(frozen=True)
class SpeakerFindings:
    """of_all: of the recordings together, if any. of_each: of each recording, if any."""

    of_all: Finding | None
    of_each: tuple[Finding | None, ...]


def speaker_findings(names: Sequence[str], turns: Sequence[Sequence[Turn]]) -> SpeakerFindings:
    """Return the findings on recordings with these names and turns; none for a single speaker."""
    speakers = sorted({turn.speaker for one in turns for turn in one})
    if len(speakers) < 2:
        return SpeakerFindings(None, (None,) * len(turns))
    reason = tr(
        "The recordings sound like {count} people: {who}.",
        count=len(speakers),
        who=joined("; ", [_whose(speaker, names, turns) for speaker in speakers]),
    )
    return SpeakerFindings(finding("several_speakers", "warn", reason), tuple(map(_of_one, turns)))


def _whose(speaker: int, names: Sequence[str], turns: Sequence[Sequence[Turn]]) -> str:
    places = []
    for name, one in zip(names, turns, strict=True):
        own = [turn for turn in one if turn.speaker == speaker]
        if own and len(own) == len(one):
            places.append(name)
        elif own:
            places.append(tr("{times} of {name}", times=joined(", ", _times(own)), name=name))
    return tr("speaker {letter}: {places}", letter=_letter(speaker), places=_listed(places))


def _of_one(turns: Sequence[Turn]) -> Finding | None:
    """Return the finding on a recording in which anybody but the speaker heard most is heard."""
    speakers = sorted({turn.speaker for turn in turns})
    if speakers in ([], [0]):
        return None
    if len(speakers) == 1:
        return finding("other_speaker", "warn", tr("It sounds like speaker {letter}.", letter=_letter(speakers[0])))
    who = [
        tr(
            "speaker {letter}: {places}",
            letter=_letter(speaker),
            places=_listed(_times([turn for turn in turns if turn.speaker == speaker])),
        )
        for speaker in speakers
    ]
    return finding("other_speaker", "warn", tr("It sounds like several people in turn: {who}.", who=joined("; ", who)))


def _times(turns: Sequence[Turn]) -> list[str]:
    return [f"{clock(round(turn.start_s))}-{clock(round(turn.stop_s))}" for turn in turns]


def _listed(places: Sequence[str]) -> str:
    shown = joined(", ", places[:_MOST_PLACES])
    if (more := len(places) - _MOST_PLACES) > 0:
        return ntr("{shown} and {more} more", "{shown} and {more} more", shown=shown, more=more)
    return shown


def _letter(speaker: int) -> str:
    return chr(ord("A") + speaker) if speaker < 26 else str(speaker + 1)
