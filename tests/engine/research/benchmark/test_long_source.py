import numpy as np
import pytest
import soundfile

from engine.audio.files import read_audio
from engine.errors import AudioError
from engine.research.benchmark.long_source import joined_recordings, write_long_source
from engine.research.benchmark.recordings import SAMPLES
from engine.units import SAMPLE_RATE


@pytest.fixture
def recordings(tmp_path):
    """Two tones of 1 and 0.5 s, the second at another rate."""
    for name, rate, seconds, hertz in (("a", SAMPLE_RATE, 1.0, 200.0), ("b", 22_050, 0.5, 300.0)):
        times = np.arange(round(seconds * rate)) / rate
        soundfile.write(tmp_path / f"{name}.wav", 0.5 * np.sin(2 * np.pi * hertz * times), rate)
    return joined_recordings(tmp_path)


def level_db(samples) -> float:
    return 20 * float(np.log10(np.sqrt(np.mean(np.square(samples)))))


@pytest.mark.parametrize("seconds", [0.5, 3.2, 7.013])
@pytest.mark.parametrize("channels", [1, 2])
def test_long_source_has_exactly_the_length_and_channels(recordings, tmp_path, seconds, channels):
    write_long_source(recordings, tmp_path / "long.wav", seconds, channels)
    made = read_audio(tmp_path / "long.wav")
    assert (made.sample_count, made.channels, made.rate) == (round(seconds * SAMPLE_RATE), channels, SAMPLE_RATE)


def test_long_source_joins_recordings_again_and_again_with_pauses(recordings, tmp_path):
    write_long_source(recordings, tmp_path / "long.wav", 6.0)
    samples = read_audio(tmp_path / "long.wav").samples[0]
    # 1 s, a pause of 0.7, 0.5, a pause of 0.7, and again
    sung, pauses = [(0.0, 1.0), (1.7, 2.2), (2.9, 3.9), (4.6, 5.1)], [(1.0, 1.7), (2.2, 2.9), (3.9, 4.6), (5.1, 5.8)]
    for start, stop in sung:
        assert level_db(samples[round((start + 0.05) * SAMPLE_RATE) : round((stop - 0.05) * SAMPLE_RATE)]) > -10
    for start, stop in pauses:
        quiet = samples[round((start + 0.05) * SAMPLE_RATE) : round((stop - 0.05) * SAMPLE_RATE)]
        assert level_db(quiet) == pytest.approx(-60, abs=1.5)


def test_long_source_in_stereo_is_one_voice_with_two_microphones(recordings, tmp_path):
    write_long_source(recordings, tmp_path / "long.wav", 3.0, 2)
    left, right = read_audio(tmp_path / "long.wav").samples
    voice = left[2000 : SAMPLE_RATE - 2000]
    for later in (0, 13, 26):
        shifted = right[2000 + later : SAMPLE_RATE - 2000 + later]
        error_db = level_db(shifted - voice * 10 ** (-3 / 20)) - level_db(shifted)
        assert (error_db < -40) == (later == 13)
    assert abs(np.corrcoef(left[46_000:70_000], right[46_000:70_000])[0, 1]) < 0.05  # a pause


def test_long_source_is_the_same_each_time(recordings, tmp_path):
    for name in ("one", "two"):
        write_long_source(recordings, tmp_path / f"{name}.wav", 2.0, 2)
    assert (tmp_path / "one.wav").read_bytes() == (tmp_path / "two.wav").read_bytes()


def test_joined_recordings_are_those_of_a_folder_or_all_of_our_samples(tmp_path):
    with pytest.raises(AudioError, match="no recording"):
        joined_recordings(tmp_path)
    assert {path.stem for path in joined_recordings(SAMPLES)} >= {"singing", "speech", "singing-high", "speech-low"}
