"""Questions before something is deleted for good, fetched or imported."""

from typing import Annotated

import typer

from engine.errors import SettingsError
from engine.pinned import PinnedFile
from engine.texts import tr
from studio.commands.wording import say, translated

Yes = Annotated[bool, typer.Option("--yes", help=tr("Skip the confirmation."))]


def ask_before_deleting(question: str) -> None:
    """Ask. Raises SettingsError unless the answer is yes."""
    unanswered = tr("Nothing was deleted: there was no answer. Use --yes to skip the question.")
    ask_before(question, tr("Nothing was deleted."), unanswered)


def ask_before(question: str, refused: str, unanswered: str) -> None:
    """Ask on stderr. Raises SettingsError, with one of these sentences, unless the answer is yes."""
    try:
        sure = typer.confirm(translated(question), err=True)
    except typer.Abort as cause:
        raise SettingsError(unanswered) from cause
    if not sure:
        raise SettingsError(refused)


def ask_before_fetching(file: PinnedFile, yes: bool) -> None:
    """Say what a file is and where it comes from; ask unless `yes`. Raises typer.Abort unless the answer is yes."""
    say(
        tr(
            "{name}, {megabytes} MB, licence {licence}, by {origin}: {url}",
            name=file.name,
            megabytes=file.megabytes,
            licence=file.licence,
            origin=file.origin,
            url=file.url,
        )
    )
    if not yes:
        typer.confirm(translated(tr("Fetch it?")), err=True, abort=True)
