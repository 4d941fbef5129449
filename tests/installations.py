"""Python environments of a test's own, with packages from the index."""

import os
import subprocess
import sys
from pathlib import Path

INSTALLED_WITHIN_S = 1200.0


def clean_environment(folder: Path, *wanted: str | Path) -> Path:
    """Make an environment in `folder` with these packages and nothing else; return its Python."""
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", *wanted)
    return python


def run(*command: str | Path) -> None:
    """Run a command that may take minutes, without this project on its path: pip would count it as installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, env=kept, capture_output=True, text=True, timeout=INSTALLED_WITHIN_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
