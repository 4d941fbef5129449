from engine.progress import no_report


def test_no_report_takes_what_a_report_takes():
    no_report(0.5, "half done")
