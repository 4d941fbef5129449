"""What `serve` says and opens once the studio runs."""

import webbrowser

import pytest

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
