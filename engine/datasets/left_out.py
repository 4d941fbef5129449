"""What a source holds beside the recordings that are used, so that nothing vanishes without a word."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.audio.containers import AUDIO_SUFFIXES, look_at
from engine.files import write_atomically
from engine.texts import as_data, from_data, tr

LEFT_OUT_FILE = "left_out.json"
NOT_AUDIO = tr("This file is left out, since it is not audio.")
_MOST_LISTED = 200


@dataclass(frozen=True)
class LeftOut:
    """A file of the source that is not used: its path there, and the reason in a sentence."""

    name: str
    reason: str


def why_no_recording(path: Path) -> str:
    """Return why a file is no recording, in a sentence; empty for one that is, by its suffix or by its first bytes.

    A file with the suffix of a recording counts as one even if it is damaged: the data report says what is wrong with
    it.
    """
    if path.suffix.lower() in AUDIO_SUFFIXES:
        return ""
    try:
        found = look_at(path)
    except OSError:
        return tr("This file is left out, since it cannot be read.")
    if found.container:
        return ""
    if found.foreign:
        return tr(
            "This file is left out, since it is {foreign}, which cannot be read: export it as WAV or FLAC.",
            foreign=found.foreign,
        )
    return NOT_AUDIO


def left_out_from(values: Sequence[Mapping[str, Any]]) -> tuple[LeftOut, ...]:
    """Return what JSON values hold. Raises TypeError if they are damaged."""
    return tuple(LeftOut(**one) for one in values)


def write_left_out(folder: Path, left_out: Sequence[LeftOut]) -> None:
    """Write the list into the folder of a dataset, if there is anything in it; of a long one the beginning."""
    listed = list(left_out[:_MOST_LISTED])
    if rest := len(left_out) - len(listed):
        listed.append(LeftOut("...", tr("{rest} more files are left out, since they are not recordings.", rest=rest)))
    if listed:
        values = [asdict(one) for one in listed]
        write_atomically(folder / LEFT_OUT_FILE, json.dumps(as_data(values), indent=1, ensure_ascii=False) + "\n")


def read_left_out(folder: Path) -> tuple[LeftOut, ...]:
    """Return the list in the folder of a dataset: none if it is missing or damaged."""
    try:
        return left_out_from(from_data(json.loads((folder / LEFT_OUT_FILE).read_text(encoding="utf-8"))))
    except (OSError, ValueError, TypeError):
        return ()
