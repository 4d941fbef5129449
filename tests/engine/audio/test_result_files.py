"""Results in the rate and with the bits that were asked for."""

from pathlib import Path

import numpy as np
import pytest
import soundfile

from engine.audio.files import Audio, AudioWriter, open_audio, read_audio, write_audio
from engine.audio.resampling import resample, resampled_length
from engine.audio.result_files import at_result_rate, rate_of_results, write_result
from engine.audio.result_format import ResultFormat
from engine.audio.written_formats import Dither
from engine.errors import SettingsError

RATE = 44_100


def tone(rate: int, count: int) -> np.ndarray:
    """440 Hz, float32 (1, count)."""
    return (0.25 * np.sin(2 * np.pi * 440 * np.arange(count) / rate)).astype(np.float32)[None]


def saved(path: Path, rate: int, count: int) -> Path:
    with AudioWriter(path, rate, 1) as writer:
        writer.write(tone(rate, count))
    return path


@pytest.mark.parametrize("rate", [48_000, 96_000, 88_200, 8_000, 44_056])
@pytest.mark.parametrize("extra", [0, 1, 2, 3])
def test_write_result_gives_a_recording_its_rate_and_its_samples_back(tmp_path, rate, extra):
    count = rate // 2 + extra
    recording = saved(tmp_path / "recording.wav", rate, count)
    rendered = saved(tmp_path / "rendered.wav", RATE, resampled_length(count, rate, RATE))
    assert write_result(rendered, tmp_path / "result.wav", ResultFormat(), recording) is None
    made = read_audio(tmp_path / "result.wav")
    assert made.rate == max(rate, RATE)
    if rate >= RATE:
        assert made.sample_count == count
        inside = slice(2000, -2000)  # what filters know of both sides
        np.testing.assert_allclose(made.samples[:, inside], tone(rate, count)[:, inside], atol=1e-3)


def test_write_result_keeps_what_is_longer_than_the_recording(tmp_path):
    recording = saved(tmp_path / "vocal.wav", 48_000, 48_000)
    mix = saved(tmp_path / "mix.wav", RATE, 2 * RATE)
    write_result(mix, tmp_path / "result.wav", ResultFormat(), recording)
    assert read_audio(tmp_path / "result.wav").samples.shape == (1, 96_000)


@pytest.mark.parametrize(("asked", "suffix", "rate"), [("44100", ".wav", 44_100), ("source", ".mp3", 48_000)])
def test_result_format_takes_the_rate_asked_for_or_the_highest_that_the_format_holds(tmp_path, asked, suffix, rate):
    recording = saved(tmp_path / "recording.wav", 96_000, 9600)
    rendered = saved(tmp_path / "rendered.wav", RATE, 4410)
    write_result(rendered, tmp_path / f"result{suffix}", ResultFormat(asked), recording)
    assert read_audio(tmp_path / f"result{suffix}").rate == rate


@pytest.mark.parametrize("suffix", [".wav", ".flac", ".aiff"])
@pytest.mark.parametrize("bits", ["16", "24"])
def test_write_result_writes_the_bits_asked_for(tmp_path, suffix, bits):
    rendered = saved(tmp_path / "rendered.wav", RATE, 9001)
    target = tmp_path / f"result{suffix}"
    write_result(rendered, target, ResultFormat(bits=bits), rendered)
    assert soundfile.info(target).subtype == f"PCM_{bits}"
    made, step = read_audio(target).samples, 2.0 ** (1 - int(bits))
    error = made - read_audio(rendered).samples
    assert made.shape == (1, 9001)
    assert np.abs(error).max() <= (1.5 * step if bits == "16" else 0)


def test_dither_makes_the_error_of_a_quiet_tone_independent_of_it():
    quiet = 0.4 * 2.0**-15 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)[None].astype(np.float32)
    assert not np.rint(quiet * 2**15).any()  # without dither it is lost
    kept = Dither().apply(quiet)
    assert float((kept[0] * quiet[0]).sum() / (quiet[0] ** 2).sum()) == pytest.approx(1.0, abs=0.1)


def test_dither_keeps_full_scale_from_wrapping(tmp_path):
    with AudioWriter(tmp_path / "loud.wav", RATE, 1, bits=16) as writer:
        writer.write(np.array([[1.0, -1.0, 2.0, -2.0]] * 1, np.float32))
    np.testing.assert_allclose(read_audio(tmp_path / "loud.wav").samples, [[1.0, -1.0, 1.0, -1.0]], atol=1e-4)


@pytest.mark.parametrize(("suffix", "subtype"), [(".wav", "FLOAT"), (".aiff", "FLOAT"), (".flac", "PCM_24")])
def test_write_result_gives_floats_the_level_of_a_recording_above_full_scale(tmp_path, suffix, subtype):
    rendered = saved(tmp_path / "rendered.wav", RATE, 9001)
    target = tmp_path / f"result{suffix}"
    write_result(rendered, target, ResultFormat(bits="32"), rendered, lowered_db=20.0)
    assert soundfile.info(target).subtype == subtype
    made = read_audio(target).samples
    np.testing.assert_allclose(made, (10.0 if subtype == "FLOAT" else 1.0) * read_audio(rendered).samples, rtol=1e-5)
    assert soundfile.info(target).frames == 9001


@pytest.mark.parametrize("rate", [8_000, 44_100, 48_000, 96_000])
@pytest.mark.parametrize("wanted", ["source", "44100", "48000"])
@pytest.mark.parametrize("count", [4_001, 4_800])
def test_results_in_memory_are_as_those_in_files(tmp_path, rate, wanted, count):
    recording = Audio(np.random.default_rng(0).uniform(-0.5, 0.5, (2, count)), rate)
    rendered = Audio(resample(recording.samples, rate, 44_100), 44_100)
    write_audio(tmp_path / "recording.wav", recording)
    write_audio(tmp_path / "rendered.wav", rendered)
    write_result(tmp_path / "rendered.wav", tmp_path / "result.wav", ResultFormat(wanted), tmp_path / "recording.wav")
    made = at_result_rate(rendered, rate_of_results(wanted, recording), recording)
    with open_audio(tmp_path / "result.wav") as file:
        assert (made.rate, made.samples.shape) == (file.rate, (file.channels, file.sample_count))
        assert made.samples == pytest.approx(np.concatenate(list(file.blocks()), 1), abs=1e-5)


@pytest.mark.parametrize("rate", [22050, "fast", 44_100.5, None])
def test_rate_of_results_refuses_other_rates(rate):
    with pytest.raises(SettingsError, match="rate must be one of source, 44100, 48000"):
        rate_of_results(rate, Audio(np.zeros(9), 44_100))
