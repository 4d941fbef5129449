"""`serve`: the page and the HTTP service, until it is ended."""

from functools import partial

import typer

from studio.commands.failures import in_one_sentence
from studio.settings.service import ServiceSettings


@in_one_sentence
def serve(**given: str | None) -> None:
    """Start the studio: the page, and the HTTP service for programs. Ctrl-C stops it; nothing is lost.

    Each option is also a variable of the environment: --port is TIMBRE_STUDIO_PORT.
    """
    from studio.server import run_server
    from studio.settings.environment import load_service_settings, load_settings

    service = load_service_settings(given)
    run_server(load_settings(), service, partial(announce, service))


def announce(service: ServiceSettings, address: str, local_only: bool) -> None:
    """Say where the studio is, and how a program gets in."""
    typer.echo(f"Timbre Studio runs at {address}", err=True)
    if service.has_api:
        typer.echo("To create a token for the API: python -m studio token create my-program", err=True)
    if service.is_demo:
        typer.echo("It is a demo: everybody is let in, and what they make is deleted after a while.", err=True)
    elif not local_only:
        typer.echo("Other machines can reach it, so the page and the API both ask for a token.", err=True)
