"""Tasks that a command carries out itself."""

from studio.commands.in_process import _ErrorLog


def test_error_log_writes_errors_with_their_cause_and_nothing_else(capsys):
    log = _ErrorLog().bind(task_id="a").bind(attempt=1)
    log.info("task_started")
    log.warning("task_failed", reason="foreseen")
    assert capsys.readouterr() == ("", "")
    try:
        raise ValueError("a bug")
    except ValueError as cause:
        log.error("task_broke", exc_info=cause)
    said = capsys.readouterr()
    assert said.out == ""
    for part in ("task_broke", "task_id=a", "attempt=1", "ValueError: a bug", "Traceback"):
        assert part in said.err
