"""How alike a conversion can be: the voice's own sound with the melody and at the level of a source.

Recordings of the voice that it is not compared with, one after the other until the source's length is reached, are
synthesized from their own envelopes and voicing at the pitch of the source, transposed as the conversion was. Timing
and words are the voice's. What a judge of speaker similarity says of these (judges.py) is the most that a conversion
can reach of the voice while it keeps the recording's melody, and the least that it can leave of the source's speaker.
"""

from collections.abc import Sequence
from itertools import cycle
from pathlib import Path

import numpy as np

from engine.analysis.envelope import measure_envelope
from engine.analysis.pitch import Pitch, detect_pitch
from engine.audio.files import Audio, read_audio
from engine.audio.resampling import resample
from engine.conversion.pitch_shaping import fold_pitch
from engine.errors import EngineError
from engine.networks.base import load_base
from engine.networks.synthesizer import synthesize
from engine.research.copies import residual_of
from engine.units import SAMPLE_RATE


def controlled(source: Audio, recordings: Sequence[Path], semitones: float) -> Audio:
    """Return the sound of a voice's recordings with the melody and at the level of a source, as long as it.

    recordings: of the same voice, which begin again where they are shorter than the source; semitones: by which the
    melody is transposed. Raises EngineError if the recordings are empty.
    """
    sung = _at_engine_rate(source)
    own = _own_sound(recordings, len(sung))
    melody, spoken = detect_pitch(sung, SAMPLE_RATE), detect_pitch(own, SAMPLE_RATE)
    envelope = measure_envelope(own, spoken)
    pitch = fold_pitch(Pitch(melody.hertz, spoken.voicing).transposed(semitones)).one_frame_longer()
    synthesizer = load_base().synthesizer
    longer = np.pad(envelope, ((0, 1), (0, 0)), "edge")
    residual = residual_of(own, longer, spoken.one_frame_longer(), synthesizer)
    made = synthesize(synthesizer, longer, pitch, residual=residual)
    made = made[: len(sung)]
    level = float(np.sqrt(np.mean(np.square(sung)) / max(float(np.mean(np.square(made))), 1e-12)))
    return Audio((made * np.float32(level))[None], SAMPLE_RATE)


def share_of_the_way(value: float, stranger: float, control: float) -> float | None:
    """Return how far a similarity lies from a stranger's (0) to the control's (1); None where the two are the same."""
    return (value - stranger) / (control - stranger) if abs(control - stranger) > 1e-6 else None


def share_of_the_leak(value: float, control: float) -> float | None:
    """Return how far a similarity to the source lies from the control's (0), the floor, to the source itself (1)."""
    return share_of_the_way(value, control, 1.0)


def _own_sound(recordings: Sequence[Path], length: int) -> np.ndarray:
    """Return recordings one after the other, again and again, float32 (length,)."""
    pieces: list[np.ndarray] = []
    for number, path in enumerate(cycle(recordings), 1):
        pieces.append(_at_engine_rate(read_audio(path)))
        if sum(map(len, pieces)) >= length:
            return np.concatenate(pieces)[:length]
        if number == len(recordings) and not sum(map(len, pieces)):
            break
    raise EngineError("A control needs recordings of the voice that hold sound.")


def _at_engine_rate(audio: Audio) -> np.ndarray:
    samples: np.ndarray = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    return samples
