"""Edit data of a conversion: what an edit needs to render parts of a take again, besides recording and voice.

Stored beside the takes: the survey of the recording, the settings, and the exact pitch curve of each take.
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
from engine.reprs import Brief
from engine.texts import tr

# Raised whenever rendering changes, because an edit would otherwise sound unlike the rest of the take. Older formats:
# 1 used the voice's own timbre; 2 varied the later takes more; 3 kept the recording's spectrum in consonants; 4 could
# alternate between two sounds on a long note; 5 had another base; 6 compared loudness over the full band; 7 encoded
# noise and rooms as content; 8 could change a vowel from note to note; 9 read content from the envelope; 10 made all
# that is voiced anew.
_FORMAT = 12
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
    "apart": np.int64,
}
_SINCE_THEN = {"apart"}  # which files of before 0.19 lack
_STORED_AS = {"sustained": "held"}  # fields that have another name in the file


@dataclass(frozen=True, eq=False, repr=False)
class EditData(Brief):
    """What editing a take needs besides recording and voice: the survey, the settings, and the pitch of the takes.

    - voice: digest of the networks
    - settings: of the conversion
    - transpose: semitones
    - style: melodic, rhythmic or spoken
    - level_nepers: of the recording
    - feature_mean: float32 (features,), mean of the listener's features
    - timbre: float32 (128,), of the recording
    - statistics: of the recording's pitch
    - bands: how many hold signal
    - voiced: whether anything is voiced
    - voicing: float32 (frames,), of the recording, 0..1
    - hertz: float32 (takes, frames), pitch of the takes, in Hz
    - core_starts: int64 (windows,), the frame where the core of each window begins
    - phases: float64 (takes, windows), of the pulses there, in cycles
    - sustained: float32 (notes, 145), of the sustained notes
    - apart: int64 (windows,), bit n is set where channel n was converted by itself
    - lowered_db: by how much the recording was lowered, because it is above full scale
    """

    voice: str
    settings: ConversionSettings
    transpose: float
    style: Style
    level_nepers: float
    feature_mean: np.ndarray
    timbre: np.ndarray
    statistics: PitchStatistics
    bands: int
    voiced: bool
    voicing: np.ndarray
    hertz: np.ndarray
    core_starts: np.ndarray
    phases: np.ndarray
    sustained: np.ndarray
    apart: np.ndarray
    lowered_db: float = 0.0

    def pitch(self, number: int) -> Pitch:
        """Return the pitch of a take (frames,); the first is number 0."""
        return Pitch(self.hertz[number], self.voicing)

    @property
    def takes(self) -> int:
        """How many there are."""
        return len(self.hertz)


def write_edit_data(path: Path, edit_data: EditData) -> None:
    """Write edit data to a file. Raises OSError if that fails."""
    facts = {
        "format": _FORMAT,
        "voice": edit_data.voice,
        "settings": asdict(edit_data.settings),
        "transpose": edit_data.transpose,
        "style": edit_data.style,
        "level_nepers": edit_data.level_nepers,
        "statistics": asdict(edit_data.statistics),
        "bands": edit_data.bands,
        "voiced": edit_data.voiced,
        "lowered_db": edit_data.lowered_db,
    }
    arrays = {_STORED_AS.get(name, name): getattr(edit_data, name) for name in _ARRAYS}
    arrays[_FACTS] = np.frombuffer(json.dumps(facts).encode(), np.uint8)
    with path.open("wb") as file:
        np.savez_compressed(file, **arrays)


def read_edit_data(content: bytes) -> EditData:
    """Read the contents of a file that `write_edit_data` wrote. Raises EditError for anything else."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            facts = json.loads(file[_FACTS].tobytes())
            arrays = {
                name: file[_STORED_AS.get(name, name)].astype(kind, copy=False)
                for name, kind in _ARRAYS.items()
                if name in file or name not in _SINCE_THEN
            }
        arrays.setdefault("apart", np.zeros(len(arrays["core_starts"]), np.int64))
        return _checked(facts, arrays)
    except Exception as cause:  # numpy and zipfile raise many kinds
        raise EditError(
            tr(
                "This take's edit data is damaged or from another version of Timbre Studio: convert the recording "
                "again, then edit the new take."
            )
        ) from cause


def _checked(facts: dict[str, Any], arrays: dict[str, np.ndarray]) -> EditData:
    if facts.pop("format") != _FORMAT:
        raise ValueError("another format")
    facts["settings"] = ConversionSettings(**facts["settings"])
    facts["statistics"] = PitchStatistics(**facts["statistics"])
    takes, frames = arrays["hertz"].shape
    (windows,) = arrays["core_starts"].shape
    if arrays["voicing"].shape != (frames,) or arrays["phases"].shape != (takes, windows) or not windows:
        raise ValueError("shapes that do not fit")
    if arrays["apart"].shape != (windows,):
        raise ValueError("shapes that do not fit")
    if arrays["sustained"].ndim != 2 or arrays["sustained"].shape[1] != _SUSTAINED_WIDTH:
        raise ValueError("shapes that do not fit")
    values: dict[str, Any] = facts | arrays
    return EditData(**values)
