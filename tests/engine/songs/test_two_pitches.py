import numpy as np

from engine.songs.two_pitches import find_two_pitches
from tests.engine.songs.conftest import save


def test_find_two_pitches_finds_none_for_one_singer(sing, tmp_path):
    found = find_two_pitches(save(tmp_path / "one.wav", sing(8.0)))
    assert (found.stretches_s, found.sentence) == ([], "")


def test_find_two_pitches_reports_a_harmony_where_it_sounds(sing, tmp_path):
    lead, harmony = sing(12.0), 0.5 * sing(12.0, hertz=180.0 * 2 ** (4 / 12))  # a third above, at -6 dB
    harmony[: 44_100 * 6] = 0.0
    found = find_two_pitches(save(tmp_path / "two.wav", lead + harmony))
    assert min(start for start, _ in found.stretches_s) >= 5.7
    assert 0.2 < found.share < 0.6
    assert found.sentence.startswith("Two pitches sound at once at 0:0")


def test_find_two_pitches_finds_none_in_silence_or_less_than_a_frame(tmp_path):
    for count in (100, 44_100):
        assert not find_two_pitches(save(tmp_path / "x.wav", np.zeros(count, np.float32))).stretches_s
