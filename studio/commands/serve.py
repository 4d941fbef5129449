"""`serve`: run the page and the HTTP service until stopped."""

import logging
import os
import sys
import webbrowser
from dataclasses import replace
from functools import partial
from typing import Annotated

from engine.texts import tr
from studio.commands.failures import in_one_sentence
from studio.commands.wording import complain, say
from studio.settings.options import option
from studio.settings.service import ServiceSettings


@in_one_sentence
def serve(
    verbose: Annotated[
        bool, option(None, tr("Show the log on a terminal too; without a terminal it is always shown."), "--verbose")
    ] = False,
    **given: str | None,
) -> None:
    """Start the studio: the page, and the HTTP service for programs. Ctrl-C stops it without losing work.

    Each option is also an environment variable: --port is TIMBRE_STUDIO_PORT.
    """
    from studio.server import run_server
    from studio.settings.environment import load_service_settings, load_settings, unknown_variables

    service = load_service_settings(given)
    if sys.stderr.isatty() and not verbose:
        service = replace(service, log_level=logging.ERROR)
    for sentence in unknown_variables():
        complain(sentence)
    run_server(load_settings(), service, partial(announce, service))


def announce(service: ServiceSettings, address: str, local_only: bool) -> None:
    """Print the studio's address, open it where that is wanted, and say how programs get access."""
    say(tr("Timbre Studio runs at {address}", address=address))
    if service.has_api and not sys.stderr.isatty():
        say(tr("To create a token for the API: timbre-studio token create my-program"))
    if service.is_demo:
        say(tr("This is a public demo: anyone can use it, and all files are deleted after a while."))
    elif not local_only:
        say(tr("Other machines can reach it, so the page and the API require a token."))
    by_itself = service.open_page == "auto" and local_only and sys.stderr.isatty() and _has_screen()
    if (by_itself or service.open_page == "on") and service.page != "off":
        webbrowser.open(address)


def _has_screen() -> bool:
    """Return whether a browser would be seen by who sits at the terminal."""
    if "SSH_CONNECTION" in os.environ:
        return False
    return sys.platform in ("win32", "darwin") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & set(os.environ))
