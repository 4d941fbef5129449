"""Every container and encoding: length, level and pitch; time stamps, chains, padding, and what is refused."""

import io
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.analysis.pitch import detect_pitch
from engine.audio.files import open_audio, read_audio
from engine.errors import AudioError
from tests.engine.audio.encoded import KINDS, Kind, tone, with_ffmpeg, with_sndfile

HERTZ = 220.0


def read(folder: Path, content: bytes, name: str = "recording") -> np.ndarray:
    path = folder / name
    path.write_bytes(content)
    return read_audio(path).samples


def refusal(folder: Path, content: bytes, name: str = "recording") -> str:
    """The sentence with which a file is refused."""
    with pytest.raises(AudioError) as caught:
        read(folder, content, name)
    sentence = str(caught.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


def level_db(samples: np.ndarray) -> float:
    return float(10 * np.log10(np.mean(samples.astype(np.float64) ** 2) + 1e-20))


# ---- every container ----


def check(folder: Path, kind: Kind, channels: int, rate: int, count: int, gain_db: float) -> None:
    """Encode a tone, read it, and compare length, level and pitch."""
    samples = np.clip(10 ** (gain_db / 20) * tone(count, rate, channels, HERTZ), -1, 1)
    path = folder / "recording"
    path.write_bytes(kind.write(samples, rate))
    audio = read_audio(path)
    ratio = (kind.read_rate or rate) / rate
    assert (audio.rate, audio.channels) == (kind.read_rate or rate, channels)
    assert -kind.shorter <= audio.sample_count - round(count * ratio) <= kind.longer
    if kind.step is not None:
        assert np.abs(audio.samples[:, :count] - samples).max() <= kind.step
    inside = slice(audio.sample_count // 4, audio.sample_count // 4 * 3)
    expected_db = level_db(samples[0, count // 4 : count // 4 * 3])
    if kind.step is None and expected_db > kind.floor_db:
        assert level_db(audio.samples[0, inside]) == pytest.approx(expected_db, abs=kind.level_db)
    quantised_db = kind.floor_db if kind.step is None else 20 * np.log10(kind.step) + 20
    if expected_db > quantised_db:
        loud = audio.samples[0] * (0.25 / np.abs(audio.samples[0]).max())
        pitch = detect_pitch(loud, audio.rate)
        voiced = pitch.hertz[pitch.voiced]
        assert len(voiced) > len(pitch) / 2
        assert abs(1200 * np.log2(np.median(voiced) / HERTZ)) < 50


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    kind=st.sampled_from(KINDS), channels=st.integers(1, 8), rate=st.integers(0, 99),
    milliseconds=st.integers(400, 900), gain_db=st.floats(-60, 12),
)  # fmt: skip
def test_read_audio_keeps_length_level_and_pitch_of_any_recording(
    tmp_path_factory: pytest.TempPathFactory, kind: Kind, channels: int, rate: int, milliseconds: int, gain_db: float
) -> None:
    hertz = kind.rates[rate % len(kind.rates)]
    count = milliseconds * hertz // 1000 + 1
    check(tmp_path_factory.getbasetemp(), kind, min(channels, kind.channels), hertz, count, gain_db)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_read_audio_keeps_length_level_and_pitch_at_every_rate_and_gain(tmp_path: Path, kind: Kind) -> None:
    for channels in range(1, kind.channels + 1):
        for rate in kind.rates:
            for gain_db in (-60.0, -30.0, 0.0, 12.0):
                check(tmp_path, kind, channels, rate, rate // 2 + 7, gain_db)
