import numpy as np
import pytest

from engine.analysis.envelope import BANDS
from engine.analysis.pitch import detect_pitch
from engine.audio.files import Audio
from engine.networks.base import load_base
from engine.research.copies import copy_synthesis
from engine.research.demonstrations.source_filter import DRONE_HERTZ, SourceFilterParts, take_apart
from engine.units import SAMPLE_RATE, frame_count

SECONDS = 2.0


@pytest.fixture(scope="module")
def recording(sing) -> Audio:
    return Audio(sing(SECONDS)[None], SAMPLE_RATE)


@pytest.fixture(scope="module")
def parts(recording) -> SourceFilterParts:
    return take_apart(recording)


SOUNDS = ("pulses", "noise", "harmonic", "breath", "whole", "whisper", "drone")


@pytest.mark.parametrize("name", SOUNDS)
def test_take_apart_returns_parts_as_long_as_the_recording(parts, recording, name):
    sound = getattr(parts, name)
    assert sound.samples.shape == recording.samples.shape
    assert sound.rate == SAMPLE_RATE
    assert np.isfinite(sound.samples).all()
    assert np.abs(sound.samples).max() > 0.001


def test_take_apart_harmonic_and_breath_add_up_to_copy_synthesis(parts, recording):
    copied = copy_synthesis(recording, load_base().synthesizer).samples
    np.testing.assert_allclose(parts.harmonic.samples + parts.breath.samples, copied, atol=2e-4)
    np.testing.assert_array_equal(parts.whole.samples, parts.harmonic.samples + parts.breath.samples)


def test_take_apart_finds_a_voice_mostly_harmonic(parts):
    assert np.square(parts.harmonic.samples).mean() > 10 * np.square(parts.breath.samples).mean()


def test_take_apart_keeps_the_sung_pitch_only_in_pulses_and_harmonic(parts):
    sung = parts.pitch.voiced
    for sound in (parts.pulses, parts.harmonic):
        heard = detect_pitch(sound.mono(), SAMPLE_RATE)
        both = sung & heard.voiced
        assert both.sum() > 0.8 * sung.sum()
        assert np.abs(heard.semitones - parts.pitch.semitones)[both].mean() < 0.5
    drone = detect_pitch(parts.drone.mono(), SAMPLE_RATE)
    assert np.median(drone.hertz[drone.voiced & sung]) == pytest.approx(DRONE_HERTZ, rel=0.03)
    assert detect_pitch(parts.whisper.mono(), SAMPLE_RATE).voiced[sung].mean() < 0.3


def test_take_apart_returns_gains_for_each_frame_and_band(parts, recording):
    shape = (frame_count(recording.sample_count), BANDS)
    assert parts.harmonic_gain_db.shape == parts.noise_gain_db.shape == shape
    assert len(parts.pitch) == shape[0]


@pytest.mark.parametrize("name", SOUNDS)
def test_take_apart_is_deterministic_with_a_seed(parts, recording, name):
    again, other = take_apart(recording), take_apart(recording, seed=1)
    np.testing.assert_array_equal(getattr(again, name).samples, getattr(parts, name).samples)
    differs = not np.array_equal(getattr(other, name).samples, getattr(parts, name).samples)
    assert differs == (name not in ("pulses", "harmonic"))


def test_take_apart_accepts_silent_stereo_at_8_khz():
    parts = take_apart(Audio(np.zeros((2, 8000), np.float32), 8000))
    assert parts.whole.samples.shape == (1, SAMPLE_RATE)
    assert np.abs(parts.whole.samples).max() < 1e-3
