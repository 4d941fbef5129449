"""What a checkup has found."""

from dataclasses import dataclass

from studio.doctor import Finding
from studio.store.records.codec import Record


@dataclass(frozen=True)
class Checkup(Record):
    """The findings on the workers' machine."""

    findings: tuple[Finding, ...] = ()
