"""A long source: short recordings joined, with pauses, so that conversions of many windows can be timed.

The recordings follow each other in the order of their names, again and again, each followed by 0.7 s without a voice,
until the length is reached. The second channel of a stereo source is the first 0.3 ms later and 3 dB softer, and both
have a noise of their own 60 dB below full scale, as two microphones of one singer have.
"""

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path

import numpy as np
import soundfile

from engine.audio.files import read_audio
from engine.audio.resampling import resample
from engine.research.benchmark.recordings import SAMPLES, find_recordings
from engine.units import SAMPLE_RATE

_PAUSE_S = 0.7
_LATER_SAMPLES, _SOFTER = 13, 10 ** (-3 / 20)
_NOISE = 10 ** (-60 / 20)


def joined_recordings(folder: Path) -> list[Path]:
    """Return the recordings that a long source is made of: of a folder, and those beside our own samples.

    Raises AudioError if the folder holds none.
    """
    foreign = find_recordings(folder / "foreign") if folder == SAMPLES else []
    return [*find_recordings(folder), *foreign]


def write_long_source(recordings: Sequence[Path], target: Path, seconds: float, channels: int = 1) -> None:
    """Join recordings in a WAV file of exactly so many seconds at SAMPLE_RATE. Raises AudioError."""
    drawn = np.random.default_rng(0)
    left = round(seconds * SAMPLE_RATE)
    before = np.zeros(_LATER_SAMPLES, np.float32)
    with soundfile.SoundFile(target, "w", SAMPLE_RATE, channels, "PCM_16") as file:
        for voice in _voice_and_pauses(recordings):
            piece = voice[:left]
            later = np.concatenate([before, piece])
            before, left = later[len(piece) :], left - len(piece)
            both = np.stack([piece, _SOFTER * later[: len(piece)]][:channels], 1)
            file.write(both + (_NOISE * drawn.standard_normal(both.shape)).astype(np.float32))
            if not left:
                return


def _voice_and_pauses(recordings: Sequence[Path]) -> Iterator[np.ndarray]:
    """Yield the recordings without end, mono at SAMPLE_RATE, each with a pause behind it, float32 (samples,)."""
    pause = np.zeros(round(_PAUSE_S * SAMPLE_RATE), np.float32)
    read = []
    for path in recordings:
        audio = read_audio(path)
        read.append(np.concatenate([resample(audio.mono(), audio.rate, SAMPLE_RATE), pause]))
        yield read[-1]
    yield from cycle(read)
