"""Commands that tests run in their own process choose its language and the name that texts give the program: each test
begins without a choice."""

from pathlib import Path

import pytest

from studio.commands import wording


@pytest.fixture(autouse=True)
def no_language_chosen(monkeypatch):
    monkeypatch.setattr(wording, "_CHOSEN", wording.ContextVar("terminal_language", default=""))


@pytest.fixture(autouse=True)
def no_name_chosen(monkeypatch):
    monkeypatch.setattr(wording, "_CALLED", wording.ContextVar("called", default=wording.BY_MODULE))


@pytest.fixture
def here(tmp_path, monkeypatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
