"""What `serve` says and opens once the studio runs."""

import logging
import sys
import webbrowser
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from studio import server
from studio.commands import beginning, cli
from studio.commands.serve import announce
from studio.settings.service import ServiceSettings

ADDRESS = "http://127.0.0.1:7860"


@pytest.fixture
def opened(monkeypatch) -> list[str]:
    """The addresses that a browser would show."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


@pytest.mark.parametrize(
    ("settings", "shown"),
    [
        (ServiceSettings(), []),
        (ServiceSettings(open_page="on"), [ADDRESS]),
        (ServiceSettings(open_page="on", page="off"), []),
    ],
)
def test_announce_opens_the_page_where_it_is_asked_for_and_served(settings, shown, opened, capsys):
    announce(settings, ADDRESS, local_only=True)
    assert ADDRESS in "".join(capsys.readouterr())
    assert opened == shown


@pytest.fixture
def terminal(monkeypatch):
    """A terminal on a machine with a screen."""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    monkeypatch.setattr("studio.commands.serve.sys", SimpleNamespace(stderr=sys.stderr, platform="linux"))
    monkeypatch.setenv("DISPLAY", ":0")
    monkeypatch.delenv("SSH_CONNECTION", raising=False)


def test_announce_shows_a_terminal_the_address_alone_and_opens_the_page(terminal, opened, capsys):
    announce(ServiceSettings(), ADDRESS, local_only=True)
    assert "".join(capsys.readouterr()) == f"Timbre Studio runs at {ADDRESS}\n"
    assert opened == [ADDRESS]


@pytest.mark.parametrize(
    ("settings", "local_only", "given"),
    [
        (ServiceSettings(open_page="off"), True, {}),
        (ServiceSettings(page="off"), True, {}),
        (ServiceSettings(host="0.0.0.0"), False, {}),  # a server, which nobody sits at
        (ServiceSettings(), True, {"SSH_CONNECTION": "10.0.0.1 22 10.0.0.2 22"}),
        (ServiceSettings(), True, {"DISPLAY": ""}),
    ],
)
def test_announce_opens_no_page_that_nobody_wants_or_sees(settings, local_only, given, terminal, opened, monkeypatch):
    for name, value in given.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
    announce(settings, ADDRESS, local_only)
    assert opened == []


@pytest.mark.parametrize(
    ("arguments", "is_terminal", "level"),
    [([], True, logging.ERROR), (["--verbose"], True, logging.INFO), ([], False, logging.INFO)],
)
def test_serve_shows_its_log_where_it_is_asked_for_or_no_terminal_is(arguments, is_terminal, level, monkeypatch):
    levels = []
    monkeypatch.setattr(server, "run_server", lambda settings, service, announce: levels.append(service.log_level))
    terminal = SimpleNamespace(isatty=lambda: is_terminal)
    monkeypatch.setattr("studio.commands.serve.sys", SimpleNamespace(stderr=terminal))
    assert CliRunner().invoke(cli.app, ["serve", *arguments]).exit_code == 0
    assert levels == [level]


@pytest.mark.parametrize("given", [[], ["--verbose"]])
def test_the_program_without_a_command_starts_the_studio(given, monkeypatch):
    called = []
    monkeypatch.setattr(beginning, "main", called.append)
    monkeypatch.setattr(sys, "argv", ["timbre-studio", *given])
    beginning.start()
    assert called == [["serve", *given]]
