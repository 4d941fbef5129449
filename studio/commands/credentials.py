"""`verify`: show where a file comes from; `credentials`: the certificate that signs results."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from engine.errors import AudioError
from engine.provenance.installation import SWITCHED_OFF, Installation
from engine.texts import tr
from studio.commands.arguments import AsJson
from studio.commands.failures import in_one_sentence
from studio.commands.parsing import command_group
from studio.commands.piped import shown_path
from studio.commands.wording import complain, padded, translated
from studio.settings.environment import installation_of, load_service_settings, load_settings

credentials = command_group(tr("Show or replace the certificate that signs results."))


@in_one_sentence
def verify(
    files: Annotated[list[Path], typer.Argument(metavar="FILE|-", help=tr("Audio files; - is standard input."))],
    as_json: AsJson = False,
) -> None:
    """Show whether files were made here or elsewhere, or changed since; exit status 1 if one has been changed.

    A file that cannot be checked gives exit status 1, too; the others are checked all the same.
    """
    from engine.provenance.verification import verify as verify_file

    installation, wrong = _installation(), 0
    for path in files:
        try:
            verdict = verify_file(path, installation)
        except AudioError as error:
            wrong += 1
            complain(str(error))
            if as_json:
                typer.echo(json.dumps({"file": shown_path(path), "error": str(error)}, ensure_ascii=False))
            continue
        wrong += verdict.state == "changed"
        if as_json:
            typer.echo(json.dumps({"file": shown_path(path)} | asdict(verdict), ensure_ascii=False))
        else:
            typer.echo(f"{shown_path(path)}: {translated(verdict.sentence)}")
    if wrong:
        raise typer.Exit(1)


@credentials.callback(invoke_without_command=True)
@in_one_sentence
def show(context: typer.Context) -> None:
    """Show the certificate in use and where it is stored."""
    if context.invoked_subcommand:
        return
    installation = _installation()
    if not installation.signs:
        typer.echo(translated(SWITCHED_OFF))
        return
    certificate = installation.identity().certificate
    begin, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
    typer.echo(padded(tr("signer"), 9) + certificate.subject.rfc4514_string())
    typer.echo(padded(tr("valid"), 9) + translated(tr("{begin} to {end}", begin=begin.date(), end=end.date())))
    typer.echo(padded(tr("folder"), 9) + str(installation.folder))


@credentials.command()
@in_one_sentence
def rotate() -> None:
    """Make a new key and certificate; files signed before still count as made here."""
    certificate = _installation().rotate().certificate
    typer.echo(certificate.subject.rfc4514_string())


def _installation() -> Installation:
    return installation_of(load_settings(), load_service_settings())
