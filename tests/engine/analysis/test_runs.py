import numpy as np

from engine.analysis.runs import true_runs


def test_true_runs_returns_start_and_end_of_each_run():
    assert true_runs(np.array([1, 1, 0, 1, 0, 0, 1], bool)).tolist() == [[0, 2], [3, 4], [6, 7]]
    assert true_runs(np.zeros(3, bool)).tolist() == []
    assert true_runs(np.ones(2, bool)).tolist() == [[0, 2]]
