import numpy as np
import pytest

from engine.conversion.playback_speed import Speed
from engine.units import FRAME_RATE, HOP, SAMPLE_RATE

FRAMES = 200


def varying(semitones: float) -> np.ndarray:
    """A speed that glides to another one and back."""
    frame = np.arange(FRAMES)
    share = np.clip(np.minimum(frame - 60, 140 - frame) / 5, 0, 1)
    return 2.0 ** (semitones * share / 12)


def rendered(speed: Speed, hertz: np.ndarray, rate: int) -> np.ndarray:
    """A sine of a pitch for each rendered frame."""
    slowed = speed.slowed_pitch(hertz).astype(np.float64)
    times = np.arange(round(speed.frames / FRAME_RATE * rate)) / rate * FRAME_RATE
    pitch = slowed[times.astype(int).clip(max=len(slowed) - 1)]
    return np.sin(2 * np.pi * np.cumsum(pitch) / rate).astype(np.float32)


@pytest.mark.parametrize("rate", [32_000, 40_000, 48_000])
@pytest.mark.parametrize("semitones", [-6.0, -1.0, 6.0])
def test_played_has_the_pitch_that_was_slowed_for_it_and_the_wanted_length(semitones, rate):
    speed, hertz = Speed(varying(semitones)), np.full(FRAMES, 440.0)
    assert speed.frames == pytest.approx(varying(semitones).sum(), abs=1)
    played = speed.played(rendered(speed, hertz, rate), rate)
    assert played.shape == (FRAMES * HOP,)
    assert played.dtype == np.float32
    inner = played[10 * HOP : -10 * HOP].astype(np.float64)
    crossings = np.flatnonzero((inner[:-1] < 0) & (inner[1:] >= 0))
    exact = crossings - inner[crossings] / (inner[crossings + 1] - inner[crossings])
    periods_s = np.diff(exact) / SAMPLE_RATE
    steady = np.abs(1200 * np.log2(periods_s * 440.0))
    assert np.median(steady) < 2
    assert steady.max() < 1200 * abs(np.diff(np.log2(varying(semitones)))).max() + 2  # within the frames of the glide


def test_played_at_a_constant_speed_of_one_is_what_was_rendered():
    speed = Speed(np.ones(FRAMES))
    samples = rendered(speed, np.full(FRAMES, 1000.0), SAMPLE_RATE)
    played = speed.played(samples, SAMPLE_RATE)
    inner = slice(20 * HOP, -20 * HOP)
    assert np.abs(played[inner] - samples[: len(played)][inner]).max() < 1e-3


def test_played_makes_no_frequencies_of_those_that_leave_the_range():
    """18 kHz an octave higher would be 36 kHz, which must not be folded to 8.1 kHz."""
    speed = Speed(np.full(FRAMES, 2.0))
    times_s = np.arange(2 * FRAMES * HOP) / SAMPLE_RATE
    played = speed.played(np.sin(2 * np.pi * 18_000 * times_s).astype(np.float32), SAMPLE_RATE)
    assert np.abs(played[20 * HOP : -20 * HOP]).max() < 1e-3


def test_slowed_gives_each_rendered_frame_what_it_will_be():
    speed = Speed(varying(6.0))
    rows = np.arange(FRAMES, dtype=np.float64)[:, None]
    slowed = speed.slowed(rows)[:, 0]
    assert len(slowed) == speed.frames
    assert (np.diff(slowed) >= 0).all()
    np.testing.assert_allclose(slowed[:60], np.arange(60), atol=1e-6)
    assert slowed[-1] == pytest.approx(FRAMES - 1, abs=1)
