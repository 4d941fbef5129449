import numpy as np

from engine.features.speaker_directions import voiced_windows


def test_voiced_windows_cover_what_holds_enough_voice():
    voiced = np.ones(1000, bool)
    voiced[400:700] = False
    starts, stops = voiced_windows(voiced, 200, 50)
    assert (stops - starts == 200).all()
    assert starts.tolist() == [*range(0, 350, 50), *range(600, 801, 50)]
    assert starts.max() + 200 == len(voiced)


def test_voiced_windows_take_a_short_recording_whole_from_a_second_on():
    assert [found.tolist() for found in voiced_windows(np.ones(130, bool), 200, 50)] == [[0], [130]]
    assert [found.tolist() for found in voiced_windows(np.ones(99, bool), 200, 50)] == [[], []]
