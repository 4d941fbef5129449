"""The whole way of any recording: file, analysis, conversion and result, whatever its container, channels and level."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine.analysis.loudness import measure_loudness
from engine.analysis.pitch import detect_pitch
from engine.audio.files import read_audio
from engine.audio.resampling import resample
from engine.conversion.convert import convert_file
from engine.conversion.settings import ConversionSettings
from engine.units import SAMPLE_RATE
from tests.engine.audio.encoded import KINDS, tone

HERTZ = 220.0
LEVEL_DB = 3.0  # a voice has another spectrum than the sawtooth that it sings
LOUDEST_DB = -9.0  # a voice as loud as a clipped sawtooth would clip itself, so its peaks are limited
KNOWN_LENGTH = [kind for kind in KINDS if not kind.longer and not kind.shorter]


def level_db(samples: np.ndarray) -> float:
    """The loudness of the middle of a recording at SAMPLE_RATE."""
    return float(np.median(measure_loudness(samples)[20:-20]))


@settings(max_examples=12, derandomize=True)
@example(kind=KNOWN_LENGTH[0], channels=8, rate=9, milliseconds=900, gain_db=-60.0)  # at 192 kHz
@example(kind=KNOWN_LENGTH[0], channels=1, rate=0, milliseconds=900, gain_db=12.0)  # at 8 kHz
@given(
    **dict(kind=st.sampled_from(KNOWN_LENGTH), channels=st.integers(1, 8), rate=st.integers(0, 99)),
    **dict(milliseconds=st.integers(600, 1200), gain_db=st.floats(-60, 12)),
)
def test_convert_file_keeps_length_level_and_pitch_of_any_recording(
    tmp_path_factory, voice, kind, channels, rate, milliseconds, gain_db
):
    folder, hertz = tmp_path_factory.getbasetemp(), kind.rates[rate % len(kind.rates)]
    count = milliseconds * hertz // 1000 + 1
    samples = np.clip(10 ** (gain_db / 20) * tone(count, hertz, min(channels, kind.channels), HERTZ), -1, 1)
    (folder / "recording").write_bytes(kind.write(samples, hertz))
    convert_file(folder / "recording", [folder / "take.wav"], voice, ConversionSettings())
    read, made = read_audio(folder / "recording"), read_audio(folder / "take.wav")
    assert made.channels == len(samples)
    assert made.sample_count == round(read.sample_count * SAMPLE_RATE / read.rate)
    # what 8 bits or a lossy encoding leave of a soft recording is noise
    if 20 * np.log10(np.abs(samples).max()) > (kind.floor_db if kind.step is None else 20 * np.log10(kind.step) + 30):
        for before, after in zip(read.samples, made.samples, strict=True):
            wanted_db = min(level_db(resample(before, read.rate, SAMPLE_RATE)), LOUDEST_DB)
            assert min(level_db(after), LOUDEST_DB) == pytest.approx(wanted_db, abs=LEVEL_DB)
        pitch = detect_pitch(made.mono(), SAMPLE_RATE)
        assert pitch.voiced.mean() > 0.5
        assert abs(1200 * np.log2(np.median(pitch.hertz[pitch.voiced]) / HERTZ)) < 50
