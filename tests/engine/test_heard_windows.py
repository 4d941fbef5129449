import numpy as np
import pytest
import soundfile

from engine import heard_windows
from engine.conversion import convert_file
from engine.frames import HOP, SAMPLE_RATE
from engine.heard_windows import HeardWindows
from engine.windows import cut_windows


@pytest.fixture
def windows(sing):
    return list(cut_windows([sing(24.0)[None]], longest_s=9.0, shortest_s=5.0))


@pytest.fixture
def measured(monkeypatch) -> list[int]:
    """The lengths, in samples, of all that is measured."""
    lengths, real = [], heard_windows._measured
    monkeypatch.setattr(heard_windows, "_measured", lambda mid: (lengths.append(len(mid)), real(mid))[1])
    return lengths


def test_what_is_heard_has_a_value_for_every_frame(windows):
    heard = HeardWindows().hear(windows[0])
    assert heard.mid.shape == windows[0].samples.shape[1:]
    assert len(heard.pitch) == len(heard.envelope) == windows[0].frames == len(heard.mid) // HOP + 1


def test_windows_at_the_beginning_are_measured_once_and_later_ones_anew(windows, measured):
    assert len(windows) >= 3
    heard = HeardWindows(kept_frames=windows[1].core_stop)
    first = [heard.hear(window) for window in windows]
    again = [heard.hear(window) for window in windows]
    assert len(measured) == len(windows) + len(windows) - 2
    for one, other in zip(first, again, strict=True):
        assert np.array_equal(one.pitch.hertz, other.pitch.hertz)
        assert np.array_equal(one.envelope, other.envelope)
        assert np.array_equal(one.mid, other.mid)


def test_nothing_is_kept_where_nothing_shall_be(windows, measured):
    heard = HeardWindows()
    heard.hear(windows[0])
    heard.hear(windows[0])
    assert len(measured) == 2


def test_a_conversion_measures_a_recording_once(sing, voice, tmp_path, measured):
    soundfile.write(tmp_path / "song.wav", sing(30.0), SAMPLE_RATE)
    convert_file(tmp_path / "song.wav", [tmp_path / "take.wav"], voice)
    assert len(measured) == len(list(cut_windows([np.zeros((1, 30 * SAMPLE_RATE), np.float32)])))
