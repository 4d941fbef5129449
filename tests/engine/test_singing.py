"""What singers do with their pitch comes through a conversion: vibrato, glides, and notes that are held."""

import numpy as np
import pytest

from engine.analysis.envelope import measure_envelope
from engine.analysis.pitch import detect_pitch
from engine.audio.files import Audio
from engine.conversion.convert import convert
from engine.conversion.settings import ConversionSettings
from engine.units import DECIBELS_PER_NEPER, FRAME_RATE, SAMPLE_RATE
from engine.voices.voice import load_voice

SINGERS = ("koguchi", "goekhan")
FORMANTS = ((700, 90), (1200, 110), (2600, 160), (3300, 250))  # of an open vowel: centre and width in hertz
KEPT = 0.05  # of rate and depth


def vowel(semitones: np.ndarray) -> np.ndarray:
    """A sung vowel on a curve of MIDI numbers with a value for each sample, float32 (samples,)."""
    hertz = 440 * 2 ** ((semitones - 69) / 12)
    phase = np.cumsum(hertz) / SAMPLE_RATE
    tone = np.zeros(len(hertz))
    for number in range(1, int(11_000 / hertz.min()) + 1):
        gain = sum(1 / (1 + ((number * hertz - centre) / width) ** 2) for centre, width in FORMANTS) + 0.01
        tone += np.where(number * hertz < 11_000, gain / np.sqrt(number), 0) * np.cos(2 * np.pi * number * phase)
    return (0.2 * tone / np.abs(tone).max()).astype(np.float32)


def seconds(length: float) -> np.ndarray:
    return np.arange(round(length * SAMPLE_RATE)) / SAMPLE_RATE


def sung_by(name: str, semitones: np.ndarray) -> np.ndarray:
    recording, settings = Audio(vowel(semitones)[None], SAMPLE_RATE), ConversionSettings(transpose=0)
    return convert(recording, load_voice(name), settings).takes[0].audio.samples[0]


def vibrato_of(semitones: np.ndarray) -> tuple[float, float]:
    """Rate in hertz and depth in semitones of the strongest swing."""
    time_s = np.arange(len(semitones)) / FRAME_RATE
    swing = semitones - np.polyval(np.polyfit(time_s, semitones, 1), time_s)
    rates = np.arange(3.0, 9.0, 0.01)
    depths = 2 * np.abs((swing * np.exp(-2j * np.pi * rates[:, None] * time_s)).mean(1))
    return float(rates[depths.argmax()]), float(depths.max())


@pytest.mark.parametrize("singer", SINGERS)
@pytest.mark.parametrize(("note", "rate", "depth"), [(50, 5.5, 0.5), (57, 4.5, 1.0), (64, 6.5, 0.3), (83.9, 6.0, 0.5)])
def test_convert_keeps_the_rate_and_depth_of_vibrato(singer, note, rate, depth):
    output = sung_by(singer, note + depth * np.sin(2 * np.pi * rate * seconds(3.0)))
    found = vibrato_of(detect_pitch(output, SAMPLE_RATE).semitones[50:250])
    assert found == (pytest.approx(rate, rel=KEPT), pytest.approx(depth, rel=KEPT))


@pytest.mark.parametrize("singer", SINGERS)
@pytest.mark.parametrize("glide_s", [0.1, 0.3, 0.6])
def test_convert_keeps_the_pitch_and_timing_of_a_glide(singer, glide_s):
    wanted = 57 + 7 * np.clip((seconds(2.0) - 0.7) / glide_s, 0, 1)
    found = detect_pitch(sung_by(singer, wanted), SAMPLE_RATE).semitones[20:180]
    cents = 100 * np.abs(found - wanted[:: SAMPLE_RATE // FRAME_RATE][20:180])
    assert cents.mean() < 5
    assert cents.max() < 30


@pytest.mark.parametrize("singer", SINGERS)
def test_convert_holds_a_long_note_steady_in_pitch_and_timbre(singer):
    output = sung_by(singer, np.full(8 * SAMPLE_RATE, 60.0))
    pitch = detect_pitch(output, SAMPLE_RATE)
    assert 100 * pitch.semitones[50:-50].std() < 5
    bands = DECIBELS_PER_NEPER * measure_envelope(output, pitch)[50:-50, :80].std(0)  # below 8 kHz
    assert np.median(bands) < 1
    assert bands.max() < 3
