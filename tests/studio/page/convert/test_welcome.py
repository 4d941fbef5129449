"""The sample that a new visitor finds, in two voices; no browser."""

import numpy as np

from engine.analysis.pitch import detect_pitch
from engine.audio.files import read_audio
from engine.voices.card import DEMO_VOICES, PREVIEW_FILE
from studio.actions.analyses import SAMPLES_PLACE
from studio.page.convert.welcome import SAMPLE, VOICES


def test_previews_of_the_welcome_are_the_sample_in_another_voice():
    sung = read_audio(SAMPLES_PLACE / SAMPLE.path)
    before = detect_pitch(sung.mono(), sung.rate)
    for voice in VOICES:
        preview = read_audio(DEMO_VOICES / voice / PREVIEW_FILE)
        after = detect_pitch(preview.mono(), preview.rate)
        both = before.voiced & after.voiced[: len(before)]
        shift = (after.semitones[: len(before)] - before.semitones)[both]
        octaves = np.round(np.median(shift) / 12)
        assert both.mean() > 0.5
        assert np.mean(np.abs(shift - 12 * octaves) < 0.5) > 0.9
