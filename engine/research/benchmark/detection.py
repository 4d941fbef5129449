"""What the analysis hears: `python -m engine.benchmark detection --vocals FOLDER ...`.

Each vocal is analysed as it is, 42 dB softer, its loudest 0.7 s alone, and as a whisper: its spectrum, smoothed over
pitch, with random phases. Prints how many are said to hold no voice, and which share of the frames stays voiced when
softer. Then what is said of sounds without a voice.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
from scipy import signal

from engine.analysis.recording import analyse
from engine.audio.files import Audio, read_audio
from engine.audio.resampling import resample
from engine.research.benchmark.dryness import draw
from engine.research.tables import table
from engine.units import SAMPLE_RATE

_WHOLE, _SOFTER = "as it is", "42 dB softer"
_SOFTER_DB, _SHORT_S, _SOUND_S = 42.0, 0.7, 4.0
_NOISES_DB = (-60, -40, -20)


@dataclass(frozen=True)
class Detected:
    """What was heard in a recording: voiced frames, and what is said where there is no voice."""

    name: str
    condition: str
    voiced: int
    said: str


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add which vocals are drawn."""
    parser.add_argument("--vocals", nargs="+", type=Path, required=True, help="folders of dry vocals")
    parser.add_argument("--count", type=int, default=100, help="vocals to draw, evenly over the folders (default: 100)")
    parser.add_argument("--json", action="store_true")


def run(options: argparse.Namespace) -> Iterator[str]:
    """Yield two tables, or JSON."""
    vocals = [heard for path in draw(options.vocals, options.count) for heard in detect_vocal(path)]
    sounds = [detect(name, "made", samples) for name, samples in sounds_without_a_voice()]
    yield json.dumps([asdict(one) for one in (*vocals, *sounds)]) if options.json else tables(vocals, sounds)


def detect_vocal(path: Path) -> Iterator[Detected]:
    """Analyse a vocal in each condition."""
    audio = read_audio(path)
    samples = resample(audio.mono(), audio.rate, SAMPLE_RATE)
    samples /= np.abs(samples).max() + 1e-9
    length = round(_SHORT_S * SAMPLE_RATE)
    energy = np.cumsum(np.square(samples, dtype=np.float64))
    loudest = int(np.argmax(energy[length:] - energy[:-length]))
    detect_it = partial(detect, path.name)
    yield detect_it(_WHOLE, samples)
    yield detect_it(_SOFTER, samples * 10 ** (-_SOFTER_DB / 20))
    yield detect_it("0.7 s of it", samples[loudest : loudest + length])
    yield detect_it("whispered", _whispered(samples))


def detect(name: str, condition: str, samples: np.ndarray) -> Detected:
    """Analyse samples (samples,) at SAMPLE_RATE."""
    found = analyse(Audio(samples[None].astype(np.float32), SAMPLE_RATE))
    return Detected(name, condition, int(found.pitch.voiced.sum()), found.dryness.presence.warning or "")


def sounds_without_a_voice() -> Iterator[tuple[str, np.ndarray]]:
    """Yield sounds in which there is no voice, (samples,) at SAMPLE_RATE, with their names."""
    drawn, count = np.random.default_rng(0), round(_SOUND_S * SAMPLE_RATE)
    time_s = np.arange(count) / SAMPLE_RATE
    white, pink, brown = (_coloured(drawn, count, power) for power in (0.0, 0.5, 1.0))
    yield "dither of 16 bits", (drawn.random(count) - drawn.random(count)) / 2**15
    for level_db in _NOISES_DB:
        for name, noise in (("white noise", white), ("pink noise", pink), ("rumble", brown)):
            yield f"{name}, {level_db} dB", noise * 10 ** (level_db / 20)
    yield "gusts", 0.1 * brown * (1 + np.sin(2 * np.pi * 0.7 * time_s))
    yield "rain", 0.3 * signal.lfilter([1.0], [1.0, -0.9], (drawn.random(count) < 0.002) * drawn.standard_normal(count))
    yield "clicks", (time_s % 0.5 < 1e-4) * 0.5
    yield "one click", (np.arange(count) == count // 2) * 0.5
    for hertz in (50, 60, 100, 120):
        numbers = np.arange(1, 10)[:, None]
        hum = 0.1 * (np.sin(2 * np.pi * numbers * hertz * time_s + numbers**2) / numbers).sum(0)
        yield f"hum of {hertz} Hz", hum
        yield f"hum of {hertz} Hz with noise", hum + 0.01 * white
    for notes in ((100,), (220,), (440,), (1000,), (350, 440), (262, 330, 392)):
        tone = 0.2 * np.sin(2 * np.pi * np.array(notes)[:, None] * time_s).sum(0)
        yield f"{' + '.join(map(str, notes))} Hz", tone
    yield "beeps of 440 Hz", 0.2 * np.sin(2 * np.pi * 440 * time_s) * (time_s % 0.5 < 0.25)


def tables(vocals: Sequence[Detected], sounds: Sequence[Detected]) -> str:
    """Format both tables."""
    counted: dict[str, list[Detected]] = {}
    for one in vocals:
        counted.setdefault(one.condition, []).append(one)
    found = [[name, str(len(these)), str(sum(bool(one.said) for one in these))] for name, these in counted.items()]
    pairs = zip(counted[_SOFTER], counted[_WHOLE], strict=True)
    shares = [softer.voiced / whole.voiced for softer, whole in pairs if whole.voiced]
    said = [[one.name, one.said.partition(":")[0] or "nothing"] for one in sounds]
    return (
        f"{table(['vocals', 'count', 'no voice'], found)}\n\n"
        f"voiced frames {_SOFTER}: {np.mean(shares):.3f} of those as it is, {np.min(shares):.3f} at worst\n\n"
        f"{table(['sounds', 'what is said'], said)}"
    )


def _coloured(drawn: np.random.Generator, count: int, power: float) -> np.ndarray:
    """Return noise whose spectrum falls with a power of the frequency above 20 Hz, root mean square 1."""
    hertz = np.fft.rfftfreq(count, 1 / SAMPLE_RATE)
    spectrum = np.fft.rfft(drawn.standard_normal(count)) * np.where(hertz < 20, 0, np.maximum(hertz, 1) ** -power)
    noise = np.fft.irfft(spectrum, count)
    return noise / np.sqrt(np.square(noise).mean())


def _whispered(samples: np.ndarray) -> np.ndarray:
    _, _, spectrum = signal.stft(samples, SAMPLE_RATE, nperseg=2048, noverlap=1536)
    smooth = np.sqrt(signal.convolve2d(np.abs(spectrum) ** 2, np.ones((13, 1)) / 13, "same"))
    phases = np.exp(2j * np.pi * np.random.default_rng(0).random(smooth.shape))
    whispered: np.ndarray = signal.istft(smooth * phases, SAMPLE_RATE, nperseg=2048, noverlap=1536)[1]
    return whispered
