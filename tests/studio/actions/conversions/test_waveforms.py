"""Small waveforms of takes."""

import numpy as np
import pytest
import soundfile

from studio.actions.conversions.waveforms import COLUMNS, _outline

RATE = 8000


@pytest.mark.parametrize("seconds", [0.001, 0.5, 60.0])
def test_outline_shows_where_a_recording_is_loud(tmp_path, seconds):
    samples = np.full(max(2, round(seconds * RATE)), 0.5)
    samples[: len(samples) // 2] = 0.05
    soundfile.write(tmp_path / "take.wav", samples, RATE, subtype="PCM_24")
    heights = _outline(tmp_path / "take.wav")
    assert len(heights) == COLUMNS
    assert max(heights) == heights[-1] == 99
    if seconds > 0.1:
        assert set(heights[: COLUMNS // 2]) == {10}
        assert set(heights[COLUMNS // 2 :]) == {99}


def test_outline_of_silence_is_flat_and_that_of_a_missing_file_empty(tmp_path):
    soundfile.write(tmp_path / "take.wav", np.zeros(RATE), RATE)
    assert _outline(tmp_path / "take.wav") == (0,) * COLUMNS
    assert _outline(tmp_path / "gone.wav") == ()
