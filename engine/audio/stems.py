"""Stems, recordings that begin and end together, so that another program can lay them under each other; and parts."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.audio.files import AudioWriter, open_audio
from engine.audio.session_metadata import SessionPlace, place_of
from engine.audio.streams import stretch_of
from engine.errors import SettingsError
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement
from engine.texts import numeral, tr

SHORTEST_S = 0.1  # of a part that is cut out
_BLOCK = 1 << 18  # samples of silence written at a time


@dataclass(frozen=True)
class Placing:
    """Where stems lie: they begin at `origin_s` in a song, last `duration_s`, and this one is silent for `lead_s`."""

    lead_s: float
    duration_s: float
    origin_s: float


def write_stem(
    source: Path,
    target: Path,
    placing: Placing,
    statement: Statement | None = None,
    installation: Installation | None = None,
) -> None:
    """Write a recording as a stem (.wav) at its own rate, with silence before and after it.

    The file has the start of the stems as its time reference (BWF), and the markers of the recording. statement,
    installation: as of AudioWriter, for synthetic recordings. Raises AudioError if a file cannot be read or written.
    """
    with open_audio(source) as recording:
        rate, channels = recording.rate, recording.channels
        lead, count = round(placing.lead_s * rate), round(placing.duration_s * rate)
        place = (place_of(source) or SessionPlace(rate)).at(rate).from_sample(-lead)
        place = replace(place, time_reference=round(placing.origin_s * rate))
        with AudioWriter(target, rate, channels, statement, installation, place) as writer:
            written = _write_silence(writer, lead)
            for block in recording.blocks():
                writer.write(block)
                written += block.shape[1]
            _write_silence(writer, count - written)


def _write_silence(writer: AudioWriter, count: int) -> int:
    """Write `count` samples of silence, if above 0; return how many."""
    for start in range(0, count, _BLOCK):
        writer.write(np.zeros((writer.channels, min(_BLOCK, count - start)), np.float32))
    return max(count, 0)


def cut_recording(
    source: Path,
    target: Path,
    start_s: float = 0.0,
    stop_s: float = float("inf"),
    statement: Statement | None = None,
    installation: Installation | None = None,
    mp3_kbps: int = 0,
) -> None:
    """Copy `source` from `start_s` to `stop_s` into `target`, at the same rate, with the same channels, and placed in
    the session where the part was.

    The suffix of the target selects its format. statement, installation, mp3_kbps: as of AudioWriter.
    Raises SettingsError for a part that is too short or outside the recording, AudioError for a file that cannot be
    read or written.

    >>> cut_recording(Path("vocal.flac"), Path("part.wav"), 0.5, 1.5)
    >>> with open_audio("part.wav") as part:
    ...     part.duration_s
    1.0
    """
    if not 0.0 <= start_s <= stop_s - SHORTEST_S:
        raise SettingsError(
            tr(
                "The part from {start_s} s to {stop_s} s is too short: choose a longer one.",
                start_s=numeral(start_s, ".1f"),
                stop_s=numeral(stop_s, ".1f"),
            )
        )
    with open_audio(source) as recording:
        first = round(start_s * recording.rate)
        last = None if stop_s == float("inf") else round(stop_s * recording.rate)
        place = place_of(source)
        if place is not None:
            place = place.at(recording.rate).from_sample(first, None if last is None else last - first)
        with AudioWriter(
            target, recording.rate, recording.channels, statement, installation, place, mp3_kbps=mp3_kbps
        ) as writer:
            written = 0
            for piece in stretch_of(recording.blocks(), first, last):
                writer.write(piece)
                written += piece.shape[1]
            if not written:
                raise SettingsError(
                    tr(
                        "The recording ends before {start_s} s: choose an earlier part.",
                        start_s=numeral(start_s, ".1f"),
                    )
                )
