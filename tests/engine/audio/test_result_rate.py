"""Results in memory have the rates and the lengths that files have."""

import numpy as np
import pytest

from engine.audio.files import Audio, open_audio, write_audio
from engine.audio.resampling import resample
from engine.audio.result_files import write_result
from engine.audio.result_format import ResultFormat
from engine.audio.result_rate import at_result_rate, rate_of_results
from engine.errors import SettingsError


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
