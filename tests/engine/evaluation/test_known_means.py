from dataclasses import dataclass

from engine.evaluation.known_means import known_means


@dataclass(frozen=True)
class Measured:
    high: float | None
    low: float | None


def test_what_a_row_has_not_is_left_out_of_its_mean():
    rows = (row for row in [Measured(1.0, None), Measured(3.0, 5.0)])
    assert known_means(Measured, rows) == {"high": 2.0, "low": 5.0}


def test_what_none_has_has_no_mean():
    assert known_means(Measured, [Measured(1.0, None)]) == {"high": 1.0, "low": None}
    assert known_means(Measured, []) == {"high": None, "low": None}
