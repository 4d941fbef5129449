import numpy as np
import pytest

from engine.analysis.pitch import detect_pitch
from engine.audio.files import Audio, write_audio
from engine.errors import EngineError
from engine.research.benchmark.control import controlled, share_of_the_leak, share_of_the_way
from engine.units import SAMPLE_RATE


def test_controlled_has_the_melody_and_the_level_of_the_source(sing, tmp_path):
    source = Audio(0.2 * sing(2.0, 220.0)[None], SAMPLE_RATE)
    write_audio(tmp_path / "own.wav", Audio(sing(3.0, 330.0)[None], SAMPLE_RATE))
    made = controlled(source, [tmp_path / "own.wav"], -3.0)
    assert made.sample_count == source.sample_count
    sung, found = (detect_pitch(audio.samples[0], SAMPLE_RATE) for audio in (source, made))
    both = sung.voiced & found.voiced
    assert both.sum() > 50
    assert np.median(found.semitones[both] - sung.semitones[both]) == pytest.approx(-3.0, abs=0.1)
    assert np.square(made.samples).mean() == pytest.approx(np.square(source.samples).mean(), rel=1e-3)


def test_controlled_begins_again_where_the_voice_has_less_sound_than_the_source(sing, tmp_path):
    write_audio(tmp_path / "own.wav", Audio(sing(1.0)[None], SAMPLE_RATE))
    source = Audio(sing(2.5)[None], SAMPLE_RATE)
    assert controlled(source, [tmp_path / "own.wav"], 0.0).sample_count == source.sample_count


def test_controlled_refuses_a_voice_without_recordings():
    with pytest.raises(EngineError, match="needs recordings"):
        controlled(Audio(np.zeros((1, SAMPLE_RATE), np.float32), SAMPLE_RATE), [], 0.0)


def test_share_of_the_way_runs_from_a_stranger_to_the_control():
    assert share_of_the_way(0.5, 0.5, 0.9) == 0.0
    assert share_of_the_way(0.9, 0.5, 0.9) == 1.0
    assert share_of_the_way(0.7, 0.5, 0.5) is None


def test_share_of_the_leak_runs_from_the_control_to_the_source_itself():
    assert share_of_the_leak(0.6, 0.6) == 0.0
    assert share_of_the_leak(1.0, 0.6) == 1.0
    assert share_of_the_leak(0.7, 0.6) == pytest.approx(0.25)
    assert share_of_the_leak(0.5, 0.6) < 0  # less of the source than in the voice's own sound
