import numpy as np
import pytest
import soundfile

from engine.analysis.windows import cut_windows
from engine.conversion.convert import convert_file
from engine.features import analysed_windows
from engine.features.analysed_windows import AnalysedWindows
from engine.networks.listener import FEATURES, listen
from engine.units import HOP, SAMPLE_RATE


@pytest.fixture
def windows(sing):
    return list(cut_windows([sing(24.0)[None]], longest_s=9.0, shortest_s=5.0))


@pytest.fixture
def measured(monkeypatch) -> list[int]:
    """The lengths, in samples, of all that is measured."""
    lengths, real = [], analysed_windows.listen
    monkeypatch.setattr(analysed_windows, "listen", lambda ear, mid: (lengths.append(len(mid)), real(ear, mid))[1])
    return lengths


def test_analysed_windows_cover_every_frame(windows, listener):
    analysed = AnalysedWindows(listener).analyse(windows[0])
    assert analysed.mid.shape == windows[0].samples.shape[1:]
    assert len(analysed.pitch) == len(analysed.envelope) == windows[0].frames == len(analysed.mid) // HOP + 1
    assert analysed.features.shape == (windows[0].frames // 2 + 1, FEATURES)
    assert len(analysed.features[windows[0].core_features]) == -(-windows[0].core_stop // 2)
    np.testing.assert_array_equal(analysed.features, listen(listener, analysed.mid))


@pytest.mark.system
def test_analysed_windows_keep_measurements_of_the_first_windows_only(windows, measured, listener):
    assert len(windows) >= 3
    analysed = AnalysedWindows(listener, kept_frames=windows[1].core_stop)
    first = [analysed.analyse(window) for window in windows]
    again = [analysed.analyse(window) for window in windows]
    assert len(measured) == len(windows) + len(windows) - 2
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.pitch.hertz, other.pitch.hertz)
        assert np.array_equal(one.envelope, other.envelope)
        assert np.array_equal(one.features, other.features)
        assert np.array_equal(one.mid, other.mid)


def test_analysed_windows_keep_nothing_by_default(windows, measured, listener):
    analysed = AnalysedWindows(listener)
    analysed.analyse(windows[0])
    analysed.analyse(windows[0])
    assert len(measured) == 2


@pytest.mark.system
def test_convert_file_measures_each_window_once(sing, voice, tmp_path, measured):
    soundfile.write(tmp_path / "song.wav", sing(30.0), SAMPLE_RATE)
    convert_file(tmp_path / "song.wav", [tmp_path / "take.wav"], voice)
    assert len(measured) == len(list(cut_windows([np.zeros((1, 30 * SAMPLE_RATE), np.float32)])))
