"""`serve`: the page and the HTTP service, until it is ended."""

import typer

from studio.edge import in_one_sentence


@in_one_sentence
def serve(**given: str | None) -> None:
    """Start the studio: the page, and the HTTP service for programs. Ctrl-C ends it without loss."""
    from studio.server import run_server
    from studio.settings import load_service_settings, load_settings

    run_server(load_settings(), load_service_settings(given), announce)


def announce(address: str, local_only: bool) -> None:
    """Say where the studio is, and how a program gets in."""
    typer.echo(f"Timbre Studio runs at {address}", err=True)
    typer.echo("A token for the API: python -m studio token create my-program", err=True)
    if not local_only:
        typer.echo("Other machines can reach it: the page asks for a token, as the API does.", err=True)
