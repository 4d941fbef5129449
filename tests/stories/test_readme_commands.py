"""The commands of the README, typed in the order in which they stand there, by somebody who has the files they name."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from studio.settings.environment import HOME_VARIABLE, PREFIX

ROOT = Path(__file__).parents[2]
RATE = 44_100
EPOCHS = {"100": "1"}  # what a test has no time for

pytestmark = pytest.mark.system


def commands(heading: str) -> list[list[str]]:
    """The words of each `timbre-studio ...` below a heading of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return [shlex.split(line, comments=True) for line in re.findall(r"^timbre-studio .*$", section, re.MULTILINE)]


def typed(words: list[str], desk: Path) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(PREFIX)}
    here = {HOME_VARIABLE: str(desk.parent / "home"), "PYTHONPATH": str(ROOT)}
    given = [EPOCHS.get(word, word) for word in words[1:]]
    return subprocess.run(
        [sys.executable, "-m", "studio", *given],
        **dict(cwd=desk, env=kept | here, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL),
    )


@pytest.mark.parametrize(
    ("heading", "count", "written"),
    [
        ("On the command line", 8, {"vocal.koguchi.wav", "vocal.koguchi.take2.wav", "pitch.csv", "notes.mid"}),
        ("A voice of your own", 8, {"report.png", "vocal.mia.wav", "mia.voice.zip"}),
    ],
)
def test_commands_of_the_readme_work_in_their_order(heading, count, written, desk):
    lines = commands(heading)
    assert len(lines) == count
    for words in lines:
        done = typed(words, desk)
        assert done.returncode == 0, f"{shlex.join(words)}\n{done.stdout}\n{done.stderr}"
    assert written <= {path.name for path in desk.iterdir()}
