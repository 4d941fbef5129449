from dataclasses import replace

from engine.datasets.findings import Finding
from engine.datasets.left_out import NOT_AUDIO, LeftOut
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


def test_report_lines_list_what_was_left_out_with_the_reason():
    report = DataReport(
        *("pass", (), (), 0.0, 0.0, 0.0, {}, None, None, None, None, None, None, None, None, None, None, None),
        (LeftOut("notes.txt", NOT_AUDIO),),
    )
    assert list(report_lines(report))[1:] == ["note  notes.txt: This file is left out, since it is not audio."]
    many = replace(report, left_out=tuple(LeftOut(f"{number}.txt", NOT_AUDIO) for number in range(25)))
    assert list(report_lines(many))[-1].strip() == "and 5 more files left out; report --json lists them all"
