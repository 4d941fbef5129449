from engine.progress import no_report


def test_no_report_accepts_a_fraction_and_a_message():
    no_report(0.5, "half done")
