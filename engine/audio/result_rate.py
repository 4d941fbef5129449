"""What was rendered, in memory, at the rate that is wanted."""

from dataclasses import replace

import numpy as np

from engine.audio.files import Audio
from engine.audio.resampling import resample, resampled_length
from engine.audio.result_format import ResultFormat
from engine.units import SAMPLE_RATE


def rate_of_results(rate: int | str, recording: Audio) -> int:
    """Return the rate in hertz that results in memory have, as files do. Raises SettingsError for another word.

    >>> rate_of_results("source", Audio(np.zeros(9), 96_000)), rate_of_results(48000, Audio(np.zeros(9), 44_100))
    (96000, 48000)
    """
    return ResultFormat(rate=str(rate)).rate_for(recording.rate, "")


def at_result_rate(rendered: Audio, rate: int, recording: Audio) -> Audio:
    """Return what was rendered from a recording at another rate: at that of the recording, with as many samples as it.

    >>> recording = Audio(np.zeros(48_001), 48_000)
    >>> at_result_rate(Audio(np.zeros(44_101), 44_100), 48_000, recording).sample_count
    48001
    """
    if rate == rendered.rate:
        return rendered
    samples = resample(rendered.samples, rendered.rate, rate)
    count = recording.sample_count
    if rate == recording.rate and rendered.sample_count == resampled_length(count, rate, SAMPLE_RATE):
        samples = np.pad(samples[:, :count], ((0, 0), (0, max(0, count - samples.shape[1]))))  # rates round
    return replace(rendered, samples=samples, rate=rate, place=rendered.place and rendered.place.at(rate))
