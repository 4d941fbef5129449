from pathlib import Path

import numpy as np
import pytest
from scipy import signal

import engine
from engine.analysis.pitch import Pitch
from engine.analysis.recording import analyse
from engine.analysis.voice_presence import SILENT, VoicePresenceMeter
from engine.audio.files import Audio, read_audio
from engine.audio.resampling import resample
from engine.units import SAMPLE_RATE

NO_VOICE, TONES = "No voice was found", "tones that are not a voice"


def noise(seconds=3.0, seed=0):
    return np.random.default_rng(seed).standard_normal(round(seconds * SAMPLE_RATE))


def clicks():
    made = np.zeros(4 * SAMPLE_RATE)
    for start in range(SAMPLE_RATE // 2, len(made) - 200, SAMPLE_RATE // 2):
        made[start : start + 200] = 0.5 * noise(200 / SAMPLE_RATE, start) * np.exp(-np.arange(200) / 40)
    return made


def hum(hertz, hiss=0.0):
    time_s = np.arange(4 * SAMPLE_RATE) / SAMPLE_RATE
    return 0.1 * sum(np.sin(2 * np.pi * hertz * k * time_s + k * k) / k for k in range(1, 10)) + hiss * noise(4.0)


def tones(*hertz):
    time_s = np.arange(4 * SAMPLE_RATE) / SAMPLE_RATE
    return 0.2 * sum(np.sin(2 * np.pi * one * time_s) for one in hertz)


def beeps(hertz):
    made = tones(hertz)
    return made * (np.arange(len(made)) % SAMPLE_RATE < SAMPLE_RATE // 3)


def irregular(hertz, seed, count=12):
    """A hum whose harmonics have any level, as of a transformer."""
    levels = 10 ** (np.random.default_rng(seed).normal(0, 8, count) / 20)
    time_s = np.arange(4 * SAMPLE_RATE) / SAMPLE_RATE
    return sum(level * np.sin(2 * np.pi * hertz * k * time_s) / k for k, level in enumerate(levels, 1))


def organ(hertz):
    time_s = np.arange(4 * SAMPLE_RATE) / SAMPLE_RATE
    return sum(np.sin(2 * np.pi * hertz * k * time_s + k) for k in (1, 2, 3, 4, 6, 8, 10, 12, 16))


def square(hertz):
    return signal.square(2 * np.pi * hertz * np.arange(4 * SAMPLE_RATE) / SAMPLE_RATE)


def vowel(formants, hertz, seconds=4.0):
    """A vowel as of a machine, whose pitch and level stand still."""
    time_s = np.arange(round(seconds * SAMPLE_RATE)) / SAMPLE_RATE
    numbers = np.arange(1, int(8000 / hertz))[:, None]
    at = numbers * hertz
    raised = np.prod([f * f / (f * f - at * at + 1j * width * at) for f, width in formants], axis=0)
    return (np.abs(raised) / numbers * np.sin(2 * np.pi * at * time_s + numbers**2)).sum(0)


def rumble():
    """Noise that falls by 6 dB an octave, as of wind, above 20 Hz."""
    falling = np.cumsum(noise(4.0)) / SAMPLE_RATE
    return signal.sosfilt(signal.butter(2, 20.0, "highpass", fs=SAMPLE_RATE, output="sos"), falling)


def whistled(hertz):
    """A melody of ten notes, each a sine that glides into place, with a little vibrato and breath."""
    time_s = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE
    steps = np.repeat([0.0, 2, 4, 5, 7, 5, 4, 2, 0, 7], round(0.3 * SAMPLE_RATE))
    semitones = signal.lfilter([1 / 2000], [1, 1 / 2000 - 1], steps) + 0.15 * np.sin(2 * np.pi * 5 * time_s)
    edges = np.minimum(time_s % 0.3, -time_s % 0.3) / 0.02
    sung = np.sin(2 * np.pi * np.cumsum(hertz * 2 ** (semitones / 12)) / SAMPLE_RATE) * edges.clip(0, 1)
    return 0.2 * sung + 0.002 * noise(3.0)


def recorded(name):
    audio = read_audio(Path(engine.__file__).parent / "samples" / f"{name}.flac")
    return resample(audio.samples.mean(0), audio.rate, SAMPLE_RATE)


def whispered(samples):
    """The same with noise in place of the voice: its spectrum, smoothed over pitch, with random phases."""
    _, _, spectrum = signal.stft(samples, SAMPLE_RATE, nperseg=2048, noverlap=1536)
    smooth = np.sqrt(signal.convolve2d(np.abs(spectrum) ** 2, np.ones((13, 1)) / 13, "same"))
    phases = np.exp(2j * np.pi * np.random.default_rng(0).random(smooth.shape))
    return signal.istft(smooth * phases, SAMPLE_RATE, nperseg=2048, noverlap=1536)[1]


def presence(samples):
    return analyse(Audio(samples.astype(np.float32)[None], SAMPLE_RATE)).dryness


@pytest.mark.parametrize(
    ("make", "said"),
    [
        *((lambda: np.zeros(2 * SAMPLE_RATE), SILENT), (lambda: 3e-5 * noise(), NO_VOICE)),
        *((lambda: 0.1 * noise(), NO_VOICE), (clicks, NO_VOICE)),
        (lambda: np.eye(1, 2 * SAMPLE_RATE, SAMPLE_RATE)[0], NO_VOICE),
        *((lambda: whispered(recorded("speech")), NO_VOICE), (lambda: hum(50.0), TONES)),
        *((lambda: hum(60.0, 0.01), TONES), (lambda: 0.03 * hum(120.0, 0.01), TONES), (lambda: tones(100.0), TONES)),
        *((lambda: tones(220.0), TONES), (lambda: tones(440.0), TONES), (lambda: tones(1000.0), TONES)),
        *((lambda: tones(350.0, 440.0), TONES), (lambda: tones(261.6, 329.6, 392.0), TONES)),
        *((lambda: beeps(150.0), TONES), (lambda: tones(220.0) + 0.005 * noise(4.0), TONES), (rumble, NO_VOICE)),
        *((lambda: irregular(50.0, 0), TONES), (lambda: irregular(120.0, 1), TONES)),
        *((lambda: irregular(100.0, 2, 40), TONES), (lambda: organ(130.0), TONES), (lambda: square(100.0), TONES)),
        (lambda: hum(100.0, 0.03), TONES),
    ],
    ids=[
        *("silence", "dither", "noise", "clicks", "click", "whisper", "hum 50", "hum 60", "soft hum 120", "sine 100"),
        *("sine 220", "sine 440", "sine 1000", "dial tone", "chord", "beeps", "sine in noise", "rumble"),
        *("transformer 50", "transformer 120", "transformer 100", "organ", "square", "hum in noise"),
    ],
)
def test_voice_presence_warns_of_recordings_without_a_voice(make, said):
    assert said in presence(make()).warning


@pytest.mark.parametrize("hertz", [300.0, 700.0, 1000.0, 1300.0])
def test_voice_presence_takes_a_whistled_melody_for_a_voice(hertz):
    found = presence(whistled(hertz))
    assert found.presence.warning is None
    assert found.presence.voiced_s > 2.0


@pytest.mark.parametrize("hertz", [80.0, 120.0])
@pytest.mark.parametrize("seconds", [2.0, 27.0])
@pytest.mark.parametrize(
    "formants",
    [
        ((730, 90), (1090, 110), (2440, 170), (3400, 250)),
        ((530, 70), (1840, 150), (2480, 200), (3500, 250)),
        ((570, 80), (840, 100), (2410, 170), (3400, 250)),
    ],
    ids=["a", "e", "o"],
)
def test_voice_presence_takes_the_vowel_of_a_machine_for_a_voice(formants, seconds, hertz):
    made = vowel(formants, hertz, seconds)
    assert presence(0.2 * made / np.abs(made).max()).warning is None


@pytest.mark.parametrize("name", ["singing", "speech"])
def test_voice_presence_finds_the_voice_in_short_recordings_too(name):
    samples = recorded(name)
    loudest = int(np.argmax(np.convolve(samples**2, np.ones(SAMPLE_RATE), "valid")))
    for part in (samples, samples[loudest : loudest + SAMPLE_RATE]):
        found = presence(part)
        assert found.presence.warning is None
        assert found.presence.voiced_s > 0.2


def test_voice_presence_meter_counts_runs_and_not_single_frames():
    meter, loudness_db = VoicePresenceMeter(), np.full(100, -20.0)
    voicing = np.zeros(100, np.float32)
    voicing[[3, 10, 11, 12, 30, 50]] = 1.0
    hertz = np.linspace(100, 200, 100).astype(np.float32)
    samples = noise(1.0).astype(np.float32)
    meter.add(samples, Pitch(hertz, voicing), loudness_db)
    assert meter.finish().voiced_s == 0.0
    voicing[60:80] = 1.0
    meter.add(samples, Pitch(hertz, voicing), loudness_db)
    found = meter.finish()
    assert (found.voiced_s, found.are_tones, found.loudest_db) == (0.2, False, -20.0)


@pytest.mark.parametrize(("hertz", "said"), [(41.0, "below F#1"), (3000.0, "above C7")])
def test_voice_presence_leaves_tones_beyond_the_range_to_their_own_warning(hertz, said):
    time_s = np.arange(3 * SAMPLE_RATE) / SAMPLE_RATE
    cycles = hertz * time_s + 0.05 * np.sin(31 * time_s)
    tone = sum(np.sin(2 * np.pi * number * cycles) / number for number in range(1, 9) if number * hertz < 20_000)
    warning = analyse(Audio((0.2 * tone[None]).astype(np.float32), SAMPLE_RATE)).warning
    assert said in warning
    assert "No voice was found" not in warning
