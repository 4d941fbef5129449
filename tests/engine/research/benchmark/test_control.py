import numpy as np
import pytest

from engine.analysis.pitch import detect_pitch
from engine.audio.files import Audio, write_audio
from engine.errors import EngineError
from engine.research.benchmark.control import controlled
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


def test_controlled_refuses_too_little_of_the_voice(sing, tmp_path):
    write_audio(tmp_path / "own.wav", Audio(sing(1.0)[None], SAMPLE_RATE))
    with pytest.raises(EngineError, match="shorter than the source"):
        controlled(Audio(sing(2.0)[None], SAMPLE_RATE), [tmp_path / "own.wav"], 0.0)
