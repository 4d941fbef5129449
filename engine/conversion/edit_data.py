"""The groundwork of a conversion: all that its takes were made with, besides the recording and the voice.

Kept beside the takes, it lets one be changed in places later: what was found in the recording, the settings, and the
pitch that each take was sung with, to the last bit.
"""

import io
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from engine.analysis.pitch import Pitch
from engine.analysis.pitch_statistics import PitchStatistics
from engine.analysis.style import Style
from engine.conversion.settings import ConversionSettings
from engine.errors import EditError

# Raised when takes are sung otherwise: an edit would sound another way than what is around it. Of 1, the timbre was
# that of the voice itself; of 2, takes but the first varied more; of 3, consonants kept the recording's colour;
# of 4, a long note could be two sounds in turn; of 5, the base was another; of 6, loudness was compared up to the top;
# of 7, noise and rooms were heard as sounds; of 8, one vowel could be another on the next note; of 9, content was told
# from the envelope.
_FORMAT = 10
_SUSTAINED_WIDTH = 145  # features.sustained_notes.WIDTH, repeated here because planning edits must not load torch
_FACTS = "facts"
_ARRAYS = {
    "feature_mean": np.float32,
    "timbre": np.float32,
    "voicing": np.float32,
    "hertz": np.float32,
    "core_starts": np.int64,
    "phases": np.float64,
    "sustained": np.float32,
}
_STORED_AS = {"sustained": "held"}  # fields that have another name in the file


@dataclass(frozen=True, eq=False)
class Groundwork:
    """What was found of a recording (see `engine.features.survey.Survey`), what was wanted, and what the takes sang."""

    voice: str  # the fingerprint of the networks
    settings: ConversionSettings
    transpose: int
    style: Style
    level_nepers: float
    feature_mean: np.ndarray  # float32 (FEATURES,)
    timbre: np.ndarray  # float32 (TIMBRE,)
    statistics: PitchStatistics
    bands: int
    voiced: bool
    voicing: np.ndarray  # float32 (frames,)
    hertz: np.ndarray  # float32 (takes, frames)
    core_starts: np.ndarray  # int64 (windows,): the frame where the core of each window begins
    phases: np.ndarray  # float64 (takes, windows): of the pulses, in cycles, there
    sustained: np.ndarray  # float32 (notes, 145): rows of `engine.features.sustained_notes.SustainedNotes`

    def pitch(self, number: int) -> Pitch:
        """The curve that take `number` (the first is 0) was sung with."""
        return Pitch(self.hertz[number], self.voicing)

    @property
    def takes(self) -> int:
        """How many there are."""
        return len(self.hertz)


def write_groundwork(path: Path, groundwork: Groundwork) -> None:
    """Write it as a file. OSError where that cannot be written."""
    facts = {
        "format": _FORMAT,
        "voice": groundwork.voice,
        "settings": asdict(groundwork.settings),
        "transpose": groundwork.transpose,
        "style": groundwork.style,
        "level_nepers": groundwork.level_nepers,
        "statistics": asdict(groundwork.statistics),
        "bands": groundwork.bands,
        "voiced": groundwork.voiced,
    }
    arrays = {_STORED_AS.get(name, name): getattr(groundwork, name) for name in _ARRAYS}
    arrays[_FACTS] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_groundwork(content: bytes) -> Groundwork:
    """What a file that `write_groundwork` wrote holds. Raises EditError for anything else."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            facts = json.loads(file[_FACTS].tobytes())
            arrays = {name: file[_STORED_AS.get(name, name)].astype(kind, copy=False) for name, kind in _ARRAYS.items()}
        return _checked(facts, arrays)
    except Exception as cause:  # numpy and zipfile raise many kinds
        raise EditError(
            "What this take was made with cannot be read, or was written by another version of Timbre Studio: convert "
            "the recording again, then edit it."
        ) from cause


def _checked(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> Groundwork:
    if facts.pop("format") != _FORMAT:
        raise ValueError("another format")
    facts["settings"] = ConversionSettings(**facts["settings"])
    facts["statistics"] = PitchStatistics(**facts["statistics"])
    takes, frames = arrays["hertz"].shape
    (windows,) = arrays["core_starts"].shape
    if arrays["voicing"].shape != (frames,) or arrays["phases"].shape != (takes, windows) or not windows:
        raise ValueError("shapes that do not fit")
    if arrays["sustained"].ndim != 2 or arrays["sustained"].shape[1] != _SUSTAINED_WIDTH:
        raise ValueError("shapes that do not fit")
    values: dict[str, Any] = facts | arrays
    return Groundwork(**values)
