"""Format a data report for the terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from engine.units import in_words

if TYPE_CHECKING:  # the engine takes seconds to load
    from engine.datasets.findings import Finding
    from engine.datasets.report import DataReport

MOST_RECORDINGS = 20  # listed with findings; the JSON and the plot have all
_MARKS = {"pass": "ok", "warn": "note", "fail": "FAULT"}


def report_lines(report: "DataReport") -> Iterator[str]:
    """Yield the findings: of all recordings first, then of each recording with findings."""
    yield (
        f"{_MARKS[report.verdict]:<6}{len(report.recordings)} recordings, {in_words(report.total_s)}, "
        f"of which {in_words(report.usable_s)} can be used for training"
    )
    told: set[str] = set()  # remedies, each shown once
    yield from _findings("", report.findings, told)
    noted = [one for one in report.recordings if _worth_saying(one.findings)]
    for one in noted[:MOST_RECORDINGS]:
        yield from _findings(f"{one.name}: ", one.findings, told)
    if len(noted) > MOST_RECORDINGS:
        yield f"{'':<6}and {len(noted) - MOST_RECORDINGS} more recordings; report --json lists them all"


def _findings(subject: str, findings: "Sequence[Finding]", told: set[str]) -> Iterator[str]:
    for finding in _worth_saying(findings):
        yield f"{_MARKS[finding.verdict]:<6}{subject}{finding.reason}"
        if finding.remedy and finding.remedy not in told:
            told.add(finding.remedy)
            yield f"{'':<6}-> {finding.remedy}"


def _worth_saying(findings: "Sequence[Finding]") -> "list[Finding]":
    return [finding for finding in findings if finding.verdict != "pass"]
