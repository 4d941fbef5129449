"""Format a data report for the terminal."""

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from engine.texts import ntr, tr
from engine.units import in_words

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.datasets.findings import Finding
    from engine.datasets.report import DataReport

MOST_RECORDINGS = 20  # listed with findings; the JSON and the plot have all
_MARKS = dict(zip(("pass", "warn", "fail"), (tr("ok"), tr("note"), tr("FAULT")), strict=True))


def report_lines(report: "DataReport", translate: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the findings: of all recordings first, then of each recording with findings."""
    writer = _Writer(translate)
    yield writer.line(
        report.verdict,
        ntr(
            "{recordings} recording, {total_s}, of which {usable_s} can be used for training",
            "{recordings} recordings, {total_s}, of which {usable_s} can be used for training",
            recordings=len(report.recordings),
            total_s=in_words(report.total_s),
            usable_s=in_words(report.usable_s),
        ),
    )
    yield from writer.findings("", report.findings)
    noted = [one for one in report.recordings if _notable(one.findings)]
    for one in noted[:MOST_RECORDINGS]:
        yield from writer.findings(f"{one.name}: ", one.findings)
    if len(noted) > MOST_RECORDINGS:
        rest = len(noted) - MOST_RECORDINGS
        yield writer.line(
            "",
            ntr(
                "and {rest} more recording; report --json lists them all",
                "and {rest} more recordings; report --json lists them all",
                rest=rest,
            ),
        )
    for file in report.left_out[:MOST_RECORDINGS]:
        yield writer.line("warn", file.reason, f"{file.name}: ")
    if len(report.left_out) > MOST_RECORDINGS:
        rest = len(report.left_out) - MOST_RECORDINGS
        yield writer.line("", tr("and {rest} more files left out; report --json lists them all", rest=rest))


class _Writer:
    """Writes lines in a language, each remedy once."""

    def __init__(self, translate: Callable[[str], str]) -> None:
        self._translate, self._told = translate, set[str]()

    def line(self, verdict: str, text: str, subject: str = "") -> str:
        mark = self._translate(_MARKS[verdict]) if verdict else ""
        return f"{set_cell_size(mark, max(6, cell_len(mark) + 1))}{subject}{self._translate(text)}"

    def findings(self, subject: str, findings: "Sequence[Finding]") -> Iterator[str]:
        for finding in _notable(findings):
            yield self.line(finding.verdict, finding.reason, subject)
            if finding.remedy and finding.remedy not in self._told:
                self._told.add(finding.remedy)
                yield f"{'':<6}-> {self._translate(finding.remedy)}"


def _notable(findings: "Sequence[Finding]") -> "list[Finding]":
    return [finding for finding in findings if finding.verdict != "pass"]
