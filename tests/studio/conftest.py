"""No test here sees, or touches, what the user of this machine has."""

from pathlib import Path

import pytest

from studio.settings import HOME_VARIABLE


@pytest.fixture(autouse=True)
def home(tmp_path_factory, monkeypatch) -> Path:
    """The folder of this test's own installation, which does not exist yet."""
    folder = tmp_path_factory.mktemp("installation") / "home"
    monkeypatch.setenv(HOME_VARIABLE, str(folder))
    return folder
