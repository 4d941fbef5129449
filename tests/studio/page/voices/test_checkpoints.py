from itertools import pairwise

import pytest

from studio.page.voices.checkpoints import MOST, side_by_side


def training(count, kept):
    return [{"epoch": 10 * number, "kept": number == kept} for number in range(count)]


@pytest.mark.parametrize(("count", "kept", "epoch"), [(40, 17, 230), (40, 0, 390), (12, 11, None), (200, 100, 1010)])
def test_side_by_side_spreads_many_checkpoints_and_includes_the_important_ones(count, kept, epoch):
    lines = training(count, kept)
    epochs = [line["epoch"] for line in side_by_side(lines, epoch)]
    assert len(epochs) == MOST
    assert epochs == sorted(set(epochs))
    assert {0, 10 * (count - 1), 10 * kept, *([epoch] if epoch is not None else [])} <= set(epochs)
    widest = max(later - earlier for earlier, later in pairwise(epochs))
    assert widest <= 10 * count / 3


@pytest.mark.parametrize("count", [0, 1, 2, MOST])
def test_side_by_side_returns_all_of_a_few_checkpoints(count):
    lines = training(count, 0)
    assert side_by_side(lines, None) == lines
