from engine.datasets.findings import Finding
from engine.datasets.report import DataReport, RecordingReport
from studio.commands.report_text import report_lines


def test_report_lines_write_out_each_remedy_once():
    clipped = Finding("clipping", "warn", "It is clipped.", "Record it again, softer.")
    recordings = tuple(RecordingReport(f"{n}.wav", "", "warn", (clipped,), duration_s=30.0) for n in range(3))
    report = DataReport(
        "warn", (), recordings, 90.0, 60.0, 80.0, {}, None, None, None, None, None, None, None, None, None, None, None
    )
    lines = list(report_lines(report))
    assert lines[0] == "note  3 recordings, 90 seconds, of which 80 seconds can be used for training"
    assert sum("It is clipped." in line for line in lines) == 3
    assert sum("softer" in line for line in lines) == 1
