"""The melody that a new visitor sees in the timeline: `python -m tests.welcome` writes it beside the Convert tab.

It is the analysis of the sample, as <timbre-roll> draws it, and by how much each preview of it is transposed.
"""

import json
from dataclasses import asdict

import numpy as np

from engine.analysis.notes import find_notes
from engine.analysis.pitch import Pitch, detect_pitch
from engine.analysis.recording import analyse_file
from engine.audio.files import read_audio
from engine.units import FRAME_RATE
from engine.voices.card import DEMO_VOICES, PREVIEW_FILE
from studio.actions.analyses import SAMPLES_PLACE
from studio.page.convert.welcome import MELODY, SAMPLE, VOICES

_EVERY = 2  # frames: 20 ms are enough at first sight


def semitones_above(before: Pitch, voice: str) -> np.ndarray:
    """Return by how much the preview of a voice is above the sample, where both are voiced."""
    preview = read_audio(DEMO_VOICES / voice / PREVIEW_FILE)
    after = detect_pitch(preview.mono(), preview.rate)
    both = before.voiced & after.voiced[: len(before)]
    return (after.semitones[: len(before)] - before.semitones)[both]


def melody() -> dict[str, object]:
    """Return what the file holds."""
    analysis = analyse_file(SAMPLES_PLACE / SAMPLE.path)
    pitch = analysis.pitch[::_EVERY]
    curve = {
        "step_s": _EVERY / FRAME_RATE,
        "hertz": [round(float(one), 1) for one in pitch.hertz],
        "confidence": [round(float(one), 2) for one in pitch.voicing],
    }
    transposed = {voice: round(float(np.median(semitones_above(analysis.pitch, voice)))) for voice in VOICES}
    roll = {
        "duration_s": round(analysis.duration_s, 3),
        "curves": [curve],
        "notes": [asdict(one) for one in find_notes(analysis.pitch, analysis.loudness_db)],
    }
    return {"roll": roll, "transposed": transposed}


if __name__ == "__main__":
    MELODY.write_text(json.dumps(melody(), separators=(",", ":")) + "\n", encoding="utf-8")
