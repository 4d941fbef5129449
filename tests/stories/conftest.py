"""What stories begin with."""

import zipfile
from pathlib import Path

import pytest
import soundfile

from tests.services import VOCAL_RATE


@pytest.fixture
def desk(tmp_path, vocal) -> Path:
    """A folder with the recordings that the README and the lessons name."""
    folder = tmp_path / "desk"
    (folder / "harmonies").mkdir(parents=True)
    soundfile.write(folder / "vocal.wav", vocal(6.0, 196.0), VOCAL_RATE)
    soundfile.write(folder / "harmonies" / "third.wav", vocal(3.0, 247.0), VOCAL_RATE)
    soundfile.write(folder / "duet.wav", vocal(6.0, 330.0), VOCAL_RATE)
    soundfile.write(folder / "backing.wav", 0.1 * vocal(6.0, 65.0), VOCAL_RATE)
    with zipfile.ZipFile(folder / "recordings.zip", "w") as archive:
        for number in range(3):
            soundfile.write(folder / "recording.wav", vocal(6.0, 180.0 + 30 * number), VOCAL_RATE)
            archive.write(folder / "recording.wav", f"audio/{number}.wav")
    (folder / "recording.wav").unlink()
    return folder
