import numpy as np
import pytest

from engine.datasets.other_speakers import FEWEST_RECORDINGS, find_other_speakers


def people(counts: list[int], spread: float = 0.15, seed: int = 0) -> np.ndarray:
    """Timbres of several people, so many recordings each; two people are at right angles or nearly so."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((len(counts), 128))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    found = np.repeat(centres, counts, axis=0)
    return 5 * (found + spread * random.standard_normal(found.shape) / np.sqrt(128))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spread", [0.05, 0.2, 0.5])
def test_find_other_speakers_marks_nothing_for_a_single_speaker(seed, spread):
    assert not find_other_speakers(people([12], spread, seed)).any()


@pytest.mark.parametrize("counts", [[10, 1], [10, 3], [3, 1], [200, 1], [30, 1, 1, 1]])
def test_find_other_speakers_marks_the_minority(counts):
    found = find_other_speakers(people(counts))
    assert found.tolist() == [False] * counts[0] + [True] * sum(counts[1:])


def test_find_other_speakers_does_not_depend_on_the_order():
    timbres = people([9, 2])
    order = np.random.default_rng(0).permutation(11)
    np.testing.assert_array_equal(find_other_speakers(timbres[order]), find_other_speakers(timbres)[order])


@pytest.mark.parametrize(("alike", "other"), [(0.5, True), (0.7, True), (0.9, False)])
def test_find_other_speakers_marks_low_but_not_high_similarity(alike, other):
    timbres = np.zeros((8, 128))
    timbres[:, 0] = 3.0
    timbres[-1, :2] = alike, np.sqrt(1 - alike**2)
    assert find_other_speakers(timbres).tolist() == [False] * 7 + [other]


def test_find_other_speakers_leaves_a_slightly_different_timbre_unmarked():
    timbres = people([10], 0.4)
    timbres[-1] = 0.6 * timbres[-1] + 0.4 * timbres[0]
    assert not find_other_speakers(timbres).any()


@pytest.mark.parametrize("count", range(FEWEST_RECORDINGS))
def test_find_other_speakers_marks_nothing_below_fewest_recordings(count):
    assert find_other_speakers(people([1] * FEWEST_RECORDINGS)[:count]).tolist() == [False] * count
