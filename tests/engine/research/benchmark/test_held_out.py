import numpy as np
import pytest
import soundfile

from engine.audio.files import read_audio
from engine.errors import AudioError
from engine.research.benchmark.held_out import part_recordings

RATE = 8_000


def write(folder, name, seconds, level=0.1):
    """Noise that is different everywhere, so that each sample says where it is from."""
    drawn = np.random.default_rng(len(list(folder.iterdir())))
    path = folder / name
    soundfile.write(path, level * drawn.standard_normal(round(seconds * RATE)), RATE, subtype="FLOAT")
    return path


def total_s(paths):
    return sum(read_audio(path).duration_s for path in paths)


@pytest.fixture
def own(tmp_path):
    folder = tmp_path / "rita"
    folder.mkdir()
    return folder


def test_part_recordings_holds_out_the_last_fifth_of_several(own, tmp_path):
    paths = [write(own, f"{number}.wav", 10.0) for number in range(10)]
    found = part_recordings(paths, tmp_path / "parts")
    assert found.learned == tuple(paths[:8])
    assert total_s(found.held_out) == pytest.approx(20.0)


def test_part_recordings_cuts_a_single_one_and_shares_no_sound(own, tmp_path):
    whole = write(own, "all.wav", 100.0)
    found = part_recordings([whole], tmp_path / "parts")
    parts = [np.concatenate([read_audio(one).mono() for one in paths]) for paths in (found.learned, found.held_out)]
    np.testing.assert_allclose(np.concatenate(parts), read_audio(whole).mono(), atol=1e-6)
    assert len(parts[1]) == pytest.approx(20 * RATE, abs=2)
    assert all(read_audio(path).duration_s <= 12.0 for path in found.held_out)


def test_part_recordings_holds_out_three_minutes_at_most(own, tmp_path):
    found = part_recordings([write(own, "long.wav", 1500.0)], tmp_path / "parts")
    assert total_s(found.held_out) == pytest.approx(180.0)


def test_part_recordings_leaves_out_pauses_and_scraps(own, tmp_path):
    paths = [write(own, "0.wav", 80.0), write(own, "1.wav", 9.0), write(own, "2.wav", 9.0, level=1e-4)]
    paths.append(write(own, "3.wav", 1.5))
    found = part_recordings(paths, tmp_path / "parts")
    # of 99.5 s the last 19.9: 0.4 s at the end of the first are too short to be held out, and to be cut off
    assert total_s(found.held_out) == pytest.approx(9.0)


def test_part_recordings_refuses_too_little_sound_and_writes_nothing(own, tmp_path):
    with pytest.raises(AudioError, match=r"only 20 s of sound in .*rita; at least 30 s"):
        part_recordings([write(own, "short.wav", 20.0)], tmp_path / "parts")
    assert not (tmp_path / "parts").exists()


def test_part_recordings_refuses_where_nothing_that_sounds_is_held_out(own, tmp_path):
    paths = [write(own, "0.wav", 60.0), write(own, "1.wav", 15.0, level=0.0)]
    with pytest.raises(AudioError, match="is silent"):
        part_recordings(paths, tmp_path / "parts")
