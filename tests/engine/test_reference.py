"""The API reference: made by the command of CONTRIBUTING, whole, and readable without a network."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import engine

ROOT = Path(__file__).parents[2]


@pytest.mark.system
def test_reference_shows_everything_that_is_offered_and_fetches_nothing(tmp_path: Path) -> None:
    pytest.importorskip("pdoc")
    text = (ROOT / ".github" / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"\.venv-test/bin/pdoc (.*?)`", text)
    arguments = [str(tmp_path) if one == "build/reference" else one for one in shlex.split(command)]
    subprocess.run([sys.executable, "-m", "pdoc", *arguments], cwd=ROOT, check=True)
    page = (tmp_path / "engine.html").read_text(encoding="utf-8")
    undocumented = {name for name in engine.__all__ if f'id="{name}"' not in page}
    assert undocumented <= {"__version__"}
    assert page.count(">Parameters<") > 60
    tables = (tmp_path / "settings_and_words.html").read_text(encoding="utf-8")
    assert "<code>likeness</code>" in tables
    assert "long-term mean spectrum" in tables
    for name in ("engine.html", "settings_and_words.html"):
        fetched = re.findall(r'<(?:script|link|img)[^>]*(?:src|href)="(https?:[^"]*)', (tmp_path / name).read_text())
        assert not fetched
