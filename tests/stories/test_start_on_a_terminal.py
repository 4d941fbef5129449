"""`timbre-studio` on a terminal: the address alone, and the page opens; `--verbose` shows the log, too."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.system, pytest.mark.skipif(sys.platform == "win32", reason="It has no pseudo-terminals")]
ROOT = Path(__file__).parents[2]
_PROGRAM = "import sys; sys.argv[0] = 'timbre-studio'; from studio.commands.beginning import start; start()"


@pytest.fixture
def started(tmp_path, home):
    """Start it on a terminal until the browser is called: what it wrote, and the address that the browser got."""
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" >> "{opened}"\n')
    browser.chmod(0o755)
    os.mkfifo(opened)
    given = {"DISPLAY": ":0", "BROWSER": str(browser), "TIMBRE_STUDIO_PORT": "0", "PYTHONPATH": str(ROOT)}
    environment = {name: value for name, value in os.environ.items() if name != "SSH_CONNECTION"} | given

    def run(*arguments: str) -> tuple[str, str]:
        import pty

        ours, its = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *arguments],
            **dict(stdin=its, stdout=its, stderr=its, env=environment, cwd=tmp_path),
        )
        os.close(its)
        with opened.open() as addresses:  # until the browser has written
            shown = addresses.read().strip()
        process.send_signal(signal.SIGINT)
        written = b""
        while block := _read(ours):
            written += block
        assert process.wait() == 0
        return written.decode().replace("\r\n", "\n"), shown

    return run


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # its other end is closed
        return b""


def test_a_terminal_gets_the_address_alone_and_the_page_opens(started):
    written, shown = started()
    assert shown.startswith("http://127.0.0.1:")
    assert written.strip() == f"Timbre Studio runs at {shown}"


def test_verbose_shows_the_log_on_a_terminal(started):
    written, _ = started("--verbose")
    assert '"event": "Application startup complete."' in written
    assert "Timbre Studio runs at" in written
