"""Questions before something is deleted for good."""

from typing import Annotated

import typer

from engine.errors import SettingsError
from engine.texts import tr
from studio.commands.wording import confirm

Yes = Annotated[bool, typer.Option("--yes", help=tr("Skip the confirmation."))]


def ask_before_deleting(question: str) -> None:
    """Ask. Raises SettingsError unless the answer is yes."""
    try:
        sure = confirm(question)
    except typer.Abort as cause:
        raise SettingsError(tr("Nothing was deleted: there was no answer. Use --yes to skip the question.")) from cause
    if not sure:
        raise SettingsError(tr("Nothing was deleted."))
