"""What a result's form may be."""

import pytest

from engine.audio.result_format import ResultFormat
from engine.errors import SettingsError


def test_result_format_refuses_other_words():
    with pytest.raises(SettingsError, match="rate must be one of source, 44100, 48000, not 22050"):
        ResultFormat("22050")
    with pytest.raises(SettingsError, match="bits must be one of 24, 16, 32, not 20"):
        ResultFormat(bits="20")


@pytest.mark.parametrize(
    ("recording", "suffix", "rate"),
    [
        *((8000, ".wav", 44_100), (48_000, ".flac", 48_000), (192_000, ".WAV", 192_000), (96_000, ".MP3", 48_000)),
        *((192_000, ".m4a", 96_000), (44_056, ".mp3", 44_100)),
    ],
)
def test_rate_for_gives_the_recordings_rate_as_far_as_the_format_holds_it(recording, suffix, rate):
    assert ResultFormat().rate_for(recording, suffix) == rate
    assert ResultFormat("48000").rate_for(recording, suffix) == 48_000
