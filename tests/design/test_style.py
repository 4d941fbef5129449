"""Style and types, by the project's own settings: a change that breaks them fails here, not in somebody's editor."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    "studio/learn",
    "studio/page",
    "studio/http/static/swagger/show.js",
    "studio/typescript/src",
]  # ours; the rest of swagger is not


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("ruff", ["check", "."]),
        ("ruff", ["format", "--check", "."]),
        ("mypy", []),
        ("oxlint", ["--deny-warnings", *SCRIPTS]),
    ],
    ids=["ruff", "format", "mypy", "oxlint"],
)
def test_code_passes_ruff_mypy_and_oxlint(program: str, arguments: list[str]) -> None:
    installed = shutil.which(program, path=Path(sys.executable).parent)
    if installed is None:
        pytest.skip(f"{program} is not installed here")
    result = subprocess.run([installed, *arguments], cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-1000:]


def test_few_tables_are_kept_from_the_formatter() -> None:
    """Rows that fit a line each, names split from one string and dictionaries joined stay as compact without that."""
    sources = [path for room in ("engine", "studio", "tests") for path in (ROOT / room).rglob("*.py")]
    assert sum(len(re.findall(r"# fmt: (?:skip|off)", path.read_text(encoding="utf-8"))) for path in sources) <= 40
