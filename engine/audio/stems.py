"""Stems: recordings that begin and end together, so that another program can lay them under each other."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.audio.files import AudioWriter, open_audio
from engine.provenance.installation import Installation
from engine.provenance.statement import Statement

_BLOCK = 1 << 18  # samples read at a time


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

    The file has the start of the stems as its time reference (BWF), in samples. statement, installation: as of
    AudioWriter, for synthetic recordings. Raises AudioError if a file cannot be read or written.
    """
    with open_audio(source) as recording:
        rate, channels = recording.rate, recording.channels
        lead, count = round(placing.lead_s * rate), round(placing.duration_s * rate)
        reference = round(placing.origin_s * rate)
        with AudioWriter(target, rate, channels, statement, installation, reference) as writer:
            written = _write_silence(writer, lead)
            for block in recording.blocks(_BLOCK):
                writer.write(block)
                written += block.shape[1]
            _write_silence(writer, count - written)


def _write_silence(writer: AudioWriter, count: int) -> int:
    """Write `count` samples of silence, if above 0; return how many."""
    for start in range(0, count, _BLOCK):
        writer.write(np.zeros((writer.channels, min(_BLOCK, count - start)), np.float32))
    return max(count, 0)
