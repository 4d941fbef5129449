import json

import pytest

from engine.errors import TrainingError
from engine.training.history import (
    HISTORY_FILE,
    TRAINING_FORMAT,
    Estimate,
    TrainingEvent,
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
    return TrainingHistory("training", 100, epochs, evaluations, [TrainingEvent(3, "x")], Estimate(1.0, 2.0, 120.0))


def test_training_history_best_is_the_earliest_of_equal_highest_scores(history):
    assert history.best["epoch"] == 10
    assert history.evaluations_since_best == 2
    assert history.epoch == 30


def test_training_history_has_no_best_while_empty():
    empty = TrainingHistory()
    assert (empty.best, empty.epoch, empty.evaluations_since_best) == (None, 0, 0)


def test_read_history_returns_the_written_history(history, tmp_path):
    write_history(history, tmp_path)
    assert read_history(tmp_path) == history
    assert json.loads((tmp_path / HISTORY_FILE).read_text())["best_epoch"] == 10
    assert [path.name for path in tmp_path.iterdir()] == [HISTORY_FILE]


def test_read_history_returns_none_if_no_training_was_begun(tmp_path):
    assert read_history(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"state": "training"}', "\x00"])
def test_read_history_refuses_a_damaged_file(tmp_path, text):
    (tmp_path / HISTORY_FILE).write_text(text)
    with pytest.raises(TrainingError, match="damaged"):
        read_history(tmp_path)


def test_history_from_json_ignores_fields_of_later_versions(history):
    assert history_from_json(history.as_json() | {"later": 1}) == history


def test_estimate_seconds_of_scales_to_other_numbers_of_epochs():
    estimate = Estimate(epoch_s=2.0, evaluation_s=5.0, total_s=0.0, epochs_apart=10)
    assert estimate.seconds_of(10) == 10 * 2.0 + 2 * 5.0
    assert estimate.seconds_of(20, evaluate_epochs=4) == 20 * 2.0 + 6 * 5.0
    assert estimate.seconds_of(1000) < 1000 * 2.0 + 101 * 5.0  # later it is judged more rarely


def test_history_from_json_reads_an_estimate_without_epochs_apart():
    values = TrainingHistory().as_json() | {"estimate": {"epoch_s": 1.0, "evaluation_s": 2.0, "total_s": 3.0}}
    assert history_from_json(values).estimate.seconds_of(4) == 4 * 1.0 + 5 * 2.0


def test_read_history_returns_none_for_an_earlier_format(history, tmp_path):
    write_history(history, tmp_path)
    values = json.loads((tmp_path / HISTORY_FILE).read_text())
    assert values["format"] == TRAINING_FORMAT
    for earlier in (values | {"format": TRAINING_FORMAT - 1}, {k: v for k, v in values.items() if k != "format"}):
        (tmp_path / HISTORY_FILE).write_text(json.dumps(earlier))
        assert read_history(tmp_path) is None
