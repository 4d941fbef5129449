import json

import pytest

from engine.errors import TrainingError
from engine.training_history import (
    HISTORY_FILE,
    Estimate,
    TrainingHistory,
    history_from_json,
    read_history,
    write_history,
)


@pytest.fixture
def history() -> TrainingHistory:
    evaluations = [
        {"epoch": e, "folder": f"{e:06}", "score": s} for e, s in ((0, 0.5), (10, 0.9), (20, 0.9), (30, 0.7))
    ]
    epochs = [{"epoch": e, "steps": 3, "seconds": 1.0, "envelope": 0.5} for e in range(1, 31)]
    return TrainingHistory("training", 100, epochs, evaluations, [{"epoch": 3, "text": "x"}], Estimate(1.0, 2.0, 120.0))


def test_the_best_is_the_earliest_of_the_highest(history):
    assert history.best["epoch"] == 10
    assert history.evaluations_since_best == 2
    assert history.epoch == 30


def test_before_anything_happened_there_is_no_best():
    empty = TrainingHistory()
    assert (empty.best, empty.epoch, empty.evaluations_since_best) == (None, 0, 0)


def test_what_is_written_is_read_again(history, tmp_path):
    write_history(history, tmp_path)
    assert read_history(tmp_path) == history
    assert json.loads((tmp_path / HISTORY_FILE).read_text())["best_epoch"] == 10
    assert [path.name for path in tmp_path.iterdir()] == [HISTORY_FILE]


def test_where_none_was_begun_there_is_none(tmp_path):
    assert read_history(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"state": "training"}', "\x00"])
def test_a_damaged_one_says_so(tmp_path, text):
    (tmp_path / HISTORY_FILE).write_text(text)
    with pytest.raises(TrainingError, match="damaged"):
        read_history(tmp_path)


def test_fields_of_later_versions_are_passed_over(history):
    assert history_from_json(history.as_json() | {"later": 1}) == history
