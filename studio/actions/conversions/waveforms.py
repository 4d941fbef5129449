"""Waveforms of takes as small as a list shows them."""

import functools
from pathlib import Path

import numpy as np
import soundfile

from studio.actions.conversions.views import key_of_take
from studio.store.accounts import Account
from studio.store.kinds import CONVERSION
from studio.store.studio import Studio
from studio.store.tasks import find

COLUMNS = 160
_STEPS = 99  # of the height of a column
_SEEN_FRAMES = 2048  # of each column: enough for its height, however long the take is
_REMEMBERED = 4096  # takes, which never change


def outline_of_take(studio: Studio, account: Account, task_id: str, take: int) -> tuple[int, ...]:
    """Return the heights (0..99) of a take's waveform from left to right, the loudest 99; take: 1 for the first.

    Nothing for a take that is gone or not in a folder of this machine: it is not fetched for that. Raises NotFound.
    """
    key = Path(key_of_take(find(studio.database, account.id, task_id, kind=CONVERSION), take))
    folder = studio.storage.folder(str(key.parent))
    return () if folder is None else _outline(folder / key.name)


@functools.lru_cache(_REMEMBERED)
def _outline(file: Path) -> tuple[int, ...]:
    try:
        with soundfile.SoundFile(file) as sound:
            peaks = np.array([_peak(sound, column) for column in range(COLUMNS)])
    except (OSError, soundfile.SoundFileError):
        return ()
    return tuple(int(height) for height in np.rint(_STEPS * peaks / max(peaks.max(), 1e-9)))


def _peak(sound: soundfile.SoundFile, column: int) -> float:
    """Return the peak of a column, or of its middle if it is long."""
    start, stop = (sound.frames * edge // COLUMNS for edge in (column, column + 1))
    count = min(stop - start, _SEEN_FRAMES)
    sound.seek(start + (stop - start - count) // 2)
    samples = sound.read(count, dtype="float32")
    return float(np.abs(samples).max()) if samples.size else 0.0
