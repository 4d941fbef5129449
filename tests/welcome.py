"""The melody that a new visitor sees in the timeline: `python -m tests.welcome` writes it beside the Convert tab.

It is the analysis of the sample, as <timbre-roll> draws it, by how much each preview of it is transposed, and the
waveforms of all of them, so that none has to be fetched before it is played.
"""

import json
from dataclasses import asdict
from pathlib import Path

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


def waveform(path: Path) -> dict[str, object]:
    """Return the highest level of each step, in 127ths of full scale."""
    audio = read_audio(path)
    steps = np.array_split(np.abs(audio.mono()), round(audio.duration_s * FRAME_RATE))
    return {"step_s": round(audio.duration_s / len(steps), 6), "high": [round(127 * float(one.max())) for one in steps]}


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
    files = {"before": SAMPLES_PLACE / SAMPLE.path} | {voice: DEMO_VOICES / voice / PREVIEW_FILE for voice in VOICES}
    waveforms = {name: waveform(path) for name, path in files.items()}
    return {"roll": roll, "transposed": transposed, "waveforms": waveforms}


if __name__ == "__main__":
    MELODY.write_text(json.dumps(melody(), separators=(",", ":")) + "\n", encoding="utf-8")
