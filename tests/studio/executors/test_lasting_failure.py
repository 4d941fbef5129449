"""Trouble that lasts is said once: a data folder that had vanished filled the log."""

import structlog
from structlog.testing import CapturingLogger

from studio.errors import Unavailable
from studio.executors.lasting_failure import LastingFailure


def test_lasting_trouble_is_logged_once_until_it_changes_and_when_it_is_over():
    kept = CapturingLogger()
    trouble = LastingFailure(structlog.wrap_logger(kept, processors=[]), "claim_failed")
    trouble.over()
    for error in (Unavailable("Gone.", 1.0), Unavailable("Gone.", 1.0), ValueError("a bug"), ValueError("a bug")):
        trouble.met(error)
    trouble.over()
    trouble.over()
    trouble.met(ValueError("a bug"))
    said = [(call.method_name, call.kwargs["event"], call.kwargs.get("reason")) for call in kept.calls]
    assert said == [
        *(("warning", "claim_failed", "Gone."), ("error", "claim_failed", None), ("info", "claim_failed_over", None)),
        ("error", "claim_failed", None),
    ]
