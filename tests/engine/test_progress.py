import pytest

from engine.progress import no_report, within


def test_no_report_accepts_a_fraction_and_a_message():
    no_report(0.5, "half done")


def test_within_covers_a_part_of_another_report():
    reported = []
    part = within(lambda fraction, message: reported.append((fraction, message)), 0.5, 0.9)
    for fraction in (0.0, 0.5, 1.0):
        part(fraction, "half")
    assert reported == [(pytest.approx(one), "half") for one in (0.5, 0.7, 0.9)]
